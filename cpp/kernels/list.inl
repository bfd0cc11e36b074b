// Presorted rows of small nodes: prefix norms, the best cut, and the split of a list.
#pragma once

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "kernels/kernels.hpp"
#include "kernels/lanes.inl"

namespace polyleaf::POLYLEAF_ISA {

// A row's place is the number of smaller keys, of which a vector of rows counts one at a time:
// without a branch that depends on the codes. Keys fit 15 bits, for comparisons with a sign.
inline void sort_list(const ListSortTask& task) {
    constexpr int kAtOnce = kWidth * 2;
    typedef int16_t Keys __attribute__((vector_size(kWidth * 4)));
    alignas(64) int16_t keys[kFewEntries], places[kFewEntries];
    const int n = static_cast<int>(task.n_rows);
    for (int i = 0; i < n; ++i)
        keys[i] = static_cast<int16_t>(task.codes[task.rows[i] * task.stride] << 7 | i);
    for (int first = 0; first < n; first += kAtOnce) {
        Keys own, place{};
        std::memcpy(&own, keys + first, sizeof(own));
        for (int j = 0; j < n; ++j) place -= own > keys[j];
        std::memcpy(places + first, &place, sizeof(place));
    }
    for (int i = 0; i < n; ++i) {
        const uint32_t code = static_cast<uint32_t>(keys[i]) >> 7;
        task.entries[places[i]] =
            list_entry(code == 255 ? kMissingEntryCode : code, static_cast<uint32_t>(i));
    }
}

// `factor_of_total` of grow/criterion.hpp, or what never wins.
inline void list_factors(const ListFactorTask& task) {
    double prefix = task.initial;
    for (int64_t i = 0; i < task.n_entries; ++i) {
        prefix += task.weights[list_row(task.entries[i])];
        task.prefixes[i] = prefix;
    }
    for (int64_t i = 0; i < task.n_entries; ++i) {
        const double weight = task.prefixes[i], other = task.total - weight;
        const double lighter = weight < other ? weight : other;
        const float factor = static_cast<float>(task.total / (weight * other));
        task.factors[i] = lighter <= task.dust ? -__builtin_inff() : factor;
    }
}

// Walks `B` blocks at once, so that their prefixes stay in registers.
template <int N, int B>
void walk_list_blocks(const ListWalkTask& task, const float* g, bool is_first) {
    using V = typename Lanes<N>::V;
    const int64_t stride = task.gradient.block_stride;
    Lanes<N> prefix[B];
    for (int b = 0; b < B; ++b) prefix[b] = Lanes<N>::zero();
    auto step = [&](uint32_t entry) {
        const float* row = g + int64_t{list_row(entry)} * N;
        Lanes<N> square = Lanes<N>::zero();
        for (int b = 0; b < B; ++b) {
            prefix[b] = prefix[b] + Lanes<N>::load(row + b * stride);
            square = square + prefix[b] * prefix[b];
        }
        return square.folded();
    };
    auto finish = [&](int64_t at, float4 norms) {
        if (!is_first) {
            float4 before;
            std::memcpy(&before, task.norms + at, sizeof(before));
            norms += before;
        }
        std::memcpy(task.norms + at, &norms, sizeof(norms));
    };
    int64_t i = 0;
    for (; i + 4 <= task.n_entries; i += 4) {
        const V a = step(task.entries[i]), b = step(task.entries[i + 1]),
                c = step(task.entries[i + 2]), d = step(task.entries[i + 3]);
        finish(i, sums_of(a, b, c, d));
    }
    if (i == task.n_entries) return;
    const int64_t left = task.n_entries - i;
    const V none{};
    const V a = step(task.entries[i]);
    const V b = left > 1 ? step(task.entries[i + 1]) : none;
    const V c = left > 2 ? step(task.entries[i + 2]) : none;
    finish(i, sums_of(a, b, c, none));
}

template <int N>
void walk_list(const ListWalkTask& task) {
    int32_t block = 0;
    const float* g = task.gradient.data;
    auto run = [&](auto blocks) {
        constexpr int B = decltype(blocks)::value;
        walk_list_blocks<N, B>(task, g, block == 0);
        block += B;
        g += B * task.gradient.block_stride;
    };
    // Four blocks of sixteen fill half of the vector registers; the rest is for the squares.
    while (task.gradient.n_blocks - block >= 4) run(Constant<4>{});
    if (task.gradient.n_blocks - block == 3) return run(Constant<3>{});
    if (task.gradient.n_blocks - block == 2) return run(Constant<2>{});
    if (task.gradient.n_blocks - block == 1) run(Constant<1>{});
}

// The cuts of a list: where the code changes behind an entry. Returns their number.
#if defined(__AVX512F__)
inline int64_t find_cuts(const uint32_t* entries, int64_t n_entries, uint32_t* ends) {
    uint32_t* end = ends;
    const __m512i one_code = _mm512_set1_epi32(0x10000);
    __m512i places = _mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    for (int64_t i = 0; i < n_entries; i += 16) {
        const int64_t n = n_entries - i;
        const __mmask16 valid = n >= 16 ? 0xffff : static_cast<__mmask16>((1u << n) - 1);
        const __m512i entry = _mm512_maskz_loadu_epi32(valid, entries + i);
        const __m512i next = _mm512_maskz_loadu_epi32(valid, entries + i + 1);
        const __mmask16 is_cut =
            _mm512_mask_cmpge_epu32_mask(valid, _mm512_xor_si512(entry, next), one_code);
        // A whole vector at a time: what is behind the cuts is overwritten by the next.
        _mm512_storeu_si512(end, _mm512_maskz_compress_epi32(is_cut, places));
        places = _mm512_add_epi32(places, _mm512_set1_epi32(16));
        end += __builtin_popcount(is_cut);
    }
    return end - ends;
}
#else
inline int64_t find_cuts(const uint32_t* entries, int64_t n_entries, uint32_t* ends) {
    int64_t n_cuts = 0;
    for (int64_t i = 0; i < n_entries; ++i) {
        if (n_cuts < kMostGroups) ends[n_cuts] = static_cast<uint32_t>(i + 1);
        n_cuts += (entries[i] ^ entries[i + 1]) >> 16 != 0;
    }
    return n_cuts;
}
#endif

// Prefixes of B blocks of L lists at the ends of codes. Every prefix is stored, and the next one
// over it unless the code has changed: no branch depends on the codes.
template <int N, int L, int B>
void sum_groups(const GroupWalkTask& task, const float* g) {
    const int64_t n_entries = task.n_entries, block_stride = task.gradient.block_stride;
    Lanes<N> prefix[L][B];
    const uint32_t* entries[L];
    uint32_t entry[L];
    float* sums[L];
    for (int l = 0; l < L; ++l) {
        for (int b = 0; b < B; ++b) prefix[l][b] = Lanes<N>::zero();
        entries[l] = task.entries[l];
        entry[l] = entries[l][0];
        sums[l] = task.sums + l * (kMostGroups * B * N);
    }
    for (int64_t i = 0; i < n_entries; ++i) {
        for (int l = 0; l < L; ++l) {
            const uint32_t next = entries[l][i + 1];
            const float* const row = g + int64_t{list_row(entry[l])} * N;
            for (int b = 0; b < B; ++b) {
                prefix[l][b] = prefix[l][b] + Lanes<N>::load(row + b * block_stride);
                prefix[l][b].store(sums[l] + b * N);
            }
            sums[l] += (entry[l] | 0xffff) < next ? B * N : 0;  // codes rise
            entry[l] = next;
        }
    }
}

// The same for one list whose groups are so long that a branch at their ends costs less than
// storing every prefix. One block alone is added up four rows at a time, which do not wait for
// each other.
template <int N, int B>
void sum_long_groups(const GroupWalkTask& task, const float* g) {
    const int64_t block_stride = task.gradient.block_stride;
    const uint32_t* const entries = task.entries[0];
    float* sums = task.sums;
    Lanes<N> prefix[B];
    for (int b = 0; b < B; ++b) prefix[b] = Lanes<N>::zero();
    int64_t i = 0;
    for (int64_t cut = 0; cut < task.n_cuts[0]; ++cut, sums += B * N) {
        const int64_t end = task.ends[0][cut];
        auto row = [&](int64_t at) { return g + int64_t{list_row(entries[at])} * N; };
        if (B == 1 && i + 4 <= end) {
            Lanes<N> sum[4];
            for (int k = 0; k < 4; ++k) sum[k] = Lanes<N>::load(row(i + k));
            for (i += 4; i + 4 <= end; i += 4)
                for (int k = 0; k < 4; ++k) sum[k] = sum[k] + Lanes<N>::load(row(i + k));
            prefix[0] = prefix[0] + ((sum[0] + sum[1]) + (sum[2] + sum[3]));
        }
        for (; i < end; ++i)
            for (int b = 0; b < B; ++b)
                prefix[b] = prefix[b] + Lanes<N>::load(row(i) + b * block_stride);
        for (int b = 0; b < B; ++b) prefix[b].store(sums + b * N);
    }
}

// Adds |sum + added|^2 of B blocks to the norms of the cuts; sums over lanes, which cost more than
// an addition, are made once per code. Four at a time, behind the last one whatever is there:
// there is room for it.
template <int N, int B>
void add_group_norms(const float* sums, const Lanes<N> (&added)[B], int64_t n_cuts, bool is_first,
                     float* out) {
    using V = typename Lanes<N>::V;
    auto square = [&](int64_t at) {
        Lanes<N> squares = Lanes<N>::zero();
        for (int b = 0; b < B; ++b) {
            const Lanes<N> sum = Lanes<N>::load(sums + (at * B + b) * N) + added[b];
            squares = squares + sum * sum;
        }
        return squares.folded();
    };
    for (int64_t at = 0; at < n_cuts; at += 4) {
        const V a = square(at), b = square(at + 1), c = square(at + 2), d = square(at + 3);
        float4 norms = sums_of(a, b, c, d), before{};
        if (!is_first) std::memcpy(&before, out + at, sizeof(before));
        norms += before;
        std::memcpy(out + at, &norms, sizeof(norms));
    }
}

template <int N, int L, int B>
void walk_groups_of(const GroupWalkTask& task, int32_t block) {
    constexpr int64_t kLongGroup = B > 1 ? 8 : kLongGroupOfBlock;
    const int64_t block_stride = task.gradient.block_stride;
    const float* const g = task.gradient.data + block * block_stride;
    if (L == 1 && task.n_entries >= kLongGroup * task.n_cuts[0])
        sum_long_groups<N, B>(task, g);
    else
        sum_groups<N, L, B>(task, g);
    for (int l = 0; l < L; ++l) {
        const float* const sums = task.sums + l * (kMostGroups * B * N);
        Lanes<N> added[B];
        for (int b = 0; b < B; ++b) added[b] = Lanes<N>::zero();
        add_group_norms<N, B>(sums, added, task.n_cuts[l], block == 0, task.norms[l]);
        if (task.n_missing[l] == 0) continue;
        for (int64_t i = 0; i < task.n_missing[l]; ++i)
            for (int b = 0; b < B; ++b)
                added[b] = added[b] + Lanes<N>::load(g + b * block_stride +
                                                     int64_t{list_row(task.missing[l][i])} * N);
        add_group_norms<N, B>(sums, added, task.n_cuts[l] - 1, block == 0, task.with_missing[l]);
    }
}

// Two lists, or several blocks of one, keep the adder busy.
template <int N>
void walk_groups(GroupWalkTask& task) {
    for (int l = 0; l < task.n_lists; ++l)
        task.n_cuts[l] = find_cuts(task.entries[l], task.n_entries, task.ends[l]);
    const int32_t n_blocks = task.gradient.n_blocks;
    int32_t block = 0;
    if (task.n_lists == 2) {
        for (; block < n_blocks; ++block) walk_groups_of<N, 2, 1>(task, block);
        return;
    }
    for (; block + kMostGroupBlocks <= n_blocks; block += kMostGroupBlocks)
        walk_groups_of<N, 1, kMostGroupBlocks>(task, block);
    if (block + 3 == n_blocks) return walk_groups_of<N, 1, 3>(task, block);
    if (block + 2 == n_blocks) return walk_groups_of<N, 1, 2>(task, block);
    if (block < n_blocks) walk_groups_of<N, 1, 1>(task, block);
}

// Reads up to kWidth entries, norms and factors past the end; callers leave room for that.
inline float best_of_list(const ListBestTask& task) {
    using V = typename Native<kWidth>::type;
    typedef uint32_t U __attribute__((vector_size(kWidth * 4)));
    V best = V{} - 1.0f;
    U lane;
    for (int k = 0; k < kWidth; ++k) lane[k] = k;
    for (int64_t i = task.begin; i < task.end; i += kWidth) {
        U entry, next;
        V norm, factor;
        std::memcpy(&entry, task.entries + i, sizeof(U));
        std::memcpy(&next, task.entries + i + 1, sizeof(U));
        std::memcpy(&norm, task.norms + i, sizeof(V));
        std::memcpy(&factor, task.factors + i, sizeof(V));
        const U remaining = U{} + static_cast<uint32_t>(task.end - i);
        const auto is_cut = ((entry ^ next) >= 0x10000u) & (lane < remaining);
        const V score = is_cut ? norm * factor : V{} - 1.0f;
        best = score > best ? score : best;
    }
    float result = best[0];
    for (int k = 1; k < kWidth; ++k) result = best[k] > result ? best[k] : result;
    return result;
}

#if defined(__AVX512F__)
inline int64_t best_of_groups(const GroupBestTask& task) {
    const __m512i one = _mm512_set1_epi32(1), step = _mm512_set1_epi32(16);
    __m512 best = _mm512_set1_ps(-1.0f);
    __m512i places = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i best_places = places;
    for (int64_t j = task.first; j < task.last; j += 16) {
        const int64_t n = task.last - j;
        const __mmask16 valid = n >= 16 ? 0xffff : static_cast<__mmask16>((1u << n) - 1);
        const __m512i ends = _mm512_maskz_loadu_epi32(valid, task.ends + j);
        const __m512 factors = _mm512_mask_i32gather_ps(
            _mm512_setzero_ps(), valid, _mm512_sub_epi32(ends, one), task.factors, 4);
        const __m512 scores = _mm512_mul_ps(_mm512_maskz_loadu_ps(valid, task.norms + j), factors);
        const __mmask16 is_better = _mm512_mask_cmp_ps_mask(valid, scores, best, _CMP_GT_OQ);
        best = _mm512_mask_mov_ps(best, is_better, scores);
        best_places = _mm512_mask_mov_epi32(best_places, is_better, places);
        places = _mm512_add_epi32(places, step);
    }
    const float largest = _mm512_reduce_max_ps(best);
    if (!(largest >= 0.0f)) return -1;
    const __mmask16 is_best = _mm512_cmp_ps_mask(best, _mm512_set1_ps(largest), _CMP_EQ_OQ);
    return task.first + _mm512_mask_reduce_min_epu32(is_best, best_places);
}
#else
inline int64_t best_of_groups(const GroupBestTask& task) {
    float best = -1.0f;
    int64_t place = -1;
    for (int64_t j = task.first; j < task.last; ++j) {
        const float score = task.norms[j] * task.factors[task.ends[j] - 1];
        if (!(score > best)) continue;
        best = score;
        place = j;
    }
    return best >= 0.0f ? place : -1;
}
#endif

// Every subset is a smaller one plus its highest row.
template <int N>
void subset_norms(const SubsetTask& task) {
    constexpr int kMaxRows = kMostProductRows;
    float sums[(1 << (kMaxRows - 1)) * N];
    for (int32_t block = 0; block < task.gradient.n_blocks; ++block) {
        const float* const g = task.gradient.data + block * task.gradient.block_stride;
        Lanes<N>::zero().store(sums);
        for (int row = 0; row + 1 < task.n_rows; ++row) {
            const Lanes<N> added = Lanes<N>::load(g + row * N);
            const int bit = 1 << row;
            for (int rest = 0; rest < bit; ++rest) {
                const Lanes<N> sum = Lanes<N>::load(sums + rest * N) + added;
                sum.store(sums + (rest | bit) * N);
                task.norms[rest | bit] += (sum * sum).sum();
            }
        }
    }
}

#if defined(__AVX512F__)
// Sixteen entries at a time. A whole vector is stored at `left`: it never reaches entries that are
// still to be read.
inline void split_list(const ListSplitTask& task) {
    uint32_t* left = task.entries;
    uint32_t* right = task.spill;
    const __m512i low = _mm512_set1_epi32(0xffff), place = _mm512_set1_epi32(0x7fff);
    const __m512i side = _mm512_set1_epi32(kRightChild);
    for (int64_t i = 0; i < task.n_entries; i += 16) {
        const int64_t n = task.n_entries - i;
        const __mmask16 valid = n >= 16 ? 0xffff : static_cast<__mmask16>((1u << n) - 1);
        const __m512i entry = _mm512_maskz_loadu_epi32(valid, task.source + i);
        const __m512i move = _mm512_mask_i32gather_epi32(
            _mm512_setzero_si512(), valid, _mm512_and_epi32(entry, low), task.moves, 2);
        const __m512i moved =
            _mm512_or_epi32(_mm512_andnot_epi32(low, entry), _mm512_and_epi32(move, place));
        const __mmask16 goes_right = _mm512_mask_test_epi32_mask(valid, move, side);
        const __mmask16 goes_left = valid & ~goes_right;
        if (n >= 16)
            _mm512_storeu_si512(left, _mm512_maskz_compress_epi32(goes_left, moved));
        else
            _mm512_mask_compressstoreu_epi32(left, goes_left, moved);
        _mm512_storeu_si512(right, _mm512_maskz_compress_epi32(goes_right, moved));
        left += __builtin_popcount(goes_left);
        right += __builtin_popcount(goes_right);
    }
    std::memcpy(left, task.spill, (right - task.spill) * sizeof(uint32_t));
}
#else
inline void split_list(const ListSplitTask& task) {
    uint32_t* left = task.entries;
    uint32_t* right = task.spill;
    for (int64_t i = 0; i < task.n_entries; ++i) {
        const uint32_t entry = task.source[i];
        const uint16_t move = task.moves[list_row(entry)];
        const uint32_t moved = (entry & 0xffff0000u) | (move & 0x7fffu);
        const int64_t goes_right = move >> 15;
        *left = moved;
        *right = moved;
        left += 1 - goes_right;
        right += goes_right;
    }
    std::memcpy(left, task.spill, (right - task.spill) * sizeof(uint32_t));
}

#endif

}  // namespace polyleaf::POLYLEAF_ISA
