// Tasks of kernels that read the codes of rows, cut them, and move rows to children.
#pragma once

#include <cstdint>

#include "kernels/kernel_blocks.hpp"

namespace polyleaf {

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

// The same for a column of floats, into codes of bytes: limits are the largest floats that are not
// above the largest value of each bin.
constexpr int kPaddedBins = 256;
struct EncodeFloatsTask {
    const float* values = nullptr;  // IN a value every `value_stride`; NaN is missing
    int64_t n_rows = 0, value_stride = 0;
    const float* limits = nullptr;  // IN (kPaddedBins,) ascending, padded with infinity
    const float* pivots = nullptr;  // IN (16,) every 16th of them
    int32_t n_bins = 0;             // from 1 to 255
    uint8_t missing = 0;
    uint8_t* codes = nullptr;  // OUT a code every `code_stride`
    int64_t code_stride = 0;
};

}  // namespace polyleaf
