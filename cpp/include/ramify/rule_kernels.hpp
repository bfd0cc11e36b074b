// Inner loops of the rule search, compiled once per instruction set.
#pragma once

#include <cstdint>

namespace ramify {

// Systems solved side by side.
constexpr int kSystems = 8;
// A curvature below this share of that of all covered rows is what subtraction leaves of nothing.
constexpr double kRuleDust = 1e-11;

inline int64_t padded(int64_t n) { return (n + 3) / 4 * 4; }
// Row i of a lower triangle starts here and has room for padded(i + 1) numbers.
inline int64_t triangle_offset(int64_t i) {
    const int64_t q = i / 4;
    return 8 * q * (q + 1) + 4 * (q + 1) * (i - 4 * q);
}
inline int64_t triangle_size(int64_t n) { return triangle_offset(n); }

// The statistics of some rows, one after the other: `vectors` blocks of padded(n_outputs) numbers,
// the first of which is the gradient. scale * gradient gradient' is subtracted from the Hessian.
struct CoupledRows {
    int32_t n_outputs = 0;
    int32_t vectors = 2;  // gradient, diagonal and perhaps the bound of the diagonal
    const double* values = nullptr;
    const double* scale = nullptr;
};

// Sums of such rows: vectors as in a row, and the lower triangle of the coupling.
struct CoupledSums {
    double* vectors = nullptr;
    double* triangle = nullptr;
};

struct Penalty {
    double l2 = 0.0, l1 = 0.0;
};

struct RuleKernels {
    // sums (width,) += rows of values (.., width) at the given positions.
    void (*add_rows)(const double* values, int64_t width, const int32_t* positions, int64_t n,
                     double* sums);
    void (*add_coupled)(const CoupledRows& rows, const int32_t* positions, int64_t n,
                        const CoupledSums& sums);
    // triangle rows [begin, end) += scale * gradient gradient' over all n rows.
    void (*add_triangle)(const CoupledRows& rows, int64_t n, int64_t begin, int64_t end,
                         double* triangle);
    // gains[k] = G_k^2 / (H_k + l2) of sums (G, H), or of total - sums if `complement`; returns
    // their sum. `dust` holds the least H that counts. gains may be null.
    double (*diagonal_gains)(const double* sums, const double* total, bool complement,
                             const double* dust, int32_t n_outputs, Penalty penalty,
                             double* gains);
    // g' A^-1 g of kSystems systems, interleaved: matrix [lower triangle, row by row][system],
    // gradient [n][system]. Overwrites both. `scratch` as large as the matrix.
    void (*direct_gains)(int32_t n, double* matrix, double* gradient, double* scratch,
                         double* gains);
    // y = triangle (symmetric) * x.
    void (*symmetric_product)(const double* triangle, int32_t n, const double* x, double* y);
    // Solves A x = b by L D L' in place (triangle); pivots that vanish give 0.
    void (*solve)(double* triangle, int32_t n, double* x);
};

const RuleKernels& rule_kernels();

}  // namespace ramify
