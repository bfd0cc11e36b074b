// Grows one tree by sums in fixed point, on one worker or on several (reducer.hpp). The tree does
// not depend on how the rows are divided between workers or threads.
//
// Nodes are grown in waves: their rows are partitioned, the smaller child of each is summed, all
// these sums pass the Reducer at once, the larger children get what is left of their parents, and
// all children are searched. What is decided depends on sums of all workers alone.
#pragma once

#include <cstdint>

#include "base/data.hpp"
#include "base/parallel.hpp"
#include "grow/grower.hpp"
#include "grow/reducer.hpp"

namespace polyleaf {

// Whether features and channels can be summed in fixed point: at most 255 bins to a feature, and
// no sparse labels.
bool can_sum_fixed(const BinnedView& binned, const ChannelsView& channels);

// rows: those of this worker, ascending; any number if there is a reducer, which may be null.
GrownTree grow_fixed_tree(const BinnedView& binned, const ChannelsView& channels,
                          const int32_t* rows, int64_t n_rows, const GrowParams& params,
                          Interrupt& interrupt, Reducer* reducer);

}  // namespace polyleaf
