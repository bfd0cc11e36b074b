// Random cuts of up to 64 features at once: the range of their codes, the rows left of each cut as
// bits, and the norms of the sums over such rows.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "kernels/kernels.hpp"
#include "kernels/lanes.inl"

namespace polyleaf::POLYLEAF_ISA {

constexpr int kCodesAtOnce = kWidth * 4;
typedef uint8_t Codes __attribute__((vector_size(kCodesAtOnce)));

inline Codes load_codes(const uint8_t* p) {
    Codes codes;
    std::memcpy(&codes, p, sizeof(codes));
    return codes;
}
inline Codes smaller(Codes a, Codes b) { return a < b ? a : b; }
inline Codes larger(Codes a, Codes b) { return a > b ? a : b; }

inline void code_ranges(const CodeRangeTask& task) {
    for (int column = 0; column < kCodeColumns; column += kCodesAtOnce) {
        const uint8_t* const codes = task.codes + column;
        Codes least = load_codes(codes + task.rows[0] * task.stride);
        Codes most = least, next = least + 1;
        for (int64_t i = 1; i < task.n_rows; ++i) {
            const Codes code = load_codes(codes + task.rows[i] * task.stride);
            least = smaller(least, code);
            most = larger(most, code);
            next = larger(next, code + 1);  // the code of missing values wraps to 0
        }
        const Codes largest = next - 1;
        std::memcpy(task.least + column, &least, sizeof(least));
        std::memcpy(task.largest + column, &largest, sizeof(largest));
        std::memcpy(task.most + column, &most, sizeof(most));
    }
}

// Bit c: whether code c of a row is at most limits[c].
inline uint64_t codes_below(const uint8_t* codes, const uint8_t* limits) {
#if defined(__AVX512BW__)
    return _mm512_cmple_epu8_mask(_mm512_loadu_si512(codes), _mm512_loadu_si512(limits));
#elif defined(__AVX2__)
    uint64_t result = 0;
    for (int part = 0; part < 2; ++part) {
        const __m256i code =
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + part * 32));
        const __m256i limit =
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(limits + part * 32));
        const __m256i below = _mm256_cmpeq_epi8(_mm256_min_epu8(code, limit), code);
        result |= uint64_t{static_cast<uint32_t>(_mm256_movemask_epi8(below))} << part * 32;
    }
    return result;
#elif defined(__SSE2__)
    uint64_t result = 0;
    for (int part = 0; part < 4; ++part) {
        const __m128i code = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + part * 16));
        const __m128i limit =
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(limits + part * 16));
        const __m128i below = _mm_cmpeq_epi8(_mm_min_epu8(code, limit), code);
        result |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(below))} << part * 16;
    }
    return result;
#else
    uint64_t result = 0;
    for (int c = 0; c < kCodeColumns; ++c) result |= uint64_t{codes[c] <= limits[c]} << c;
    return result;
#endif
}

// Bit i: bit `bit` of byte i, for 64 bytes.
inline uint64_t bits_of_bytes(const uint8_t* bytes, int bit) {
#if defined(__AVX512BW__)
    return _mm512_test_epi8_mask(_mm512_loadu_si512(bytes),
                                 _mm512_set1_epi8(static_cast<char>(1 << bit)));
#elif defined(__SSE2__)
    uint64_t result = 0;
    for (int part = 0; part < 4; ++part) {
        const __m128i byte = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + part * 16));
        const __m128i top = _mm_sll_epi16(byte, _mm_cvtsi32_si128(7 - bit));
        result |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(top))} << part * 16;
    }
    return result;
#else
    uint64_t result = 0;
    for (int i = 0; i < 64; ++i) result |= (uint64_t{bytes[i]} >> bit & 1) << i;
    return result;
#endif
}

// A row's comparisons are one word; the words of up to 64 rows are turned into one per column.
inline void code_masks(const CodeMaskTask& task) {
    constexpr int kRows = 64, kTogether = 8;
    const int n = static_cast<int>(task.n_rows);
    alignas(64) uint64_t words[kRows];
    alignas(64) uint8_t bytes[kRows];
    for (int i = 0; i < n; ++i) {
        words[i] = codes_below(task.codes + task.rows[i] * task.stride, task.limits);
#if defined(__BMI2__)
        words[i] = _pext_u64(words[i], task.columns);
#endif
    }
    for (int i = n; i % kTogether != 0; ++i) words[i] = 0;
    uint64_t all = task.columns;
#if defined(__BMI2__)
    all = ~uint64_t{0} >> (kCodeColumns - __builtin_popcountll(all));
#endif
    const uint64_t valid = ~uint64_t{0} >> (kRows - n);
    int64_t slot = 0;
    for (int shift = 0; shift < kCodeColumns; shift += 8) {
        uint64_t columns = all >> shift & 0xff;
        if (columns == 0) continue;
        for (int i = 0; i < n; i += kTogether)
            for (int k = 0; k < kTogether; ++k)
                bytes[i + k] = static_cast<uint8_t>(words[i + k] >> shift);
        for (; columns; columns &= columns - 1, ++slot) {
            const uint64_t mask = bits_of_bytes(bytes, __builtin_ctzll(columns)) & valid;
            task.masks[slot * task.mask_stride] = mask;
            task.counts[slot] += __builtin_popcountll(mask);
        }
    }
}

