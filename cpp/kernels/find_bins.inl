// Binary search for several values at once.
#pragma once

#include "ramify/kernels.hpp"

namespace ramify::RAMIFY_ISA {

// Halving without branches (comparisons of random values cannot be predicted); all values take
// the same steps, so that the inner loop becomes gathers.
inline void find_bins(const FindBinsTask& task) {
    const double* const high = task.high;
    double value[kFindTogether];
    int32_t at[kFindTogether] = {};
    for (int k = 0; k < kFindTogether; ++k) value[k] = task.values[k];
    for (int32_t length = task.n_bins; length > 1; length -= length / 2) {
        const int32_t half = length / 2;
        for (int k = 0; k < kFindTogether; ++k)
            at[k] += high[at[k] + half - 1] < value[k] ? half : 0;
    }
    for (int k = 0; k < kFindTogether; ++k) task.bins[k] = at[k];
}

}  // namespace ramify::RAMIFY_ISA
