// Prefix sums over sorted rows: small nodes, exact splits, random cuts and sparse features.
#pragma once

#include "kernels/kernels.hpp"
#include "kernels/lanes.inl"

namespace polyleaf::POLYLEAF_ISA {

template <int N>
void walk(const WalkTask& task) {
    const int32_t n_blocks = task.gradient.n_blocks;
    for (int32_t block = 0; block < n_blocks; ++block) {
        const float* const g = task.gradient.data + block * task.gradient.block_stride;
        Lanes<N> prefix = Lanes<N>::zero();
        for (int64_t i = 0; i < task.n_initial; ++i)
            prefix = prefix + Lanes<N>::load(g + int64_t{task.initial[i]} * N);
        uint32_t i = 0;
        for (int64_t group = 0; group < task.n_groups; ++group) {
            for (; i < task.ends[group]; ++i)
                prefix = prefix + Lanes<N>::load(g + int64_t{task.order[i]} * N);
            float* const out = task.partial + group * N;
            const Lanes<N> square = prefix * prefix;
            if (block + 1 == n_blocks)
                task.norms[group] =
                    block == 0 ? square.sum() : (Lanes<N>::load(out) + square).sum();
            else if (block == 0)
                square.store(out);
            else
                (Lanes<N>::load(out) + square).store(out);
        }
    }
}

template <int N>
void walk_double(const WalkTask& task) {
    for (int64_t group = 0; group < task.n_groups; ++group) task.norms[group] = 0.0;
    for (int32_t block = 0; block < task.gradient.n_blocks; ++block) {
        const float* const g = task.gradient.data + block * task.gradient.block_stride;
        double prefix[N] = {};
        for (int64_t i = 0; i < task.n_initial; ++i)
            for (int k = 0; k < N; ++k) prefix[k] += g[int64_t{task.initial[i]} * N + k];
        uint32_t i = 0;
        for (int64_t group = 0; group < task.n_groups; ++group) {
            for (; i < task.ends[group]; ++i)
                for (int k = 0; k < N; ++k) prefix[k] += g[int64_t{task.order[i]} * N + k];
            double norm = 0.0;
            for (int k = 0; k < N; ++k) norm += prefix[k] * prefix[k];
            task.norms[group] += norm;
        }
    }
}

// Scores of both sides with a weight per channel: `channel_score` of grow/criterion.hpp.
template <int N, typename Sum>
void walk_weighted(const WeightedWalkTask& task) {
    const WalkTask& w = task.walk;
    for (int64_t group = 0; group < w.n_groups; ++group) w.norms[group] = 0.0;
    const Sum lambda = task.l2_regularization;
    constexpr Sum kDust = sizeof(Sum) == sizeof(float) ? kDustFloat : kDustDouble;
    for (int32_t block = 0; block < w.gradient.n_blocks; ++block) {
        const float* const g = w.gradient.data + block * w.gradient.block_stride;
        const float* const h = task.hessian.data + block * task.hessian.block_stride;
        const double* const g_total = task.gradient_total + block * N;
        const double* const h_total = task.hessian_total + block * N;
        Sum a[N] = {}, ha[N] = {};
        auto add = [&](uint32_t row) {
            for (int k = 0; k < N; ++k) a[k] += g[int64_t{row} * N + k];
            for (int k = 0; k < N; ++k) ha[k] += h[int64_t{row} * N + k];
        };
        for (int64_t i = 0; i < w.n_initial; ++i) add(w.initial[i]);
        uint32_t i = 0;
        for (int64_t group = 0; group < w.n_groups; ++group) {
            for (; i < w.ends[group]; ++i) add(w.order[i]);
            Sum score[N];
            for (int k = 0; k < N; ++k) {
                const Sum dust = kDust * static_cast<Sum>(h_total[k]);
                const Sum b = static_cast<Sum>(g_total[k]) - a[k];
                const Sum hb = static_cast<Sum>(h_total[k]) - ha[k];
                const Sum left = ha[k] > dust ? a[k] * a[k] / (ha[k] + lambda) : Sum(0);
                const Sum right = hb > dust ? b * b / (hb + lambda) : Sum(0);
                score[k] = left + right;
            }
            Sum sum = 0;
            for (int k = 0; k < N; ++k) sum += score[k];
            w.norms[group] += sum;
        }
    }
}

}  // namespace polyleaf::POLYLEAF_ISA
