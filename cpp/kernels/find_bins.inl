// The bins of values: binary search for several at once, or two comparisons with sixteen.
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

#if !defined(__AVX512F__)
// Values that are looked for at once, so that none waits for the steps of another.
constexpr int kEncodeTogether = 16;

inline void encode_some(const EncodeFloatsTask& task, int64_t first, int n) {
    const float* const limits = task.limits;
    float values[kEncodeTogether];
    int32_t bins[kEncodeTogether] = {};
    for (int k = 0; k < kEncodeTogether; ++k)
        values[k] = task.values[(first + (k < n ? k : 0)) * task.value_stride];
    for (int32_t length = task.n_bins; length > 1; length -= length / 2) {
        const int32_t half = length / 2;
        for (int k = 0; k < kEncodeTogether; ++k)
            bins[k] += limits[bins[k] + half - 1] < values[k] ? half : 0;
    }
    for (int k = 0; k < n; ++k)
        task.codes[(first + k) * task.code_stride] =
            values[k] == values[k] ? static_cast<uint8_t>(bins[k]) : task.missing;
}

#endif

inline void encode_floats(const EncodeFloatsTask& task) {
#if defined(__AVX512F__)
    const __m512 pivots = _mm512_loadu_ps(task.pivots);
    const int32_t last = task.n_bins - 1;
    for (int64_t i = 0; i < task.n_rows; ++i) {
        const float number = task.values[i * task.value_stride];
        const __m512 value = _mm512_set1_ps(number);
        // At most 15: the last limit is infinite.
        const int group = __builtin_popcount(_mm512_cmp_ps_mask(pivots, value, _CMP_LT_OQ));
        const __m512 limits = _mm512_loadu_ps(task.limits + 16 * group);
        const int32_t bin =
            16 * group + __builtin_popcount(_mm512_cmp_ps_mask(limits, value, _CMP_LT_OQ));
        task.codes[i * task.code_stride] =
            number == number ? static_cast<uint8_t>(bin < last ? bin : last) : task.missing;
    }
#else
    for (int64_t i = 0; i < task.n_rows; i += kEncodeTogether)
        encode_some(task, i,
                    static_cast<int>(task.n_rows - i < kEncodeTogether ? task.n_rows - i
                                                                       : kEncodeTogether));
#endif
}

}  // namespace polyleaf::POLYLEAF_ISA
