// Gauss-Legendre points on [0, 1].
#pragma once

#include <cmath>
#include <vector>

namespace polyleaf {

struct Quadrature {
    std::vector<double> points, weights;
};

// Exact for polynomials of degree below 2 n: Newton's method on the Legendre polynomial P_n.
inline Quadrature gauss_points(int n) {
    Quadrature found;
    const double pi = std::acos(-1.0);
    for (int i = 0; i < n; ++i) {
        double x = std::cos(pi * (i + 0.75) / (n + 0.5)), slope = 1.0;
        for (int step = 0; step < 100; ++step) {
            double before = 1.0, value = x;  // P_0 and P_1
            for (int k = 2; k <= n; ++k) {
                const double next = ((2 * k - 1) * x * value - (k - 1) * before) / k;
                before = value;
                value = next;
            }
            slope = n * (x * value - before) / (x * x - 1.0);
            const double change = value / slope;
            x -= change;
            if (std::abs(change) < 1e-16) break;
        }
        found.points.push_back(0.5 * (1.0 - x));
        found.weights.push_back(1.0 / ((1.0 - x * x) * slope * slope));
    }
    return found;
}

}  // namespace polyleaf
