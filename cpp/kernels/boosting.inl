// The rows of one leaf in a round of boosting; loops over outputs are left to the vectoriser.
#pragma once

#include <cmath>
#include <cstring>

#include "ramify/kernels.hpp"

namespace ramify::RAMIFY_ISA {

// Rows lie far apart: ask for them a few ahead.
constexpr int64_t kRowsAhead = 8;
// Sums in float32 over no more rows than this, then in double precision.
constexpr int64_t kFloatRows = 256;

inline void prefetch_row(const LeafTask& task, const float* values, int64_t i) {
    if (i + kRowsAhead < task.n_rows)
        __builtin_prefetch(values + task.rows[i + kRowsAhead] * task.n_outputs);
}

// Adds `entry(k)` of up to kFloatRows rows at a time to the double sums.
template <typename AddRow>
void in_chunks(const LeafTask& task, int n_sums, AddRow&& add_row) {
    const int64_t d = task.n_outputs;
    for (int64_t begin = 0; begin < task.n_rows; begin += kFloatRows) {
        const int64_t end = begin + kFloatRows < task.n_rows ? begin + kFloatRows : task.n_rows;
        for (int64_t k = 0; k < n_sums * d; ++k) task.scratch[k] = 0.0f;
        for (int64_t i = begin; i < end; ++i) add_row(i);
        for (int64_t k = 0; k < d; ++k) task.sums[k] += task.scratch[k];
        if (n_sums == 2)
            for (int64_t k = 0; k < d; ++k) task.curvature[k] += task.scratch[d + k];
    }
}

inline void sum_leaf(const LeafTask& task) {
    const int64_t d = task.n_outputs;
    float* const __restrict sum = task.scratch;
    in_chunks(task, 1, [&](int64_t i) {
        prefetch_row(task, task.gradient, i);
        const int64_t row = task.rows[i];
        const float* const __restrict g = task.gradient + row * d;
        if (task.by_entry) {
            const float* const __restrict w = task.by_entry + row * d;
            for (int64_t k = 0; k < d; ++k) sum[k] += w[k] * g[k];
        } else if (task.by_row) {
            const float w = task.by_row[row];
            for (int64_t k = 0; k < d; ++k) sum[k] += w * g[k];
        } else {
            for (int64_t k = 0; k < d; ++k) sum[k] += g[k];
        }
    });
}

inline void add_to_leaf(const LeafTask& task) {
    const int64_t d = task.n_outputs;
    const float* const __restrict v = task.values;
    for (int64_t i = 0; i < task.n_rows; ++i) {
        prefetch_row(task, task.raw, i);
        float* const __restrict f = task.raw + task.rows[i] * d;
        for (int64_t k = 0; k < d; ++k) f[k] += v[k];
    }
}

inline void take_from_leaf(const LeafTask& task) {
    const int64_t d = task.n_outputs;
    const float* const __restrict v = task.values;
    for (int64_t i = 0; i < task.n_rows; ++i) {
        prefetch_row(task, task.gradient, i);
        float* const __restrict g = task.gradient + task.rows[i] * d;
        for (int64_t k = 0; k < d; ++k) g[k] -= v[k];
    }
}

// With p the probability and g = y - p the negative gradient, p (1 - p) is |g| (1 - |g|).
inline void sum_logistic_leaf(const LeafTask& task) {
    const int64_t d = task.n_outputs;
    float* const __restrict sum = task.scratch;
    float* const __restrict curvature = task.scratch + d;
    in_chunks(task, 2, [&](int64_t i) {
        prefetch_row(task, task.gradient, i);
        const int64_t row = task.rows[i];
        const float* const __restrict g = task.gradient + row * d;
        if (task.by_entry) {
            const float* const __restrict w = task.by_entry + row * d;
            for (int64_t k = 0; k < d; ++k) {
                const float size = std::fabs(g[k]);
                sum[k] += w[k] * g[k];
                curvature[k] += w[k] * (size - size * size);
            }
        } else {
            const float w = task.by_row ? task.by_row[row] : 1.0f;
            for (int64_t k = 0; k < d; ++k) {
                const float size = std::fabs(g[k]);
                sum[k] += w * g[k];
                curvature[k] += w * (size - size * size);
            }
        }
    });
}

// exp(x) for x <= 0 to a relative error of about 1e-7; 0 below -87.
inline float exp_negative(float x) {
    const float clipped = x > -87.0f ? x : -87.0f;
    // Adding and taking off 1.5 * 2^23 rounds to an integer.
    const float whole = (clipped * 1.44269504f + 12582912.0f) - 12582912.0f;
    const float rest = (clipped - whole * 0.693359375f) + whole * 2.12194440e-4f;
    float y = 1.9875691500e-4f;
    y = y * rest + 1.3981999507e-3f;
    y = y * rest + 8.3334519073e-3f;
    y = y * rest + 4.1665795894e-2f;
    y = y * rest + 1.6666665459e-1f;
    y = y * rest + 5.0000001201e-1f;
    y = y * rest * rest + rest + 1.0f;
    int32_t bits = (static_cast<int32_t>(whole) + 127) << 23;
    float power;
    std::memcpy(&power, &bits, sizeof(power));
    return x > -87.0f ? y * power : 0.0f;
}

// Moves the raw predictions f by the leaf's values, and makes the gradients y - sigmoid(f) anew.
// Returns the loss: with z = f for y = 1 and -f for y = 0, log(1 + exp(-z)) is
// max(-z, 0) + log(1 + exp(-|z|)); logarithms of products of up to 64 factors below 2 are taken
// at once where all entries weigh the same.
inline double move_logistic_leaf(const LeafTask& task) {
    const int64_t d = task.n_outputs;
    const float* const __restrict v = task.values;
    float* const __restrict linear = task.scratch;
    float* const __restrict product = task.scratch + d;
    double loss = 0.0;
    for (int64_t begin = 0; begin < task.n_rows; begin += 64) {
        const int64_t end = begin + 64 < task.n_rows ? begin + 64 : task.n_rows;
        for (int64_t k = 0; k < d; ++k) linear[k] = 0.0f, product[k] = 1.0f;
        for (int64_t i = begin; i < end; ++i) {
            prefetch_row(task, task.raw, i);
            const int64_t at = int64_t{task.rows[i]} * d;
            float* const __restrict f = task.raw + at;
            float* const __restrict g = task.gradient + at;
            const uint8_t* const __restrict y = task.labels + at;
            for (int64_t k = 0; k < d; ++k) {
                const float moved = f[k] + v[k];
                f[k] = moved;
                const float size = std::fabs(moved), small = exp_negative(-size);
                // sigmoid(f) is 1 / (1 + e) or e / (1 + e), e = exp(-|f|)
                const float p = (moved >= 0.0f ? 1.0f : small) / (1.0f + small);
                g[k] = static_cast<float>(y[k]) - p;
                const float z = y[k] ? moved : -moved;
                linear[k] += z < 0.0f ? -z : 0.0f;
                product[k] *= 1.0f + small;
            }
            if (!task.by_row && !task.by_entry) continue;
            for (int64_t k = 0; k < d; ++k) {
                const double w = task.by_entry ? task.by_entry[at + k] : task.by_row[task.rows[i]];
                loss += w * (linear[k] + std::log(product[k]));
                linear[k] = 0.0f, product[k] = 1.0f;
            }
        }
        for (int64_t k = 0; k < d; ++k) loss += linear[k] + std::log(product[k]);
    }
    return loss;
}

}  // namespace ramify::RAMIFY_ISA
