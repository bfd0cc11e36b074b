// What the grower reads: binned features, channels (the view of the outputs) and parameters.
// All pointers are borrowed from arrays that Python owns; the bindings check shapes and ranges.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace polyleaf {

constexpr uint32_t kMissingU8 = 255;
constexpr uint32_t kMissingU32 = 0xffffffffu;
constexpr int kTileFeatures = 4;
// A place in a list of rows has 15 bits.
constexpr int64_t kMostOrderedRows = 32768;

class FixedStore;
class SharedCuts;

// Codes are ranks of value bins within a feature; missing values have a code of their own.
struct BinnedView {
    int64_t n_rows = 0;
    int32_t n_features = 0;
    const uint8_t* is_categorical = nullptr;  // (n_features,)
    const int64_t* bin_offsets = nullptr;     // (n_features + 1,)
    const double* bin_low = nullptr;          // (bins,) smallest training value in the bin
    const double* bin_high = nullptr;         // (bins,) largest training value in the bin
    const uint8_t* is_two_valued = nullptr;   // (n_features,) two bins at most, never missing
    // Dense features, four to a tile: codes[tile][row][lane].
    int32_t n_dense = 0;
    const int32_t* dense_features = nullptr;  // (n_dense,)
    const uint8_t* codes_u8 = nullptr;        // one of the two is set when n_dense > 0
    const uint32_t* codes_u32 = nullptr;
    // Sparse features: per row, the entries whose code is not the feature's default.
    int32_t n_sparse = 0;
    const int32_t* sparse_features = nullptr;  // (n_sparse,)
    const uint32_t* sparse_default = nullptr;  // (n_sparse,)
    const int64_t* sparse_indptr = nullptr;    // (n_rows + 1,)
    const int32_t* sparse_slot = nullptr;      // index into sparse_features, ascending in a row
    const uint32_t* sparse_code = nullptr;     // null: the other one of two codes
    // All rows in the order of every dense numeric feature, as list entries (kernels.hpp), or
    // null: [feature][n_rows], at most kMostOrderedRows rows.
    const uint32_t* row_orders = nullptr;
    // What trees with random cuts share; null: each makes its own.
    SharedCuts* cuts = nullptr;
    // What trees in fixed point share; null: each makes its own.
    FixedStore* fixed = nullptr;

    int64_t n_bins(int32_t feature) const {
        return bin_offsets[feature + 1] - bin_offsets[feature];
    }
    uint32_t listed_code(int64_t entry) const {
        return sparse_code != nullptr ? sparse_code[entry]
                                      : 1 - sparse_default[sparse_slot[entry]];
    }
};

// How H of the criterion G^2 / (H + lambda) is kept.
enum class HessianPolicy : int32_t {
    unit = 0,         // every row weighs 1
    shared = 1,       // one weight per row
    per_channel = 2,  // one weight per row and channel: masks, 2-D weights, Newton
};

// Where the channels come from. Channel k of row r is
//     g = (values[r][columns[k]] - shift[k]) * factor[k] * weight of r (or of r and k),
// or values[r][columns[k]] as it is if `is_gradient` (weights are in it already).
struct ChannelsView {
    int32_t n_channels = 0;
    HessianPolicy policy = HessianPolicy::unit;
    bool is_gradient = false;
    const float* values_f32 = nullptr;  // (n_rows, n_columns); one of the two unless sparse
    const double* values_f64 = nullptr;
    int64_t n_columns = 0;
    const int32_t* columns = nullptr;  // (n_channels,) or null: all of them in order
    const double* shift = nullptr;     // (n_channels,) or null: 0
    const double* factor = nullptr;    // (n_channels,) or null: 1
    const float* hessian = nullptr;    // null, (n_rows,) or (n_rows, n_channels)
    // Sparse labels (CSR of values, not yet weighted); policy is unit or shared.
    const int64_t* indptr = nullptr;
    const int32_t* indices = nullptr;
    const float* data = nullptr;

    bool is_sparse() const { return indptr != nullptr; }
};

// Set by one thread, it stops the growth in others, which Ctrl-C does not reach.
struct StopFlag {
    std::atomic<bool> is_set{false};
};

struct GrowParams {
    int64_t max_depth = -1;       // -1: no limit
    int64_t max_leaf_nodes = -1;  // -1: no limit, depth-first; otherwise best-first
    int64_t min_samples_split = 2;
    int64_t min_samples_leaf = 1;
    double min_impurity_decrease = 0.0;  // per unit of weight and channel
    int64_t max_features = 0;            // per node; n_features: all
    bool random_cuts = false;            // extra trees: one random cut per feature
    double l2_regularization = 0.0;
    // How many times what chance gives to a subset of many categories is taken off its gain.
    double category_penalty = 0.0;
    bool double_precision = false;  // sums in float64: exact splits
    uint64_t seed = 0;
    int32_t n_threads = 1;
    // Nodes of at least this many rows use histograms, smaller ones sort their rows; 0: the core
    // chooses, and keeps rows presorted in small subtrees.
    int64_t histogram_min_rows = 0;
    // Sums in fixed point (grow/fixed_grower.hpp), which do not depend on the order of rows.
    bool fixed_sums = false;
    // Fixed point, depth-first: nodes of at most so many rows are finished by one worker, in
    // floats.
    int64_t float_rows = 0;
    // Fixed point: without, the impurity of nodes is not known, and a split must have a gain.
    bool measures_impurity = true;
    std::shared_ptr<StopFlag> stop;  // may be null; see StopFlag
};

}  // namespace polyleaf
