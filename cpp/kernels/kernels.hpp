// The arithmetic that is compiled once per instruction set. Channels come in blocks of
// `lanes` floats, [block][row][lanes], rows in node order; unused lanes are zero.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/explain_kernels.hpp"
#include "kernels/fixed_kernels.hpp"
#include "kernels/kernel_blocks.hpp"
#include "kernels/list_kernels.hpp"
#include "kernels/row_kernels.hpp"

namespace polyleaf {

// Prefix sums over groups of rows: after group j, norms[j] = |A_j|^2 where A_j is the sum of the
// channels of `initial` and of groups 0..j.
struct WalkTask {
    Blocks gradient;                  // IN
    const uint32_t* order = nullptr;  // IN rows, group after group
    const uint32_t* ends = nullptr;   // IN (n_groups,) end of each group in `order`
    int64_t n_groups = 0;
    const uint32_t* initial = nullptr;  // IN rows that belong to every prefix
    int64_t n_initial = 0;
    float* partial = nullptr;  // scratch (n_groups * lanes)
    double* norms = nullptr;   // OUT (n_groups,)
};

// As WalkTask with one weight per channel: scores[j] = sum over channels of
// A^2 / (HA + lambda) + (G - A)^2 / (H - HA + lambda), 0 where a side has no weight.
struct WeightedWalkTask {
    WalkTask walk;                           // norms: OUT scores
    Blocks hessian;                          // IN
    const double* gradient_total = nullptr;  // IN (n_blocks * lanes,)
    const double* hessian_total = nullptr;   // IN
    float l2_regularization = 0.0f;
};

// Sums of channels per bin for up to four features: histogram[lane][bin][channel].
struct HistogramTask {
    const float* gradient = nullptr;  // IN [row][lanes], one block, node order
    const uint8_t* codes[4] = {};     // IN per lane: code of row r at codes[lane][r * 4]
    // IN (n_rows,) original row of each node row; null: codes are in node order, and the four
    // lanes beside each other
    const int32_t* rows = nullptr;
    int64_t n_rows = 0;
    float* histogram = nullptr;  // OUT, zeroed by the caller [4][256][lanes]
};

// Scan of one feature's histogram over one block: norms[bin] += |A - weight * mean|^2 and
// products[bin] += A . total, A the prefix sum up to the bin.
struct ScanTask {
    const float* histogram = nullptr;  // IN [256][lanes]
    int64_t n_bins = 0;
    const float* initial = nullptr;         // IN (lanes,) or null: what every prefix contains
    const float* prefix_weights = nullptr;  // IN (n_bins,) weight of the prefix
    const float* mean = nullptr;            // IN (lanes,)
    const float* total = nullptr;           // IN (lanes,) or null: products are not needed
    float* norms = nullptr;                 // IN OUT (n_bins,)
    float* products = nullptr;              // IN OUT (n_bins,)
};

struct WeightedScanTask {
    const float* gradient = nullptr;  // IN [256][lanes]
    const float* hessian = nullptr;   // IN [256][lanes]
    int64_t n_bins = 0;
    const float* initial_gradient = nullptr;  // IN (lanes,) or null
    const float* initial_hessian = nullptr;
    const float* gradient_total = nullptr;  // IN (lanes,)
    const float* hessian_total = nullptr;
    const float* mean = nullptr;  // IN (lanes,)
    float l2_regularization = 0.0f;
    float* scores = nullptr;  // IN OUT (n_bins,)
};

// Per column, A being the sum of its rows' channels: norms[c] = |A|^2, products[c] = A . total.
struct RowList {
    const uint32_t* rows = nullptr;
    int64_t n_rows = 0;
};
struct ColumnsTask {
    Blocks gradient;                   // IN
    const double* total = nullptr;     // IN (n_blocks * lanes,)
    const RowList* columns = nullptr;  // IN (n_columns,)
    int64_t n_columns = 0;
    double* norms = nullptr;     // OUT (n_columns,)
    double* products = nullptr;  // OUT (n_columns,)
};

// Sums of rows over each of the features that list them; of one block of channels.
struct EntrySumsTask {
    const int32_t* rows = nullptr;    // IN (n_rows,) in the order of the node
    const float* gradient = nullptr;  // IN (n_rows, lanes)
    const float* weights = nullptr;   // IN (n_rows,) or null: 1 each
    int64_t n_rows = 0;
    const int64_t* indptr = nullptr;  // IN (n + 1,) of all rows
    const int32_t* slots = nullptr;   // IN the features that list a row
    double* sums = nullptr;           // IN OUT (n_slots, lanes)
    double* weight_sums = nullptr;    // IN OUT (n_slots,)
    int32_t* counts = nullptr;        // IN OUT (n_slots,)
};
// Squared norms of sums, and their products with a total.
struct SumNormsTask {
    const double* sums = nullptr;   // IN (n_sums, lanes)
    const double* total = nullptr;  // IN (lanes,)
    int64_t n_sums = 0;
    double* norms = nullptr;     // OUT (n_sums,)
    double* products = nullptr;  // OUT (n_sums,)
};

// The rows of one leaf in a round of boosting; see boosting.hpp.
struct LeafTask {
    int64_t n_outputs = 0;
    const int32_t* rows = nullptr;  // IN (n_rows,)
    int64_t n_rows = 0;
    const float* by_row = nullptr;    // IN (n,) weights, or null
    const float* by_entry = nullptr;  // IN (n, n_outputs) weights, or null
    const uint8_t* labels = nullptr;  // IN (n, n_outputs)
    const float* values = nullptr;    // IN (n_outputs,) of this leaf
    float* raw = nullptr;             // IN OUT (n, n_outputs)
    float* gradient = nullptr;        // IN OUT (n, n_outputs)
    float* scratch = nullptr;         // scratch (2 * n_outputs,)
    double* sums = nullptr;           // IN OUT (n_outputs,)
    double* curvature = nullptr;      // IN OUT (n_outputs,)
    // Exact sums only (ExactUnit): IN (2 n_outputs,) of sums and curvatures, and of the loss.
    const double* magic = nullptr;
    double loss_magic = 0.0;
};

// out[row] = values[row] . matrix, in the order of the columns whatever the other rows: float32
// products by BLAS depend on how many rows there are.
constexpr int kProjectLanes = 16;
struct ProjectTask {
    const float* values = nullptr;  // IN (n_rows, n_columns)
    int64_t n_rows = 0, n_columns = 0;
    const float* matrix = nullptr;  // IN (n_columns, kProjectLanes), zeros behind n_out
    float* out = nullptr;           // OUT n_out numbers every `out_stride`
    int64_t n_out = 0, out_stride = 0;
};

struct Kernels {
    const char* isa;
    void (*walk)(const WalkTask&);
    void (*walk_double)(const WalkTask&);
    void (*walk_weighted)(const WeightedWalkTask&);
    void (*walk_weighted_double)(const WeightedWalkTask&);
    void (*sort_list)(const ListSortTask&);
    void (*list_factors)(const ListFactorTask&);
    void (*walk_list)(const ListWalkTask&);
    void (*walk_groups)(GroupWalkTask&);
    void (*walk_pairs)(PairWalkTask&);
    float (*best_of_list)(const ListBestTask&);
    int64_t (*best_of_groups)(const GroupBestTask&);
    void (*split_list)(const ListSplitTask&);
    void (*subset_norms)(const SubsetTask&);
    void (*row_products)(const ProductTask&);
    void (*norms_of_products)(const SubsetNormTask&);
    void (*sum_columns)(const ColumnsTask&);
    void (*sum_entries)(const EntrySumsTask&);
    void (*norms_of_sums)(const SumNormsTask&);
    void (*code_ranges)(const CodeRangeTask&);
    void (*draw_cuts)(const CutTask&);
    void (*cut_few_rows)(FewRowsCutTask&);
    void (*code_masks)(const CodeMaskTask&);
    void (*side_norms)(const SideTask&);
    double (*centre)(const CentreTask&);
    void (*part_rows)(const PartTask&);
    void (*part_items)(const PartItemsTask&);
    void (*part_centred)(PartCentredTask&);
    void (*find_bins)(const FindBinsTask&);
    void (*encode_floats)(const EncodeFloatsTask&);
    void (*build_histogram)(const HistogramTask&);
    void (*scan_histogram)(const ScanTask&);
    void (*scan_weighted)(const WeightedScanTask&);
    void (*build_fixed)(const FixedBuildTask&);
    void (*build_fixed_lists)(const FixedListTask&);
    void (*scan_fixed)(const FixedScanTask&);
    void (*scan_fixed_weighted)(const FixedWeightedScanTask&);
    void (*measure_sizes)(const SizesTask&);
    void (*quantise)(const QuantiseTask&);
    void (*sum_leaf)(const LeafTask&);
    void (*add_to_leaf)(const LeafTask&);
    void (*take_from_leaf)(const LeafTask&);
    void (*sum_logistic_leaf)(const LeafTask&);
    double (*move_logistic_leaf)(const LeafTask&);
    void (*sum_leaf_exactly)(const LeafTask&);
    void (*weigh_leaf_exactly)(const LeafTask&);
    void (*sum_logistic_leaf_exactly)(const LeafTask&);
    double (*move_logistic_leaf_exactly)(const LeafTask&);
    void (*project_rows)(const ProjectTask&);
    void (*walk_shap)(const ShapWalkTask&);
    void (*add_shap)(const ShapAddTask&);
};

// Blocks of 4, 8 or 16 channels: the smallest that holds them all, 16 when there are more.
inline int block_lanes(int32_t n_channels) {
    return n_channels <= 4 ? 4 : n_channels <= 8 ? 8 : 16;
}

// The kernels of the best instruction set this machine has; lanes is 4, 8 or 16.
const Kernels& kernels_for(int lanes);

// The instruction set in use, and a switch to a lesser one (false: unknown, or not on this
// machine). Tests compare the sets with each other.
const char* instruction_set();
bool use_instruction_set(const std::string& name);

}  // namespace polyleaf
