// Sizes and exact sums of the columns of large targets, whose rows threads share.
#pragma once

#include <cstdint>

#include "base/parallel.hpp"

namespace polyleaf {

// Values less a shift of their column.
struct MomentsTask {
    const double* values = nullptr;  // IN (n_rows, n_columns)
    int64_t n_rows = 0, n_columns = 0;
    const double* shift = nullptr;  // IN (n_columns,)
};

// The largest size of every column, (n_columns,).
void largest_deviations(const MomentsTask& task, double* largest, ThreadTeam& team);

// Sums of deviations and of their squares, (2, n_columns); `magic`, alike, rounds every summand
// (ExactUnit), so that sums are the same in any order.
void sum_deviations(const MomentsTask& task, const double* magic, double* sums, ThreadTeam& team);

}  // namespace polyleaf