// Sixty-four rows of a few blocks at a time stay in the first-level cache for all sides. Two
// running sums per side do not wait for each other.
template <int N, int B>
void side_norms_of_blocks(const SideTask& task, const float* g) {
    const int64_t stride = task.gradient.block_stride;
    Lanes<N> sums[kMostSides][B];
    for (int64_t word = 0; word < task.n_words; ++word, g += 64 * N) {
        for (int side = 0; side < task.n_sides; ++side) {
            Lanes<N> even[B], odd[B];
            for (int b = 0; b < B; ++b) {
                even[b] = word == 0 ? Lanes<N>::zero() : sums[side][b];
                odd[b] = Lanes<N>::zero();
            }
            uint64_t rows = task.sides[side][word];
            while (rows) {
                const float* const row = g + __builtin_ctzll(rows) * N;
                rows &= rows - 1;
                for (int b = 0; b < B; ++b) even[b] = even[b] + Lanes<N>::load(row + b * stride);
                if (!rows) break;
                const float* const other = g + __builtin_ctzll(rows) * N;
                rows &= rows - 1;
                for (int b = 0; b < B; ++b) odd[b] = odd[b] + Lanes<N>::load(other + b * stride);
            }
            for (int b = 0; b < B; ++b) sums[side][b] = even[b] + odd[b];
        }
    }
    for (int side = 0; side < task.n_sides; ++side) {
        Lanes<N> square = Lanes<N>::zero();
        for (int b = 0; b < B; ++b) square = square + sums[side][b] * sums[side][b];
        task.norms[side] += square.sum();
    }
}

#if defined(__AVX512F__)
// One block and a few sides: every row is multiplied by 0 or 1 and added to all of them, which
// takes fewer instructions than it does to find out where it belongs, and no branches.
template <int N>
void few_side_norms(const SideTask& task, int first) {
    const int n_sides = task.n_sides - first < kFewSides ? task.n_sides - first : kFewSides;
    alignas(64) float factors[64][kFewSides];
    Lanes<N> sums[kFewSides];
    for (Lanes<N>& sum : sums) sum = Lanes<N>::zero();
    const float* g = task.gradient.data;
    for (int64_t word = 0; word < task.n_words; ++word, g += 64 * N) {
        uint64_t words[kFewSides], all = 0;
        for (int s = 0; s < kFewSides; ++s)
            all |= words[s] = s < n_sides ? task.sides[first + s][word] : 0;
        const __m512i sides = _mm512_loadu_si512(words);
        const int n = all ? 64 - __builtin_clzll(all) : 0;
        __m512i bit = _mm512_set1_epi64(1);
        for (int i = 0; i < n; ++i, bit = _mm512_add_epi64(bit, bit))
            _mm256_store_ps(factors[i], _mm256_maskz_mov_ps(_mm512_test_epi64_mask(sides, bit),
                                                            _mm256_set1_ps(1.0f)));
        for (int i = 0; i < n; ++i) {
            const Lanes<N> row = Lanes<N>::load(g + i * N);
            for (int s = 0; s < kFewSides; ++s)
                sums[s] = sums[s] + row * Lanes<N>::fill(factors[i][s]);
        }
    }
    for (int s = 0; s < n_sides; ++s) task.norms[first + s] += (sums[s] * sums[s]).sum();
}
#endif

template <int N>
void side_norms(const SideTask& task) {
#if defined(__AVX512F__)
    if (task.are_few && task.gradient.n_blocks == 1) {
        for (int first = 0; first < task.n_sides; first += kFewSides)
            few_side_norms<N>(task, first);
        return;
    }
#endif
    constexpr int kMost = 4 / Lanes<N>::M > 0 ? 4 / Lanes<N>::M : 1;
    const float* g = task.gradient.data;
    int32_t left = task.gradient.n_blocks;
    auto run = [&](auto blocks) {
        constexpr int B = decltype(blocks)::value;
        side_norms_of_blocks<N, B>(task, g);
        g += B * task.gradient.block_stride;
        left -= B;
    };
    while (left >= kMost) run(Constant<kMost>{});
    if constexpr (kMost > 2) {
        if (left == 3) run(Constant<3>{});
        if (left == 2) run(Constant<2>{});
    }
    if (left == 1) run(Constant<1>{});
}

}  // namespace polyleaf::POLYLEAF_ISA
