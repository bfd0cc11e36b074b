// Random cuts of many features of one node at once, in stages without branches: the look-ups of
// one feature do not wait for those of another.
#pragma once

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "kernels/kernels.hpp"
#include "kernels/lanes.inl"

namespace polyleaf::POLYLEAF_ISA {

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

// Where a cut falls in the range, in units of 2^-32 of it.
inline uint32_t cut_share(double share) { return static_cast<uint32_t>(share * 0x1.0p32); }

inline void draw_cuts(const CutTask& task) {
    const int n = task.n_cuts;
    uint32_t shares[kCodeColumns];
    int32_t bins[kCodeColumns];
    for (int i = 0; i < n; ++i) shares[i] = cut_share(task.shares[i]);
#if defined(__AVX512F__)
    constexpr int kMostAlone = 3;
    if (n > kMostAlone)
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

// A row is left of a cut if its code is the first one, or if it is not the last and the middle of
// its bin is not right of the cut: no need to look for the cut's own bin.
inline void cut_few_rows(FewRowsCutTask& task) {
    const CutTables& tables = task.tables;
    const int n = task.n_cuts;
    alignas(64) uint8_t codes[kFewCuts * kFewRows] = {};
    for (uint32_t rows = task.rows; rows; rows &= rows - 1) {
        const int i = __builtin_ctz(rows);
        const uint8_t* const row = task.row_codes[i];
        for (int k = 0; k < n; ++k) codes[k * kFewRows + i] = row[task.homes[k]];
    }
#if defined(__AVX512F__)
    const __mmask64 used = task.rows * 0x0101010101010101ULL;
    const __m512i code = _mm512_load_si512(codes);
    // Towards the lowest byte of eight.
    __m512i least = _mm512_mask_mov_epi8(_mm512_set1_epi8(-1), used, code), most = code;
    for (const int bits : {32, 16, 8}) {
        least = _mm512_min_epu8(least, _mm512_srli_epi64(least, bits));
        most = _mm512_max_epu8(most, _mm512_srli_epi64(most, bits));
    }
    const __m512i byte = _mm512_set1_epi64(0xff);
    least = _mm512_and_si512(least, byte);
    most = _mm512_and_si512(most, byte);
    _mm_storeu_si64(task.first, _mm512_cvtepi64_epi8(least));
    _mm_storeu_si64(task.last, _mm512_cvtepi64_epi8(most));
    // The places of the cuts.
    const __mmask8 cuts = static_cast<__mmask8>((1u << n) - 1);
    const __m256i home = _mm256_maskz_loadu_epi32(cuts, task.homes);
    const __m256i base = _mm256_slli_epi32(home, 8), zero = _mm256_setzero_si256();
    auto place_of = [&](__m512i codes, int end) {
        const __m256i bin = _mm256_add_epi32(base, _mm512_cvtepi64_epi32(codes));
        const __m256i at = _mm256_add_epi32(_mm256_slli_epi32(bin, 1), _mm256_set1_epi32(end));
        return _mm512_cvtepu32_epi64(
            _mm256_mmask_i32gather_epi32(zero, cuts, at, tables.places, 4));
    };
    const __m512i low = place_of(least, 0), high = place_of(most, 1);
    const __m512d shares =
        _mm512_mul_pd(_mm512_maskz_loadu_pd(cuts, task.shares), _mm512_set1_pd(0x1.0p32));
    const __m512i share = _mm512_cvttpd_epu64(shares);
    const __m512i place = _mm512_add_epi64(
        low, _mm512_srli_epi64(_mm512_mul_epu32(_mm512_sub_epi64(high, low), share), 32));
    // Two cuts at a time, their rows beside each other.
    const __m512i places = _mm512_castsi256_si512(_mm512_cvtepi64_epi32(place));
    const __m512i bases = _mm512_castsi256_si512(base);
    __m512i pair = _mm512_set_epi32(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);
    uint64_t left = 0;
    for (int k = 0; k < n; k += 2) {
        const __mmask16 both = static_cast<__mmask16>(used);
        const __m512i at = _mm512_add_epi32(
            _mm512_permutexvar_epi32(pair, bases),
            _mm512_cvtepu8_epi32(
                _mm_load_si128(reinterpret_cast<const __m128i*>(codes + k * kFewRows))));
        const __m512i middle =
            _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), both, at, tables.middles, 4);
        const __mmask16 below =
            _mm512_mask_cmple_epu32_mask(both, middle, _mm512_permutexvar_epi32(pair, places));
        left |= uint64_t{below} << k * kFewRows;
        pair = _mm512_add_epi32(pair, _mm512_set1_epi32(2));
    }
    const __m512i spread = _mm512_set4_epi32(0x08080808, 0x08080808, 0, 0);
    const uint64_t is_first = _mm512_cmpeq_epi8_mask(code, _mm512_shuffle_epi8(least, spread));
    const uint64_t is_last = _mm512_cmpeq_epi8_mask(code, _mm512_shuffle_epi8(most, spread));
    task.left = (left | is_first) & ~is_last & used;
#else
    task.left = 0;
    for (int k = 0; k < n; ++k) {
        const uint8_t* const code = codes + k * kFewRows;
        uint8_t first = 255, last = 0;
        for (int i = 0; i < kFewRows; ++i) {
            const uint8_t or_most = task.rows >> i & 1 ? code[i] : 255;
            first = or_most < first ? or_most : first;
            last = code[i] > last ? code[i] : last;
        }
        task.first[k] = first;
        task.last[k] = last;
        const int32_t base = task.homes[k] * CutTables::kBins;
        const uint32_t low = tables.places[2 * (base + first)];
        const uint32_t high = tables.places[2 * (base + last) + 1];
        const uint32_t place = low + (uint64_t{high - low} * cut_share(task.shares[k]) >> 32);
        for (uint32_t rows = task.rows; rows; rows &= rows - 1) {
            const int i = __builtin_ctz(rows);
            const bool below = tables.middles[base + code[i]] <= place;
            const bool is_left = (below | (code[i] == first)) & (code[i] != last);
            task.left |= uint64_t{is_left} << (k * kFewRows + i);
        }
    }
#endif
}

}  // namespace polyleaf::POLYLEAF_ISA
