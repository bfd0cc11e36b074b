// The arithmetic that is compiled once per instruction set. Channels come in blocks of
// `lanes` floats, [block][row][lanes], rows in node order; unused lanes are zero.
#pragma once

#include <cstdint>
#include <string>

namespace ramify {

// A side with no more than this share of its node's weight is what rounding leaves of nothing, in
// sums of either precision. The gain of a lighter side would be rounding errors, magnified.
constexpr double kDustDouble = 1e-12, kDustFloat = 1e-6;

// One block column of a node's channels, repeated every `block_stride` floats.
struct Blocks {
    float* data = nullptr;
    int64_t block_stride = 0;  // floats between consecutive blocks
    int32_t n_blocks = 0;
};

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

// The rows of a node in the order of one feature: code in the high 16 bits, row in the low 16.
inline uint32_t list_entry(uint32_t code, uint32_t row) { return code << 16 | row; }
inline uint32_t list_code(uint32_t entry) { return entry >> 16; }
inline uint32_t list_row(uint32_t entry) { return entry & 0xffff; }

// Vectors may read this far past the end of a list.
constexpr int64_t kListReadAhead = 32;

// Missing rows sort behind all values.
constexpr uint32_t kMissingEntryCode = 0xffff;

// The rows of a node as a list in the order of one feature, for a few rows.
constexpr int64_t kFewEntries = 64;
struct ListSortTask {
    const uint8_t* codes = nullptr;  // IN code of row r at codes[r * stride]; 255 is missing
    int64_t stride = 0;
    const int32_t* rows = nullptr;  // IN (n_rows,)
    int64_t n_rows = 0;             // at most kFewEntries
    uint32_t* entries = nullptr;    // OUT (n_rows,)
};

// What the squared norm of a prefix is multiplied by to give the gain of a cut after it:
// factors[i] = total / (A (total - A)), A the weight of `initial` and entries 0..i; minus infinity
// where A or what is left of the total is no more than `dust`.
struct ListFactorTask {
    const float* weights = nullptr;     // IN weight of a row
    const uint32_t* entries = nullptr;  // IN (n_entries,)
    int64_t n_entries = 0;
    double initial = 0.0;
    double total = 0.0, dust = 0.0;
    double* prefixes = nullptr;  // scratch (n_entries,)
    float* factors = nullptr;    // OUT (n_entries,)
};

// Prefix sums over such a list: norms[i] = |A_i|^2, A_i the sum over entries 0..i.
struct ListWalkTask {
    Blocks gradient;                    // IN
    const uint32_t* entries = nullptr;  // IN (n_entries,)
    int64_t n_entries = 0;
    float* norms = nullptr;  // OUT (n_entries,), with room for 3 more
};

// The same for one or two lists in which many entries have one code, or some are missing: norms
// only where the code changes behind an entry, which is read past the end. Cut j is before entry
// ends[j]. Where a list has missing rows, which come last, `norms` is for those on the right, and
// `with_missing` for all cuts but the last, which parts them from the values, with them on the
// left.
constexpr int kMostLists = 2, kMostGroupBlocks = 4;
constexpr int64_t kMostGroups = 256;
// Rows to a code from which on one block of a single list is added up group by group, which is
// then quicker than two lists at once.
constexpr int64_t kLongGroupOfBlock = 24;
struct GroupWalkTask {
    Blocks gradient;                           // IN
    int n_lists = 0;                           // 1 or 2
    const uint32_t* entries[kMostLists] = {};  // IN (n_entries + 1,) each
    int64_t n_entries = 0;
    const uint32_t* missing[kMostLists] = {};  // IN (n_missing,) each
    int64_t n_missing[kMostLists] = {};
    // scratch (kMostGroupBlocks * (kMostGroups + 4) * lanes,), aligned
    float* sums = nullptr;
    float* norms[kMostLists] = {};         // OUT (kMostGroups,) each
    float* with_missing[kMostLists] = {};  // OUT (kMostGroups,) each
    uint32_t* ends[kMostLists] = {};       // OUT (kMostGroups,) each
    int64_t n_cuts[kMostLists] = {};       // OUT
};

// The largest norms[i] * factors[i] over i in [begin, end) where the code changes after entry i;
// negative if there is none.
struct ListBestTask {
    const uint32_t* entries = nullptr;  // IN, end + 1 of them
    const float* norms = nullptr;       // IN
    const float* factors = nullptr;     // IN
    int64_t begin = 0, end = 0;
};

// The same for one or two pairs of lists of one length, whose sums do not wait for each other, and
// the best cut of each list: the largest norms[i] * factors[i] as in ListBestTask, whose `norms`
// are these. Whether it comes with one or three others does not change what a list gives.
constexpr int kMostPairs = 2;
struct PairWalkTask {
    Blocks gradient;  // IN
    int64_t n_entries = 0;
    int n_pairs = 1;
    ListBestTask cuts[2 * kMostPairs];  // IN, but for the norms
    float* norms[2 * kMostPairs] = {};  // OUT (n_entries,) each, with room for 3 more
    float best[2 * kMostPairs] = {};    // OUT
};

// The cut with the largest norms[j] * factors[ends[j] - 1], j in [first, last), the first of equal
// ones; -1 if none is at least 0.
struct GroupBestTask {
    const uint32_t* ends = nullptr;  // IN
    const float* norms = nullptr;    // IN
    const float* factors = nullptr;  // IN
    int64_t first = 0, last = 0;
};

// norms[subset] = |sum of the rows in the subset|^2 for all subsets of the first n_rows - 1 rows;
// bit r of a subset stands for row r.
struct SubsetTask {
    Blocks gradient;         // IN
    int n_rows = 0;          // at most 8
    float* norms = nullptr;  // IN OUT (2^(n_rows - 1),), zeros at first
};

// products[i * kMostProductRows + j] = the inner product of rows i and j <= i, in double
// precision.
constexpr int kMostProductRows = 8;
struct ProductTask {
    Blocks gradient;             // IN
    int n_rows = 0;              // at most kMostProductRows
    double* products = nullptr;  // OUT
};

// The squared norm of the sum of every subset of the rows, from such products; bit r of a subset
// stands for row r. Tables are as large as for the most rows.
struct SubsetNormTask {
    const double* products = nullptr;  // IN
    int n_rows = 0;                    // at most kMostProductRows
    const double* factors = nullptr;   // IN (2^n_rows,) what each norm is multiplied by
    double* norms = nullptr;           // OUT (2^n_rows,)
};

// Moves the entries of the left child to the front, the others behind them, both in order.
// moves[row]: the row's place in its child, plus kRightChild if it goes right.
struct ListSplitTask {
    const uint32_t* source = nullptr;  // IN, may be `entries`
    uint32_t* entries = nullptr;       // OUT
    int64_t n_entries = 0;
    const uint16_t* moves = nullptr;  // IN, with room for one more
    uint32_t* spill = nullptr;        // scratch (n_entries + 16,)
};
constexpr uint16_t kRightChild = 0x8000;

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

// Codes row by row, 64 columns of them: code c of row r is codes[r * stride + c]. Columns past the
// last feature hold anything.
constexpr int kCodeColumns = 64;

// Per column, over some rows: the smallest code, the largest of a value, and the largest of all;
// the largest of a value is the code of missing values if all are missing.
struct CodeRangeTask {
    const uint8_t* codes = nullptr;  // IN
    int64_t stride = 0;
    const int32_t* rows = nullptr;  // IN (n_rows,), at least one
    int64_t n_rows = 0;
    uint8_t *least = nullptr, *largest = nullptr, *most = nullptr;  // OUT (kCodeColumns,) each
};

// Where the bins of dense features lie, in units of 2^-32 of a feature's range, to find the bin of
// a place quickly: the range is divided into cells of one width, and each cell knows the bins
// whose middles lie in it.
struct CutTables {
    static constexpr int kCells = 512, kCellShift = 32 - 9;
    static constexpr int kBins = 256, kBefore = kCells + 4;  // per feature
    const uint32_t* places = nullptr;   // [n_dense][kBins][2] of the smallest and largest value
    const uint32_t* middles = nullptr;  // [n_dense][kBins], and one more
    const uint8_t* before = nullptr;    // [n_dense][kBefore] last code before each cell, or 0
};

// Random cuts of some features between a first and a last code; see random_cut.hpp.
struct CutTask {
    CutTables tables;                                 // IN
    int n_cuts = 0;                                   // at most kCodeColumns
    const int32_t* homes = nullptr;                   // IN (n_cuts,) dense features
    const double* shares = nullptr;                   // IN (n_cuts,) of the range, in [0, 1)
    const uint8_t *first = nullptr, *last = nullptr;  // IN (n_cuts,) first < last
    uint8_t* limits = nullptr;                        // OUT (n_cuts,) last code on the left
};

// The same of a few features for a few rows: the rows left of each cut instead of its limit.
constexpr int kFewCuts = 8, kFewRows = 8;
struct FewRowsCutTask {
    CutTables tables;                           // IN
    int n_cuts = 0;                             // at most kFewCuts
    int32_t homes[kFewCuts] = {};               // IN dense features
    double shares[kFewCuts] = {};               // IN of the range, in [0, 1)
    const uint8_t* const* row_codes = nullptr;  // IN code of row i: row_codes[i][home]
    uint32_t rows = 0;                          // IN bit i: row i is one of them; not 0
    // OUT smallest and largest code, the code of missing values being the largest of all
    uint8_t first[kFewCuts], last[kFewCuts];
    uint64_t left;  // OUT bit 8 k + i: row i is left of cut k, if that has two codes, none missing
};

// For each of some columns, the rows whose code is at most the column's limit: bit i is row i.
struct CodeMaskTask {
    const uint8_t* codes = nullptr;  // IN
    int64_t stride = 0;
    const int32_t* rows = nullptr;    // IN (n_rows,)
    int64_t n_rows = 0;               // at most 64
    const uint8_t* limits = nullptr;  // IN (kCodeColumns,)
    uint64_t columns = 0;             // bit c: column c is wanted
    uint64_t* masks = nullptr;        // OUT one every `mask_stride`, in the order of the columns
    int64_t mask_stride = 0;
    int32_t* counts = nullptr;  // IN OUT the rows of each mask are added to it
};

// norms[s] += |sum of the rows of side s|^2; bit i of word w is row 64 w + i. The sum of a side
// does not depend on what other sides there are, but its rounding may on whether they are few.
constexpr int kMostSides = 32, kFewSides = 8;
struct SideTask {
    Blocks gradient;                         // IN
    const uint64_t* const* sides = nullptr;  // IN (n_sides,) of (n_words,)
    int n_sides = 0;                         // at most kMostSides
    int64_t n_words = 0;
    bool are_few = false;    // whether kFewSides of them are typical
    float* norms = nullptr;  // IN OUT (n_sides,)
};

// Subtracts weight times mean from every row; the result is the sum of the squares of what is
// left, over the weight.
struct CentreTask {
    Blocks gradient;                 // IN OUT
    const float* weights = nullptr;  // IN (n_rows,) or null: 1
    int64_t n_rows = 0;
    double weight = 0.0;  // their sum
    // A channel counts as constant if no more than this share of its squares is left.
    double rounding_share = 0.0;
};

// Moves the rows of the left child to the front, the others behind them, both in order.
struct PartTask {
    Blocks values;  // IN OUT
    int64_t n_rows = 0;
    const uint8_t* left = nullptr;  // IN (n_rows,) 0 or 1
    float* spill = nullptr;         // scratch (n_rows + 1) * lanes
};

// The same for items of four bytes, the rows of the left child being bits of words.
struct PartItemsTask {
    void* items = nullptr;  // IN OUT
    int64_t n_items = 0;
    const uint64_t* left = nullptr;  // IN bit i of word w is row 64 w + i; no others are set
    void* spill = nullptr;           // scratch (n_items + 16 of them)
};

// Both of it, for rows whose sums are about zero: moves them, and centres the rows of each child
// as CentreTask does, unless its weight is 0.
struct PartCentredTask {
    Blocks values;  // IN OUT
    const float* weights =
        nullptr;  // IN (n_rows,) of the left child's rows and of the others, or 1
    int64_t n_rows = 0, n_left = 0;
    const uint64_t* left = nullptr;  // IN as in PartItemsTask
    float* spill = nullptr;          // scratch (n_rows + 1) * lanes
    double weight[2] = {};           // IN of the left and of the right child, or 0
    double rounding_share = 0.0;
    double impurity[2] = {};  // OUT sum of the squares of what is left, over the weight
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

// bins[k]: the first bin whose largest value is not below values[k], or the last one.
constexpr int kFindTogether = 16;
struct FindBinsTask {
    const double* values = nullptr;  // IN (kFindTogether,)
    const double* high = nullptr;    // IN (n_bins,) ascending
    int32_t n_bins = 0;              // at least 1
    // IN (16,) every 16th of `high`, if that is padded to 256 values with infinity; or null
    const double* pivots = nullptr;
    int32_t* bins = nullptr;  // OUT (kFindTogether,)
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
    void (*build_histogram)(const HistogramTask&);
    void (*scan_histogram)(const ScanTask&);
    void (*scan_weighted)(const WeightedScanTask&);
    void (*sum_leaf)(const LeafTask&);
    void (*add_to_leaf)(const LeafTask&);
    void (*take_from_leaf)(const LeafTask&);
    void (*sum_logistic_leaf)(const LeafTask&);
    double (*move_logistic_leaf)(const LeafTask&);
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

}  // namespace ramify
