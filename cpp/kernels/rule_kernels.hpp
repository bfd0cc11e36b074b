// Inner loops of the rule search, compiled once per instruction set.
#pragma once

#include <cstdint>

namespace polyleaf {

// Systems, or candidates, that are worked on side by side; also the side of a tile.
constexpr int kSystems = 8;
// A curvature below this share of that of all covered rows is what subtraction leaves of nothing.
constexpr double kRuleDust = 1e-11;
// Largest relative error of gains that only serve to find those worth computing.
constexpr double kNearGain = 1.0 / 8192;

inline int64_t padded(int64_t n) { return (n + kSystems - 1) / kSystems * kSystems; }
// Symmetric matrices are kept as the tiles on and below the diagonal, row of tiles by row of
// tiles, each tile line by line. Tiles on the diagonal are whole.
inline int64_t tile_offset(int64_t tile_row, int64_t tile_column) {
    return (tile_row * (tile_row + 1) / 2 + tile_column) * kSystems * kSystems;
}
inline int64_t triangle_size(int64_t n) { return tile_offset(padded(n) / kSystems, 0); }
// Where entry (i, j) is, with j <= i.
inline int64_t triangle_entry(int64_t i, int64_t j) {
    return tile_offset(i / kSystems, j / kSystems) + i % kSystems * kSystems + j % kSystems;
}
// Numbers below the diagonal and on it, without any padding.
inline int64_t packed_size(int64_t n) { return n * (n + 1) / 2; }

// The statistics of some rows, one after the other: gradient and diagonal, each of
// padded(n_outputs) numbers; the padding is 0. A row counts `draws` times, with a Hessian of
// draws * diag(diagonal) - scale * gradient gradient'.
struct CoupledRows {
    int32_t n_outputs = 0;
    const double* values = nullptr;
    const double* scale = nullptr;   // by position
    const int32_t* draws = nullptr;  // by position; null: once
    // By position: left * diag(diagonal) is below the Hessian of a row that counts once.
    const double* left = nullptr;
};

struct Penalty {
    double l2 = 0.0, l1 = 0.0;
};

// kSystems systems A x = -g, interleaved: entries of the packed triangle and of vectors are
// [entry][system].
struct SystemBatch {
    double* matrix = nullptr;           // IN: A, OUT: L D
    double* gradient = nullptr;         // IN: g, OUT: L^-1 g
    double* factor = nullptr;           // OUT: L below its diagonal of ones
    double* inverse = nullptr;          // OUT: 1 / D, or 0 where a pivot vanishes
    double* solution = nullptr;         // OUT: x
    double gains[kSystems] = {};        // OUT: g' A^-1 g
    double least_pivot[kSystems] = {};  // OUT: smallest pivot as a share of its diagonal
};

// What turns sums of rows into a system: penalties, and the least curvature that counts; padded.
struct SystemTerms {
    int32_t n_outputs = 0;
    const double* l2 = nullptr;
    const double* l1 = nullptr;
    const double* dust = nullptr;
};

// A system for conjugate gradients, in padded vectors: its diagonal without the coupling, a bound
// below the matrix, the inverse of its own diagonal (0: an output that is left out), the gradient.
struct GradientSystem {
    double* diagonal = nullptr;
    double* bound = nullptr;
    double* inverse = nullptr;
    double* gradient = nullptr;
};

// Sums of rows, group after group, whose gains are wanted.
struct GainScan {
    int32_t n_outputs = 0;
    bool is_logistic = false;        // rows are gradients of (6)
    const double* values = nullptr;  // rows of (G, H), both padded, or of G alone
    const int32_t* draws = nullptr;  // by position; null: once
    const double* total = nullptr;   // (2 * padded outputs)
    const double* dust = nullptr;
    Penalty penalty;
    double* sums = nullptr;  // OUT: those of all groups, (2 * padded outputs)
};

// What is added to the scores of labels, p; padded with 0. No |p| is above kMostMove.
struct LogisticMove {
    const double* added = nullptr;    // p
    const double* raised = nullptr;   // e^p
    const double* lowered = nullptr;  // e^-p
};
constexpr double kMostMove = 100.0;

struct RuleKernels {
    // sums (width,) += rows of values (.., width) at the given positions, times draws at these
    // positions unless null. Width in whole vectors.
    void (*add_rows)(const double* values, int64_t width, const int32_t* positions, int64_t n,
                     const int32_t* draws, double* sums);
    // The same for rows of gradients of the logistic loss of each label, values (.., block), and
    // sums (2 * block,) of these and of the second derivatives |g| - g^2.
    void (*add_logistic_rows)(const double* values, int64_t block, const int32_t* positions,
                              int64_t n, const int32_t* draws, double* sums);
    // Lists the rows of [0, n) with a positive count; place[row] is the row then, and else -1.
    int64_t (*list_drawn)(const int32_t* counts, int64_t n, int32_t* rows, int32_t* place);
    // Lists place[row] of n rows where it is not negative. There is room for n.
    int64_t (*find_places)(const int32_t* place, const int32_t* rows, int64_t n, int32_t* found);
    // Keeps rows, and their positions, whose place is not negative; lists the other positions.
    int64_t (*keep_placed)(const int32_t* place, int64_t n, int32_t* rows, int32_t* positions,
                           int32_t* removed);
    // Four sums (padded outputs each) += gradient, diagonal, a diagonal below the Hessian, and the
    // diagonal of the Hessian of the rows.
    void (*add_bounded_rows)(const CoupledRows& rows, const int32_t* positions, int64_t n,
                             double* sums);
    // The share of its diagonal that is below the Hessian of a row: diag(diagonal) - coupling *
    // gradient gradient'.
    double (*share_below)(const double* statistics, int64_t block, double coupling);
    // Writes the statistics (gradient, diagonal) of a row that was drawn `times` times.
    void (*weigh_row)(const double* statistics, int64_t block, double times, double* row);
    // Rows [begin, end) of tiles of the triangle += sign * scale * gradient gradient'.
    void (*add_triangle)(const CoupledRows& rows, const int32_t* positions, int64_t n,
                         int64_t begin, int64_t end, double sign, double* triangle);
    // gradient += that of the rows (unless null), product += (their Hessians) * x.
    void (*add_products)(const CoupledRows& rows, const int32_t* positions, int64_t n,
                         const double* x, double* gradient, double* product);
    // gains[k] = G_k^2 / (H_k + l2) of sums (G, H), or of total - sums if `complement`; returns
    // their sum. `dust` holds the least H that counts. gains may be null. G and H are padded.
    double (*diagonal_gains)(const double* sums, const double* total, bool complement,
                             const double* dust, int32_t n_outputs, Penalty penalty,
                             double* gains);
    // Whether some gain times `factor` is above `least`.
    bool (*any_gain_above)(const double* sums, const double* total, bool complement,
                           const double* dust, int32_t n_outputs, Penalty penalty, double factor,
                           double least);
    // Adds n groups of rows one after the other, whose positions are from offsets[i * step] to
    // offsets[i * step + 1]. gains[2 * i] is that of the sum then, gains[2 * i + 1] that of the
    // total without it, up to kNearGain: of all outputs together, or the largest of a single one.
    // Returns the largest of all gains.
    double (*scan_gains)(const GainScan& scan, const int32_t* positions, const int64_t* offsets,
                         int64_t n, int64_t step, bool largest, double* gains);
    // Writes sums (gradient, diagonal, triangle), or total - sums, as system s of a batch. Outputs
    // without curvature are left out. total may be null.
    void (*enter_system)(const SystemTerms& terms, const double* sums, const double* total,
                         SystemBatch& batch, int s);
    void (*solve_batch)(int32_t n, SystemBatch& batch);
    // With the gradient g after l1 and product = A x, writes r = g + A x as column `c` of
    // residuals [padded n][candidate] and returns -x' (g + r).
    double (*note_residual)(const SystemTerms& terms, const double* x, const double* gradient,
                            const double* product, int c, double* residuals);
    // r' A^-1 r of kSystems residuals [n][candidate] for system `s` of a batch; overwrites them.
    void (*quadratic_forms)(int32_t n, const SystemBatch& batch, int s, double* residuals,
                            double* forms);
    // y = triangle * x; both padded.
    void (*symmetric_product)(const double* triangle, int32_t n, const double* x, double* y);
    // Sets a system from four sums (gradient, diagonal, bound, own diagonal), or from total -
    // sums. total may be null. Returns whether some output has a gradient.
    bool (*set_gradient_system)(const GradientSystem& system, const SystemTerms& terms,
                                const double* sums, const double* total);
    // r' B^-1 r with a diagonal B; entries without a residual do not count.
    double (*left_to_gain)(const double* residual, const double* bound, int64_t block);
    double (*scaled_square)(const double* residual, const double* inverse, int64_t block);
    // Sets the product to 0 where the inverse is, and returns its product with the direction.
    double (*masked_dot)(const double* direction, const double* inverse, double* product,
                         int64_t block);
    // Conjugate gradients: r = -g - product, with product = A x, where an output is not left out;
    // returns the gain of x. Then direction = r / own diagonal + beta * direction, and a step
    // along it. Vectors are padded.
    double (*start_gradients)(const GradientSystem& system, const double* product, int64_t block,
                              const double* x, double* residual);
    void (*next_direction)(const double* residual, const double* inverse, double beta,
                           int64_t block, double* direction);
    void (*step_along)(const double* direction, const double* product, double length,
                       int64_t block, double* x, double* residual);
    // Derivatives of n labels (-1 and +1) by their scores, after `added` was added to these
    // (unless null): the first ones of (6), each by itself, or those of (7), all together.
    void (*logistic_gradient)(const int8_t* labels, double* scores, const double* added, int64_t n,
                              double* gradient);
    // The first derivatives g of (6) after a head was added to the scores, from those before it:
    // g / (|g| + (1 - |g|) e^(y p)) for a head p, which takes a division; an exponential only
    // where that would be rough. The gradient must be padded with 0.
    void (*move_logistic)(const LogisticMove& move, int64_t n, double* scores, double* gradient);
    void (*examplewise_statistics)(const int8_t* labels, double* scores, const double* added,
                                   int64_t n, double* gradient, double* diagonal);
    // Solves A x = b in place by Cholesky of the lower triangle of `matrix`, lines of padded(n)
    // numbers; pivots that vanish give 0.
    void (*solve)(double* matrix, int32_t n, double* x);
};

const RuleKernels& rule_kernels();

}  // namespace polyleaf
