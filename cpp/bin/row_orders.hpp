// All rows in the order of every dense numeric feature: sorted once, for the trees of boosting.
#pragma once

#include <cstdint>
#include <vector>

#include "base/data.hpp"
#include "base/parallel.hpp"

namespace polyleaf {

// Whether rows can be kept in order: uint8 codes, and no more rows than a list entry can name.
bool can_order_rows(const BinnedView& binned);

// List entries (kernels.hpp) of all rows, [dense numeric feature][n_rows], with room to read ahead
// behind them; rows of one code in ascending order, missing values last.
std::vector<uint32_t> order_rows(const BinnedView& binned, ThreadTeam& team);

}  // namespace polyleaf
