// Tasks of kernels for nodes whose rows are kept as lists, one per feature in its order, or that
// have so few rows that all their subsets are tried.
#pragma once

#include <cstdint>

#include "kernels/kernel_blocks.hpp"

namespace polyleaf {

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

}  // namespace polyleaf
