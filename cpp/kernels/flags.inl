// Sums of channels over flagged rows, for several sets of flags at once.
#pragma once

#include "kernels/lanes.inl"
#include "ramify/kernels.hpp"

namespace ramify::RAMIFY_ISA {

// A small matrix product: as many columns per pass as the registers hold.
template <int N>
void flagged_norms(const FlagTask& task) {
    constexpr int kRegisters = kWidth == 16 ? 16 : 8;
    constexpr int kAtOnce =
        kRegisters / Lanes<N>::M < kFlagColumns ? kRegisters / Lanes<N>::M : kFlagColumns;
    for (int32_t block = 0; block < task.gradient.n_blocks; ++block) {
        const float* const g = task.gradient.data + block * task.gradient.block_stride;
        for (int first = 0; first < kFlagColumns; first += kAtOnce) {
            Lanes<N> sums[kAtOnce];
            for (int c = 0; c < kAtOnce; ++c) sums[c] = Lanes<N>::zero();
            const float* flags[kAtOnce];
            for (int c = 0; c < kAtOnce; ++c) flags[c] = task.flags + (first + c) * task.n_rows;
            for (int64_t i = 0; i < task.n_rows; ++i) {
                const Lanes<N> row = Lanes<N>::load(g + i * N);
                for (int c = 0; c < kAtOnce; ++c)
                    sums[c] = sums[c] + Lanes<N>::fill(flags[c][i]) * row;
            }
            for (int c = 0; c < kAtOnce; ++c) task.norms[first + c] += (sums[c] * sums[c]).sum();
        }
    }
}

}  // namespace ramify::RAMIFY_ISA
