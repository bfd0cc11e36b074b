// Codes of dense feature columns, four features to a tile.
#pragma once

#include <cstdint>

#include "ramify/parallel.hpp"

namespace ramify {

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

}  // namespace ramify
