// The rows of one leaf in a round of boosting; loops over outputs are left to the vectoriser.
#pragma once

#include <cmath>
#include <cstring>

#include "kernels/kernels.hpp"
#include "kernels/lanes.inl"

namespace polyleaf::POLYLEAF_ISA {

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

using Floats = Native<kWidth>::type;
typedef int32_t Ints __attribute__((vector_size(kWidth * sizeof(int32_t))));
typedef uint8_t Bytes __attribute__((vector_size(kWidth)));

// The first n numbers, and zeros.
template <typename Vector, typename T>
inline Vector load_some(const T* numbers, int64_t n) {
    Vector v{};
    if (n == kWidth)
        std::memcpy(&v, numbers, kWidth * sizeof(T));
    else
        std::memcpy(&v, numbers, n * sizeof(T));
    return v;
}
inline void store_some(const Floats& v, float* numbers, int64_t n) {
    if (n == kWidth)
        std::memcpy(numbers, &v, sizeof(v));
    else
        std::memcpy(numbers, &v, n * sizeof(float));
}
// Ones (all bits) in the first n lanes.
inline Ints first_lanes(int64_t n) {
    Ints lanes{};
    for (int i = 0; i < kWidth; ++i) lanes[i] = i < n ? -1 : 0;
    return lanes;
}

// exp(x) for x <= 0 to a relative error of about 1e-7; 0 below -87.
inline Floats exp_negative(const Floats& x) {
    const Floats clipped = x > -87.0f ? x : Floats{} - 87.0f;
    // Adding and taking off 1.5 * 2^23 rounds to an integer.
    const Floats whole = (clipped * 1.44269504f + 12582912.0f) - 12582912.0f;
    const Floats rest = (clipped - whole * 0.693359375f) + whole * 2.12194440e-4f;
    Floats y = Floats{} + 1.9875691500e-4f;
    y = y * rest + 1.3981999507e-3f;
    y = y * rest + 8.3334519073e-3f;
    y = y * rest + 4.1665795894e-2f;
    y = y * rest + 1.6666665459e-1f;
    y = y * rest + 5.0000001201e-1f;
    y = y * rest * rest + rest + 1.0f;
    const Ints bits = (__builtin_convertvector(whole, Ints) + 127) << 23;
    Floats power;
    std::memcpy(&power, &bits, sizeof(power));
    return x > -87.0f ? y * power : Floats{};
}

// Sums of max(-z, 0) + log(factor): logarithms of products of up to 64 factors below 2 are taken
// at once.
class LogisticLoss {
  public:
    inline void add(const Floats& linear, const Floats& factor) {
        linear_ += linear;
        product_ *= factor;
        if (++n_factors_ == 64) flush();
    }
    inline void add_weighted(const Floats& linear, const Floats& factor, const float* weights,
                             int64_t n) {
        for (int64_t i = 0; i < n; ++i) total_ += weights[i] * (linear[i] + std::log(factor[i]));
    }
    // Of what comes from now on.
    inline void set_weight(double weight) {
        flush();
        weight_ = weight;
    }
    inline double total() {
        flush();
        return total_;
    }

  private:
    inline void flush() {
        if (n_factors_ == 0) return;
        double sum = 0.0;
        for (int i = 0; i < kWidth; ++i) sum += linear_[i] + std::log(product_[i]);
        total_ += weight_ * sum;
        linear_ = Floats{};
        product_ = Floats{} + 1.0f;
        n_factors_ = 0;
    }

    Floats linear_{}, product_ = Floats{} + 1.0f;
    int n_factors_ = 0;
    double weight_ = 1.0, total_ = 0.0;
};

// Moves the raw predictions f by the leaf's values, and makes the gradients y - sigmoid(f) anew.
// Returns the loss: with z = f for y = 1 and -f for y = 0, log(1 + exp(-z)) is
// max(-z, 0) + log(1 + exp(-|z|)).
inline double move_logistic_leaf(const LeafTask& task) {
    const int64_t d = task.n_outputs;
    LogisticLoss loss;
    auto move = [&](int64_t at, int64_t k, int64_t n, const Ints& is_there) {
        const Floats y =
            __builtin_convertvector(load_some<Bytes>(task.labels + at + k, n), Floats);
        const Floats moved =
            load_some<Floats>(task.raw + at + k, n) + load_some<Floats>(task.values + k, n);
        store_some(moved, task.raw + at + k, n);
        const Floats size = moved < 0.0f ? -moved : moved, small = exp_negative(-size);
        // sigmoid(f) is 1 / (1 + e) or e / (1 + e), e = exp(-|f|)
        const Floats one = Floats{} + 1.0f, factor = one + small;
        store_some(y - (moved >= 0.0f ? one : small) / factor, task.gradient + at + k, n);
        // |f| where f is on the wrong side of 0, else 0
        const Floats linear = ((moved < 0.0f) == (y > 0.0f)) ? size : Floats{};
        if (task.by_entry)
            loss.add_weighted(linear, factor, task.by_entry + at + k, n);
        else
            loss.add(linear, is_there ? factor : one);
    };
    const int64_t whole = d / kWidth * kWidth;
    const Ints all = first_lanes(kWidth), rest = first_lanes(d - whole);
    for (int64_t i = 0; i < task.n_rows; ++i) {
        prefetch_row(task, task.raw, i);
        const int64_t at = int64_t{task.rows[i]} * d;
        if (task.by_row) loss.set_weight(task.by_row[task.rows[i]]);
        for (int64_t k = 0; k < whole; k += kWidth) move(at, k, kWidth, all);
        if (whole < d) move(at, whole, d - whole, rest);
    }
    return loss.total();
}

}  // namespace polyleaf::POLYLEAF_ISA
