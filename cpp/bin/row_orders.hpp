// All rows in the order of every dense numeric feature: sorted once, for the trees of boosting.
#pragma once

#include <cstdint>
#include <vector>

#include "base/data.hpp"
#include "base/parallel.hpp"

namespace polyleaf {

// Whether rows can be kept in order: uint8 codes, and no more rows than a list entry can name.
bool can_order_rows(const BinnedView& binned);

// Whether all nodes of a tree on these channels are searched in order: a block of them stays in
// the second-level cache while rows are read in any order, and there are few blocks.
bool uses_whole_orders(int64_t n_rows, int32_t n_channels);
// Whether a tree has any use for the order of its rows.
bool uses_row_orders(int64_t n_rows, int32_t n_channels);

// List entries (kernels.hpp) of all rows, [dense numeric feature][n_rows], with room to read ahead
// behind them; rows of one code in ascending order, missing values last.
std::vector<uint32_t> order_rows(const BinnedView& binned, ThreadTeam& team);

}  // namespace polyleaf
