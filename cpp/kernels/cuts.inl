// Random cuts of many features of one node at once, in stages without branches: the look-ups of
// one feature do not wait for those of another.
#pragma once

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "kernels/lanes.inl"
#include "ramify/kernels.hpp"
#include "ramify/random.hpp"

namespace ramify::RAMIFY_ISA {

// Cuts from `begin` to `end` as bins of all features, before they are kept between the codes.
inline void find_cuts(const CutTask& task, int begin, int end, const uint32_t* shares,
                      int32_t* bins) {
    const CutTables& tables = task.tables;
    uint32_t places[kCodeColumns];
    for (int i = begin; i < end; ++i) {
        const int32_t base = task.homes[i] * CutTables::kBins;
        const uint32_t low = tables.places[2 * (base + task.first[i])];
        const uint32_t high = tables.places[2 * (base + task.last[i]) + 1];
        places[i] = low + (uint64_t{high - low} * shares[i] >> 32);
    }
    for (int i = begin; i < end; ++i) {
        const int32_t home = task.homes[i], base = home * CutTables::kBins;
        const uint8_t* const before = tables.before + int64_t{home} * CutTables::kBefore +
                                      (places[i] >> CutTables::kCellShift);
        const int32_t last = base + before[1];
        int32_t bin = base + before[0];
        while (bin < last && tables.middles[bin + 1] <= places[i]) ++bin;
        bins[i] = bin;
    }
}

#if defined(__AVX512F__)
// Sixteen of them at once.
inline void find_cuts_together(const CutTask& task, int begin, const uint32_t* shares,
                               int32_t* bins) {
    const CutTables& tables = task.tables;
    const int n = task.n_cuts - begin < 16 ? task.n_cuts - begin : 16;
    const __mmask16 used = static_cast<__mmask16>((1u << n) - 1);
    const __m512i home = _mm512_maskz_loadu_epi32(used, task.homes + begin);
    const __m512i first = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(used, task.first + begin));
    const __m512i last = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(used, task.last + begin));
    const __m512i base = _mm512_slli_epi32(home, 8);
    const __m512i one = _mm512_set1_epi32(1), zero = _mm512_setzero_si512();
    auto gather = [&](__mmask16 wanted, __m512i at, const void* from) {
        return _mm512_mask_i32gather_epi32(zero, wanted, at, from, 4);
    };
    const __m512i low =
        gather(used, _mm512_slli_epi32(_mm512_add_epi32(base, first), 1), tables.places);
    const __m512i high =
        gather(used, _mm512_add_epi32(_mm512_slli_epi32(_mm512_add_epi32(base, last), 1), one),
               tables.places);
    // The upper halves of the products of even and of odd lanes.
    const __m512i range = _mm512_sub_epi32(high, low);
    const __m512i share = _mm512_maskz_loadu_epi32(used, shares + begin);
    const __m512i even = _mm512_srli_epi64(_mm512_mul_epu32(range, share), 32);
    const __m512i odd =
        _mm512_mul_epu32(_mm512_srli_epi64(range, 32), _mm512_srli_epi64(share, 32));
    const __m512i place = _mm512_add_epi32(low, _mm512_mask_blend_epi32(0xaaaa, even, odd));
    const __m512i cell =
        _mm512_add_epi32(_mm512_mullo_epi32(home, _mm512_set1_epi32(CutTables::kBefore)),
                         _mm512_srli_epi32(place, CutTables::kCellShift));
    const __m512i byte = _mm512_set1_epi32(0xff);
    const __m512i before = _mm512_mask_i32gather_epi32(zero, used, cell, tables.before, 1);
    __m512i bin = _mm512_add_epi32(base, _mm512_and_si512(before, byte));
    const __m512i last_bin =
        _mm512_add_epi32(base, _mm512_and_si512(_mm512_srli_epi32(before, 8), byte));
    __mmask16 open = _mm512_mask_cmplt_epi32_mask(used, bin, last_bin);
    while (open) {
        const __m512i next = _mm512_add_epi32(bin, one);
        open = _mm512_mask_cmple_epu32_mask(open, gather(open, next, tables.middles), place);
        bin = _mm512_mask_mov_epi32(bin, open, next);
        open = _mm512_mask_cmplt_epi32_mask(open, bin, last_bin);
    }
    _mm512_mask_storeu_epi32(bins + begin, used, bin);
}
#endif

inline void draw_cuts(const CutTask& task) {
    const int n = task.n_cuts;
    uint32_t shares[kCodeColumns];
    int32_t bins[kCodeColumns];
    for (int i = 0; i < n; ++i)
        shares[i] = cut_share(task.seed, task.tables.features[task.homes[i]]);
#if defined(__AVX512F__)
    constexpr int kFewCuts = 3;
    if (n > kFewCuts)
        for (int begin = 0; begin < n; begin += 16) find_cuts_together(task, begin, shares, bins);
    else
#endif
        find_cuts(task, 0, n, shares, bins);
    for (int i = 0; i < n; ++i) {
        const int32_t code = bins[i] - task.homes[i] * CutTables::kBins;
        const int32_t least = task.first[i], most = task.last[i] - 1;
        task.limits[i] = static_cast<uint8_t>(code < least ? least : code > most ? most : code);
    }
}

}  // namespace ramify::RAMIFY_ISA
