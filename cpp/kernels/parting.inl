// Moves the rows of a node to its two children, both in order.
#pragma once

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "kernels/doubles.inl"
#include "kernels/kernels.hpp"
#include "kernels/lanes.inl"

namespace polyleaf::POLYLEAF_ISA {

// Every row is stored on both sides, and only the pointer of its own side moves on. What a left
// pointer overwrites has been read.
template <int N>
void part_rows(const PartTask& task) {
    for (int32_t block = 0; block < task.values.n_blocks; ++block) {
        float* const values = task.values.data + block * task.values.block_stride;
        float* left = values;
        float* right = task.spill;
        for (int64_t i = 0; i < task.n_rows; ++i) {
            const Lanes<N> row = Lanes<N>::load(values + i * N);
            row.store(left);
            row.store(right);
            left += task.left[i] * N;
            right += (1 - task.left[i]) * N;
        }
        const std::size_t n_spilt = right - task.spill;
        if (n_spilt > 0) std::memcpy(left, task.spill, n_spilt * sizeof(float));
    }
}

inline void part_items(const PartItemsTask& task) {
    constexpr int kBytes = 4;
    const int64_t n = task.n_items;
    char* const items = static_cast<char*>(task.items);
    char* kept = items;
    char* spilt = static_cast<char*>(task.spill);
#if defined(__AVX512F__)
    for (int64_t i = 0; i < n; i += 16) {
        const __mmask16 all = static_cast<__mmask16>(n - i < 16 ? (1u << (n - i)) - 1 : 0xffff);
        const __mmask16 left = static_cast<__mmask16>(task.left[i / 64] >> i % 64);
        const __m512i item = _mm512_maskz_loadu_epi32(all, items + i * kBytes);
        const int n_left = __builtin_popcount(left);
        _mm512_mask_storeu_epi32(kept, static_cast<__mmask16>((1u << n_left) - 1),
                                 _mm512_maskz_compress_epi32(left, item));
        const __mmask16 right = static_cast<__mmask16>(all & ~left);
        _mm512_storeu_si512(spilt, _mm512_maskz_compress_epi32(right, item));
        kept += n_left * kBytes;
        spilt += __builtin_popcount(right) * kBytes;
    }
#else
    for (int64_t i = 0; i < n; ++i) {
        const int is_left = task.left[i / 64] >> i % 64 & 1;
        uint32_t item;
        std::memcpy(&item, items + i * kBytes, kBytes);
        std::memcpy(kept, &item, kBytes);
        std::memcpy(spilt, &item, kBytes);
        kept += is_left * kBytes;
        spilt += (1 - is_left) * kBytes;
    }
#endif
    std::memcpy(kept, task.spill, spilt - static_cast<char*>(task.spill));
}

// The rows of one child in a word, as bits. side: 0 = left, 1 = right.
inline uint64_t rows_of_side(const PartCentredTask& task, int64_t word, int side) {
    const int64_t n = task.n_rows - word * 64;
    const uint64_t left = task.left[word];
    return side == 0 ? left : ~left & (n < 64 ? (uint64_t{1} << n) - 1 : ~uint64_t{0});
}

// Two running sums do not wait for each other.
template <int N>
Doubles<N> sum_of_side(const PartCentredTask& task, const float* g, int side) {
    Doubles<N> even = Doubles<N>::zero(), odd = Doubles<N>::zero();
    for (int64_t word = 0; word * 64 < task.n_rows; ++word, g += 64 * N) {
        uint64_t rows = rows_of_side(task, word, side);
        while (rows) {
            even.add(Doubles<N>::load(g + __builtin_ctzll(rows) * N));
            rows &= rows - 1;
            if (!rows) break;
            odd.add(Doubles<N>::load(g + __builtin_ctzll(rows) * N));
            rows &= rows - 1;
        }
    }
    even.add(odd);
    return even;
}

// Squares of up to 64 rows in float32 are added up in double precision.
template <int N, bool Weighted>
void part_centred_block(PartCentredTask& task, float* g) {
    Doubles<N> means[2], squares[2];
    Lanes<N> shift[2];
    for (int side = 0; side < 2; ++side) {
        means[side] = squares[side] = Doubles<N>::zero();
        if (task.weight[side] > 0.0) {
            means[side] = sum_of_side<N>(task, g, side);
            means[side].multiply(1.0 / task.weight[side]);
        }
        shift[side] = means[side].narrowed();
    }
    float* to[2] = {g, task.spill};
    const float* weights[2] = {task.weights, task.weights ? task.weights + task.n_left : nullptr};
    alignas(64) float values[N];
    for (int64_t word = 0; word * 64 < task.n_rows; ++word) {
        const float* const from = g + word * 64 * N;
        // The left rows come last: they are written over what has been read.
        for (int side = 1; side >= 0; --side) {
            float* out = to[side];
            Lanes<N> part = Lanes<N>::zero();
            const Lanes<N> mean = shift[side];
            for (uint64_t rows = rows_of_side(task, word, side); rows; rows &= rows - 1) {
                Lanes<N> rest = Lanes<N>::load(from + __builtin_ctzll(rows) * N);
                if constexpr (Weighted) {
                    const float weight = *weights[side]++;
                    rest = rest - Lanes<N>::fill(weight) * mean;
                    part = part + rest * rest * Lanes<N>::fill(1.0f / weight);
                } else {
                    rest = rest - mean;
                    part = part + rest * rest;
                }
                rest.store(out);
                out += N;
            }
            to[side] = out;
            part.store(values);
            squares[side].add(Doubles<N>::load(values));
        }
    }
    std::memcpy(to[0], task.spill, (to[1] - task.spill) * sizeof(float));
    for (int side = 0; side < 2; ++side)
        task.impurity[side] +=
            squares[side].sum_above(means[side], task.rounding_share * task.weight[side]);
}

template <int N>
void part_centred(PartCentredTask& task) {
    for (int32_t block = 0; block < task.values.n_blocks; ++block) {
        float* const g = task.values.data + block * task.values.block_stride;
        if (task.weights)
            part_centred_block<N, true>(task, g);
        else
            part_centred_block<N, false>(task, g);
    }
}

}  // namespace polyleaf::POLYLEAF_ISA
