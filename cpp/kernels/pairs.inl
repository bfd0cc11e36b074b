// Prefix norms of two or four lists at once, and their best cuts.
#pragma once

#include <algorithm>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "kernels/kernels.hpp"
#include "kernels/lanes.inl"
#include "kernels/list.inl"

namespace polyleaf::POLYLEAF_ISA {

#if defined(__AVX512F__)
// The sums over the lanes of sixteen vectors are made pair by pair: one operand holds half of each
// vector as it is, the other one the other halves in their places, and both are added. That is
// one shuffle to a vector, where four at a time (`sums_of`) take two and a half.

// {squares of a, folded to 8 lanes; squares of b, folded to 8 lanes}
inline __m512 pair_of_squares(__m512 a, __m512 b) {
    const __m512 crossed = _mm512_shuffle_f32x4(a, b, 0x4e);
    const __m512 squares = _mm512_mask_mul_ps(_mm512_mul_ps(a, a), 0xff00, b, b);
    return _mm512_fmadd_ps(crossed, crossed, squares);
}
// Folds 8 lanes to 4, 4 to 2 and 2 to 1; those of `a` come before those of `b`.
inline __m512 fold_eights(__m512 a, __m512 b) {
    const __m512i crossed =
        _mm512_setr_epi32(4, 5, 6, 7, 16, 17, 18, 19, 12, 13, 14, 15, 24, 25, 26, 27);
    return _mm512_mask_blend_ps(0xf0f0, a, b) + _mm512_permutex2var_ps(a, crossed, b);
}
inline __m512 fold_fours(__m512 a, __m512 b) {
    return _mm512_mask_blend_ps(0xcccc, a, b) + _mm512_shuffle_ps(a, b, 0x4e);
}
inline __m512 fold_twos(__m512 a, __m512 b) {
    const __m512i crossed =
        _mm512_setr_epi32(1, 16, 3, 18, 5, 20, 7, 22, 9, 24, 11, 26, 13, 28, 15, 30);
    return _mm512_mask_blend_ps(0xaaaa, a, b) + _mm512_permutex2var_ps(a, crossed, b);
}

// Where the code changes behind one of sixteen entries from `i` on, if that is a cut to look at.
inline __mmask16 cuts_of_sixteen(const ListBestTask& cuts, int64_t i) {
    const __m512i changes =
        _mm512_loadu_si512(cuts.entries + i) ^ _mm512_loadu_si512(cuts.entries + i + 1);
    const __mmask16 is_cut = _mm512_cmpge_epu32_mask(changes, _mm512_set1_epi32(0x10000));
    if (i >= cuts.begin && i + 16 <= cuts.end) return is_cut;
    const __m512i place =
        _mm512_add_epi32(_mm512_set1_epi32(static_cast<int32_t>(i)),
                         _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    return is_cut &
           _mm512_cmpge_epi32_mask(place, _mm512_set1_epi32(static_cast<int32_t>(cuts.begin))) &
           _mm512_cmplt_epi32_mask(place, _mm512_set1_epi32(static_cast<int32_t>(cuts.end)));
}

// Sixteen entries of every list at a time, as long as there are so many; returns where it stopped.
// best: IN OUT after the last block of channels.
template <int L>
int64_t walk_by_sixteen(PairWalkTask& task, int first_list, int32_t block, const float* g,
                        Lanes<16> (&prefix)[L]) {
    const bool is_last = block + 1 == task.gradient.n_blocks;
    const ListBestTask* const cuts = task.cuts + first_list;
    float* const* const all_norms = task.norms + first_list;
    __m512 sum[L], best[L];
    for (int list = 0; list < L; ++list) {
        sum[list] = prefix[list].v[0];
        best[list] = _mm512_set1_ps(-1.0f);
    }
    auto row = [&](int list, int64_t at) {
        return _mm512_loadu_ps(g + int64_t{list_row(cuts[list].entries[at])} * 16);
    };
    int64_t i = 0;
    for (; i + 16 <= task.n_entries; i += 16) {
        __m512 halves[L][2];
        for (int half = 0; half < 2; ++half) {
            __m512 fours[L][2];
            for (int four = 0; four < 2; ++four)
                for (int list = 0; list < L; ++list) {
                    __m512 pairs[2];
                    for (int pair = 0; pair < 2; ++pair) {
                        const int64_t at = i + 8 * half + 4 * four + 2 * pair;
                        const __m512 first = sum[list] + row(list, at);
                        sum[list] = first + row(list, at + 1);
                        pairs[pair] = pair_of_squares(first, sum[list]);
                    }
                    fours[list][four] = fold_eights(pairs[0], pairs[1]);
                }
            for (int list = 0; list < L; ++list)
                halves[list][half] = fold_fours(fours[list][0], fours[list][1]);
        }
        for (int list = 0; list < L; ++list) {
            // Folds have left the four bits of an entry's place in the opposite order.
            const __m512i places =
                _mm512_setr_epi32(0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15);
            __m512 norms =
                _mm512_permutexvar_ps(places, fold_twos(halves[list][0], halves[list][1]));
            if (block > 0) norms += _mm512_loadu_ps(all_norms[list] + i);
            _mm512_storeu_ps(all_norms[list] + i, norms);
            if (!is_last) continue;
            const __m512 scores = norms * _mm512_loadu_ps(cuts[list].factors + i);
            const __mmask16 is_cut = cuts_of_sixteen(cuts[list], i);
            // Not the other way round: a score that is no number does not count.
            best[list] = _mm512_mask_max_ps(best[list], is_cut, scores, best[list]);
        }
    }
    for (int list = 0; list < L; ++list) {
        prefix[list].v[0] = sum[list];
        if (is_last) task.best[first_list + list] = _mm512_reduce_max_ps(best[list]);
    }
    return i;
}
#endif

// One block of some lists at a time. A running sum takes one addition after the other; two of them
// keep the adder busy most of the time, and four of them (walk_pairs) nearly always.
template <int N, int L>
void walk_lists(PairWalkTask& task, int first_list) {
    using V = typename Lanes<N>::V;
    const ListBestTask* const cuts = task.cuts + first_list;
    float* const* const all_norms = task.norms + first_list;
    float* const best = task.best + first_list;
    std::fill_n(best, L, -1.0f);
    int64_t n_scored = 0;
    for (int32_t block = 0; block < task.gradient.n_blocks; ++block) {
        const float* const g = task.gradient.data + block * task.gradient.block_stride;
        Lanes<N> prefix[L];
        for (Lanes<N>& sum : prefix) sum = Lanes<N>::zero();
        auto step = [&](int list, int64_t i) {
            prefix[list] =
                prefix[list] + Lanes<N>::load(g + int64_t{list_row(cuts[list].entries[i])} * N);
            return (prefix[list] * prefix[list]).folded();
        };
        auto finish = [&](int list, int64_t at, float4 norms) {
            if (block > 0) {
                float4 before;
                std::memcpy(&before, all_norms[list] + at, sizeof(before));
                norms += before;
            }
            std::memcpy(all_norms[list] + at, &norms, sizeof(norms));
        };
        int64_t i = 0;
#if defined(__AVX512F__)
        if constexpr (N == 16)
            n_scored = i = walk_by_sixteen<L>(task, first_list, block, g, prefix);
#endif
        for (; i + 4 <= task.n_entries; i += 4) {
            V squares[L][4];
            for (int k = 0; k < 4; ++k)
                for (int list = 0; list < L; ++list) squares[list][k] = step(list, i + k);
            for (int list = 0; list < L; ++list) {
                const V(&of)[4] = squares[list];
                finish(list, i, sums_of(of[0], of[1], of[2], of[3]));
            }
        }
        for (int list = 0; list < L && i < task.n_entries; ++list) {
            V rest[4] = {};
            for (int64_t k = i; k < task.n_entries; ++k) rest[k - i] = step(list, k);
            finish(list, i, sums_of(rest[0], rest[1], rest[2], rest[3]));
        }
    }
    for (int list = 0; list < L; ++list) {
        ListBestTask others = cuts[list];
        others.norms = all_norms[list];
        others.begin = std::max(others.begin, n_scored);
        best[list] = std::max(best[list], best_of_list(others));
    }
}

template <int N>
void walk_pairs(PairWalkTask& task) {
    constexpr bool kFour = N == 16 && kWidth == 16;  // which has registers for that
    if (kFour && task.n_pairs == 2) return walk_lists<N, 4>(task, 0);
    for (int pair = 0; pair < task.n_pairs; ++pair) walk_lists<N, 2>(task, 2 * pair);
}

}  // namespace polyleaf::POLYLEAF_ISA
