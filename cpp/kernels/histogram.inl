// Histograms of a tile of four features by one block of channels, and their scans.
#pragma once

#include "kernels/kernels.hpp"
#include "kernels/lanes.inl"

namespace polyleaf::POLYLEAF_ISA {

// Four features per pass over the rows: a tile of 64 KB lives in the second-level cache, and still
// beats two tiles of half the size, which read rows and channels twice.
template <int N>
void build_ordered_histogram(const HistogramTask& task) {
    constexpr int64_t kFeatureStride = 256 * N;
    float* const histogram = task.histogram;
    for (int64_t i = 0; i < task.n_rows; ++i) {
        uint32_t codes;
        std::memcpy(&codes, task.codes[0] + i * 4, sizeof(codes));
        const Lanes<N> g = Lanes<N>::load(task.gradient + i * N);
        for (int lane = 0; lane < 4; ++lane) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
            const uint32_t code = codes >> (8 * lane) & 255;
#else
            const uint32_t code = codes >> (24 - 8 * lane) & 255;
#endif
            float* const h = histogram + lane * kFeatureStride + int64_t{code} * N;
            (Lanes<N>::load(h) + g).store(h);
        }
    }
}

template <int N>
void build_histogram(const HistogramTask& task) {
    if (!task.rows) return build_ordered_histogram<N>(task);
    constexpr int64_t kFeatureStride = 256 * N;
    float* const histogram = task.histogram;
    const uint8_t *const c0 = task.codes[0], *const c1 = task.codes[1], *const c2 = task.codes[2],
                         *const c3 = task.codes[3];
    const int32_t* const rows = task.rows;
    const float* const gradient = task.gradient;
    const int64_t n_rows = task.n_rows;
    for (int64_t i = 0; i < n_rows; ++i) {
        const int64_t at = int64_t{rows[i]} * 4;
        const Lanes<N> g = Lanes<N>::load(gradient + i * N);
        float* const h0 = histogram + int64_t{c0[at]} * N;
        float* const h1 = histogram + kFeatureStride + int64_t{c1[at]} * N;
        float* const h2 = histogram + 2 * kFeatureStride + int64_t{c2[at]} * N;
        float* const h3 = histogram + 3 * kFeatureStride + int64_t{c3[at]} * N;
        (Lanes<N>::load(h0) + g).store(h0);
        (Lanes<N>::load(h1) + g).store(h1);
        (Lanes<N>::load(h2) + g).store(h2);
        (Lanes<N>::load(h3) + g).store(h3);
    }
}

template <int N>
void scan_histogram(const ScanTask& task) {
    Lanes<N> prefix = task.initial ? Lanes<N>::load(task.initial) : Lanes<N>::zero();
    const Lanes<N> mean = Lanes<N>::load(task.mean);
    const Lanes<N> total = task.total ? Lanes<N>::load(task.total) : Lanes<N>::zero();
    using V = typename Lanes<N>::V;
    V products[4];
    auto step = [&](int64_t bin, int slot) {
        prefix = prefix + Lanes<N>::load(task.histogram + bin * N);
        products[slot] = (prefix * total).folded();
        const Lanes<N> centred = prefix - Lanes<N>::fill(task.prefix_weights[bin]) * mean;
        return (centred * centred).folded();
    };
    auto add_four = [](float* out, float4 sums) {
        float4 before;
        std::memcpy(&before, out, sizeof(before));
        before += sums;
        std::memcpy(out, &before, sizeof(before));
    };
    int64_t bin = 0;
    for (; bin + 4 <= task.n_bins; bin += 4) {
        const V a = step(bin, 0), b = step(bin + 1, 1), c = step(bin + 2, 2), d = step(bin + 3, 3);
        add_four(task.norms + bin, sums_of(a, b, c, d));
        if (task.total)
            add_four(task.products + bin,
                     sums_of(products[0], products[1], products[2], products[3]));
    }
    for (; bin < task.n_bins; ++bin) {
        task.norms[bin] += sum_of(step(bin, 0));
        if (task.total) task.products[bin] += sum_of(products[0]);
    }
}

// Scores of both sides with a weight per channel: `channel_score` of grow/criterion.hpp.
template <int N>
void scan_weighted(const WeightedScanTask& task) {
    Lanes<N> g = task.initial_gradient ? Lanes<N>::load(task.initial_gradient) : Lanes<N>::zero();
    Lanes<N> h = task.initial_hessian ? Lanes<N>::load(task.initial_hessian) : Lanes<N>::zero();
    const Lanes<N> mean = Lanes<N>::load(task.mean);
    const Lanes<N> h_total = Lanes<N>::load(task.hessian_total);
    const Lanes<N> g_total = Lanes<N>::load(task.gradient_total) - h_total * mean;
    const Lanes<N> lambda = Lanes<N>::fill(task.l2_regularization);
    const Lanes<N> dust = h_total * Lanes<N>::fill(kDustFloat);
    for (int64_t bin = 0; bin < task.n_bins; ++bin) {
        g = g + Lanes<N>::load(task.gradient + bin * N);
        h = h + Lanes<N>::load(task.hessian + bin * N);
        const Lanes<N> a = g - h * mean;
        const Lanes<N> b = g_total - a;
        Lanes<N> left = h, right = h_total - h;
        for (int i = 0; i < Lanes<N>::M; ++i) {
            left.v[i] = left.v[i] > dust.v[i] ? left.v[i] + lambda.v[i] : left.v[i] * 0.0f;
            right.v[i] = right.v[i] > dust.v[i] ? right.v[i] + lambda.v[i] : right.v[i] * 0.0f;
        }
        task.scores[bin] += (divide_positive(a * a, left) + divide_positive(b * b, right)).sum();
    }
}

}  // namespace polyleaf::POLYLEAF_ISA
