// Binary search for several values at once.
#pragma once

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "kernels/kernels.hpp"

namespace polyleaf::POLYLEAF_ISA {

#if defined(__AVX512F__)
// Two comparisons with sixteen values each: which sixteen bins, and which of them.
inline void find_bins_by_pivots(const FindBinsTask& task) {
    auto count_below = [](const double* values, __m512d limit) {
        return __builtin_popcount(
            _mm512_cmp_pd_mask(_mm512_loadu_pd(values), limit, _CMP_LT_OQ) |
            _mm512_cmp_pd_mask(_mm512_loadu_pd(values + 8), limit, _CMP_LT_OQ) << 8);
    };
    for (int k = 0; k < kFindTogether; ++k) {
        const __m512d value = _mm512_set1_pd(task.values[k]);
        const int group = count_below(task.pivots, value) & 15;  // 16 only beyond the last bin
        const int bin = 16 * group + count_below(task.high + 16 * group, value);
        task.bins[k] = bin < task.n_bins ? bin : task.n_bins - 1;
    }
}
#endif

// Halving without branches (comparisons of random values cannot be predicted); all values take
// the same steps, so that the inner loop becomes gathers.
inline void find_bins(const FindBinsTask& task) {
#if defined(__AVX512F__)
    if (task.pivots) {
        find_bins_by_pivots(task);
        return;
    }
#endif
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

}  // namespace polyleaf::POLYLEAF_ISA
