// Compiled once per instruction set (POLYLEAF_ISA); see predict_kernels.hpp.
#include "kernels/predict_kernels.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstring>

namespace polyleaf::POLYLEAF_ISA {

namespace {

#include "kernels/blends.inl"
#include "kernels/leaf_sums.inl"

// Values that lie below `value` among the sixteen of a node of the search tree.
inline int32_t count_below(const double* node, double value) {
#if defined(__AVX512F__)
    const __m512d limit = _mm512_set1_pd(value);
    return __builtin_popcount(_mm512_cmp_pd_mask(_mm512_loadu_pd(node), limit, _CMP_LT_OQ) |
                              _mm512_cmp_pd_mask(_mm512_loadu_pd(node + 8), limit, _CMP_LT_OQ)
                                  << 8);
#else
    int64_t count = 0;
    for (int i = 0; i < kCutsPerNode; ++i) count += node[i] < value;
    return static_cast<int32_t>(count);
#endif
}

template <int kLevels>
void find_codes_in(const FindCodesTask& task) {
    for (int r = 0; r < kCodedRows; ++r) {
        int32_t at = 0;
        for (int l = 0; l < kLevels; ++l)
            at = kCutsPerNode * at +
                 count_below(task.levels[l] + kCutsPerNode * at, task.values[r]);
        task.codes[r] = at;
    }
}

void find_codes(const FindCodesTask& task) {
    if (task.n_levels == 1) return find_codes_in<1>(task);
    if (task.n_levels == 2) return find_codes_in<2>(task);
    // Level by level over all values: those of one wait for each other and for far memory, those
    // of another do not.
    int32_t at[kCodedRows] = {};
    for (int l = 0; l < task.n_levels; ++l)
        for (int r = 0; r < kCodedRows; ++r)
            at[r] = kCutsPerNode * at[r] +
                    count_below(task.levels[l] + kCutsPerNode * at[r], task.values[r]);
    std::memcpy(task.codes, at, sizeof at);
}

}  // namespace

const PredictKernels& predict_kernels() {
    static const PredictKernels table = {find_codes, blend,       find_members,
                                         add_values, add_numbers, add_shares};
    return table;
}

}  // namespace polyleaf::POLYLEAF_ISA
