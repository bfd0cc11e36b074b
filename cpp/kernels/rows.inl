// The channels of a node's rows: centring them, and multiplying them with each other.
#pragma once

#include "kernels/doubles.inl"
#include "kernels/kernels.hpp"

namespace polyleaf::POLYLEAF_ISA {

// Adds the squares of the rows after subtracting weight * mean from them, over the weight. Sums of
// a few rows in float32 are added up in double precision.
template <int N, bool Weighted>
Doubles<N> subtract(float* g, const float* weights, int64_t n, const Lanes<N>& mean) {
    constexpr int64_t kFewRows = 16;
    Doubles<N> squares = Doubles<N>::zero();
    alignas(64) float values[N];
    for (int64_t begin = 0; begin < n; begin += kFewRows) {
        const int64_t end = begin + kFewRows < n ? begin + kFewRows : n;
        Lanes<N> part = Lanes<N>::zero();
        for (int64_t i = begin; i < end; ++i) {
            Lanes<N> rest = Lanes<N>::load(g + i * N);
            if constexpr (Weighted) {
                rest = rest - Lanes<N>::fill(weights[i]) * mean;
                part = part + rest * rest * Lanes<N>::fill(1.0f / weights[i]);
            } else {
                rest = rest - mean;
                part = part + rest * rest;
            }
            rest.store(g + i * N);
        }
        part.store(values);
        squares.add(Doubles<N>::load(values));
    }
    return squares;
}

// Squares of what is left after centring, rather than the difference of squares and squared sum,
// which would lose the digits that matter in a node of nearly equal rows.
template <int N>
double centre(const CentreTask& task) {
    const int64_t n = task.n_rows;
    double result = 0.0;
    for (int32_t block = 0; block < task.gradient.n_blocks; ++block) {
        float* const g = task.gradient.data + block * task.gradient.block_stride;
        // Two running sums do not wait for each other.
        Doubles<N> mean = Doubles<N>::zero(), odd = Doubles<N>::zero();
        int64_t i = 0;
        for (; i + 2 <= n; i += 2) {
            mean.add(Doubles<N>::load(g + i * N));
            odd.add(Doubles<N>::load(g + (i + 1) * N));
        }
        if (i < n) mean.add(Doubles<N>::load(g + i * N));
        mean.add(odd);
        mean.multiply(1.0 / task.weight);
        const Doubles<N> squares = task.weights
                                       ? subtract<N, true>(g, task.weights, n, mean.narrowed())
                                       : subtract<N, false>(g, nullptr, n, mean.narrowed());
        result += squares.sum_above(mean, task.rounding_share * task.weight);
    }
    return result;
}

// Channels are read as doubles once if one block holds them; else a row is multiplied with all
// before it, whose sums do not wait for each other.
template <int N>
void row_products(const ProductTask& task) {
    using D = Doubles<N>;
    if (task.gradient.n_blocks == 1) {
        D rows[kMostProductRows];
        for (int i = 0; i < task.n_rows; ++i) {
            rows[i] = D::load(task.gradient.data + i * N);
            for (int j = 0; j <= i; ++j) {
                typename D::V sum = rows[i].v[0] * rows[j].v[0];
                for (int m = 1; m < D::M; ++m) sum += rows[i].v[m] * rows[j].v[m];
                task.products[i * kMostProductRows + j] = sum_of(sum);
            }
        }
        return;
    }
    for (int i = 0; i < task.n_rows; ++i) {
        typename D::V sums[kMostProductRows] = {};
        for (int32_t block = 0; block < task.gradient.n_blocks; ++block) {
            const float* const g = task.gradient.data + block * task.gradient.block_stride;
            const D row = D::load(g + i * N);
            for (int j = 0; j <= i; ++j) {
                const D other = D::load(g + j * N);
                for (int m = 0; m < D::M; ++m) sums[j] += row.v[m] * other.v[m];
            }
        }
        for (int j = 0; j <= i; ++j) task.products[i * kMostProductRows + j] = sum_of(sums[j]);
    }
}

// Subsets that differ in the first three rows lie beside each other and are one vector. A subset
// is a smaller one plus its highest row. With the inverse weights, they are the `score` of
// grow/criterion.hpp.
inline void norms_of_products(const SubsetNormTask& task) {
    constexpr int kLow = 3, kVectors = 1 << (kMostProductRows - kLow);
    const int n = task.n_rows;
    // Product of row i with the sums of all subsets of the first three rows, twice.
    auto with_low = [&](int i, int n_low) {
        const double* const p = task.products + i * kMostProductRows;
        const double a = n_low > 0 ? 2 * p[0] : 0.0, b = n_low > 1 ? 2 * p[1] : 0.0;
        const double c = n_low > 2 ? 2 * p[2] : 0.0, ab = a + b;
        return double8{0.0, a, b, ab, c, a + c, b + c, ab + c};
    };
    auto square = [&](int i) { return i < n ? task.products[i * kMostProductRows + i] : 0.0; };
    double8 norms[kVectors];
    const double first = square(0), second = square(1);
    const double8 pair = n > 1 ? with_low(1, 1) : double8{};
    const double both = first + second + pair[1];
    const double8 third = (n > 2 ? with_low(2, 2) : double8{}) + square(2);
    norms[0] = double8{0.0, first, second, both, 0.0, first, second, both} +
               double8{0.0, 0.0, 0.0, 0.0, third[0], third[1], third[2], third[3]};
    double shared[kVectors / 2];  // of row i with the other rows of a vector, twice
    for (int i = kLow; i < n; ++i) {
        const double* const products = task.products + i * kMostProductRows;
        const double8 low = with_low(i, kLow);
        const int size = 1 << (i - kLow);
        shared[0] = square(i);
        for (int j = kLow; j < i; ++j)
            for (int rest = 0; rest < 1 << (j - kLow); ++rest)
                shared[rest | 1 << (j - kLow)] = shared[rest] + 2 * products[j];
        for (int rest = 0; rest < size; ++rest)
            norms[size + rest] = norms[rest] + low + shared[rest];
    }
    for (int at = 0; at < (n > kLow ? 1 << (n - kLow) : 1); ++at) {
        double8 factor;
        std::memcpy(&factor, task.factors + at * 8, sizeof(factor));
        norms[at] *= factor;
        std::memcpy(task.norms + at * 8, &norms[at], sizeof(factor));
    }
}

}  // namespace polyleaf::POLYLEAF_ISA
