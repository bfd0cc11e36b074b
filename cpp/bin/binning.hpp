// Codes of dense feature columns, four features to a tile.
#pragma once

#include <cstdint>

#include "base/parallel.hpp"

namespace polyleaf {

template <typename T, typename Code>
struct EncodeTask {
    int64_t n_rows = 0, n_columns = 0;
    const T* values = nullptr;          // IN (n_rows, n_columns)
    const int32_t* features = nullptr;  // IN (n_features,) columns to encode
    int64_t n_features = 0;
    const int64_t* bin_offsets = nullptr;  // IN (n_columns + 1,)
    const double* bin_high = nullptr;      // IN ascending within a feature
    Code missing = 0;
    Code* codes = nullptr;  // OUT [tile][row][4]
};

// The code of a value is the first bin whose largest value is not below it; NaN is missing.
template <typename T, typename Code>
void encode_columns(const EncodeTask<T, Code>& task, ThreadTeam& team);

// block (n_features, n_rows) = the listed columns of values (n_rows, n_columns).
template <typename T>
void gather_columns(const T* values, int64_t n_rows, int64_t n_columns, const int32_t* features,
                    int64_t n_features, T* block, ThreadTeam& team);

// Cuts n distinct values, of which each occurs counts times, into consecutive bins of about equal
// counts: one for each if there are at most n_bins, and else just n_bins, of which frequent values
// have one each. ends (min(n, n_bins),) = one past the last value of each bin.
void cut_into_bins(const int64_t* counts, int64_t n, int64_t n_bins, int64_t* ends);

template <typename T>
struct QuantileTask {
    int64_t n_columns = 0, n_rows = 0;
    const T* ordered = nullptr;  // IN (n_columns, n_rows) ascending, NaN last
    int64_t max_bins = 0;        // IN at least 1
    // OUT (n_columns, max_bins) the smallest and the largest value of each bin
    double *low = nullptr, *high = nullptr;
    int64_t* n_bins = nullptr;  // OUT (n_columns,)
    // OUT (n_columns,) the first bin with the most rows, and how many these are
    int64_t *commonest = nullptr, *n_commonest = nullptr;
};

template <typename T>
void cut_columns(const QuantileTask<T>& task, ThreadTeam& team);

template <typename T>
struct FlagTask {
    int64_t n_rows = 0, n_columns = 0;
    const T* values = nullptr;  // IN (n_rows, n_columns)
    // OUT (n_columns,): the two values of a column, and how many rows have the larger one. Both
    // are the same, and no row counts, if there is only one; -1 for NaN or more than two values.
    double *low = nullptr, *high = nullptr;
    int64_t* n_high = nullptr;
};

template <typename T>
void find_flags(const FlagTask<T>& task, ThreadTeam& team);

template <typename T>
struct ListTask {
    int64_t n_rows = 0, n_columns = 0;
    const T* values = nullptr;          // IN (n_rows, n_columns)
    const int32_t* features = nullptr;  // IN (n_features,)
    const double* common = nullptr;     // IN (n_features,) a value of each
    int64_t n_features = 0;
    int64_t n_listed = 0;
    int32_t *rows = nullptr, *slots = nullptr;  // OUT (n_listed,)
};

// Lists the rows whose value of a feature is not the common one, row by row; a slot is a position
// in `features`. Returns how many there are, which may be more than there is room for.
template <typename T>
int64_t list_uncommon(const ListTask<T>& task);

// counts (n,) = how many of the indices, all below n, are each number.
void count_entries(const int32_t* indices, int64_t n_indices, int64_t n, int64_t* counts);

// Entries of a sparse matrix by row (CSR), each of which has the code of its feature.
template <typename Code>
struct SplitTask {
    int64_t n_rows = 0;
    const int64_t* indptr = nullptr;   // IN (n_rows + 1,)
    const int32_t* indices = nullptr;  // IN features, ascending in a row
    const int32_t* place = nullptr;    // IN (n_features,) slot, or -1 - place among dense features
    const uint32_t* code = nullptr;    // IN (n_features,) looked at for dense features
    // IN ascending: features with a slot that list the rows without an entry instead
    const int32_t* inverted = nullptr;
    int64_t n_inverted = 0;
    int64_t* list_indptr = nullptr;  // OUT (n_rows + 1,)
    int64_t n_listed = 0;
    int32_t* slots = nullptr;  // OUT (n_listed,) of features with a slot
    Code* tiles = nullptr;     // OUT (n_tiles, n_rows, 4), where other features have entries
};

// Returns whether there are as many listed rows as there is room for.
template <typename Code>
bool split_entries(const SplitTask<Code>& task);

}  // namespace polyleaf
