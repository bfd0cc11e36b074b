// The channels of a node's rows: centring them, parting them into two children, and multiplying
// them with each other.
#pragma once

#include "kernels/doubles.inl"
#include "ramify/kernels.hpp"

namespace ramify::RAMIFY_ISA {

// Adds the squares of the rows after subtracting weight * mean from them, over the weight. Sums of
// a few rows in float32 are added up in double precision.
template <int N, bool Weighted>
Doubles<N> subtract(float* g, const float* weights, int64_t n, const Lanes<N>& mean) {
    constexpr int64_t kFewRows = 16;
    Doubles<N> squares = Doubles<N>::zero();
    alignas(64) float values[N];
    for (int64_t begin = 0; begin < n; begin += kFewRows) {
        const int64_t end = begin + kFewRows < n ? begin + kFewRows : n;
        Lanes<N> part = Lanes<N>::zero();
        for (int64_t i = begin; i < end; ++i) {
            Lanes<N> rest = Lanes<N>::load(g + i * N);
            if constexpr (Weighted) {
                rest = rest - Lanes<N>::fill(weights[i]) * mean;
                part = part + rest * rest * Lanes<N>::fill(1.0f / weights[i]);
            } else {
                rest = rest - mean;
                part = part + rest * rest;
            }
            rest.store(g + i * N);
        }
        part.store(values);
        squares.add(Doubles<N>::load(values));
    }
    return squares;
}

// Squares of what is left after centring, rather than the difference of squares and squared sum,
// which would lose the digits that matter in a node of nearly equal rows.
template <int N>
double centre(const CentreTask& task) {
    const int64_t n = task.n_rows;
    double result = 0.0;
    for (int32_t block = 0; block < task.gradient.n_blocks; ++block) {
        float* const g = task.gradient.data + block * task.gradient.block_stride;
        // Two running sums do not wait for each other.
        Doubles<N> mean = Doubles<N>::zero(), odd = Doubles<N>::zero();
        int64_t i = 0;
        for (; i + 2 <= n; i += 2) {
            mean.add(Doubles<N>::load(g + i * N));
            odd.add(Doubles<N>::load(g + (i + 1) * N));
        }
        if (i < n) mean.add(Doubles<N>::load(g + i * N));
        mean.add(odd);
        mean.multiply(1.0 / task.weight);
        const Doubles<N> squares = task.weights
                                       ? subtract<N, true>(g, task.weights, n, mean.narrowed())
                                       : subtract<N, false>(g, nullptr, n, mean.narrowed());
        result += squares.sum_above(mean, task.rounding_share * task.weight);
    }
    return result;
}

// A row times all before it: their sums do not wait for each other.
template <int N>
void row_products(const ProductTask& task) {
    using D = Doubles<N>;
    for (int i = 0; i < task.n_rows; ++i) {
        typename D::V sums[kMostProductRows] = {};
        for (int32_t block = 0; block < task.gradient.n_blocks; ++block) {
            const float* const g = task.gradient.data + block * task.gradient.block_stride;
            const D row = D::load(g + i * N);
            for (int j = 0; j <= i; ++j) {
                const D other = D::load(g + j * N);
                for (int m = 0; m < D::M; ++m) sums[j] += row.v[m] * other.v[m];
            }
        }
        for (int j = 0; j <= i; ++j) task.products[i * kMostProductRows + j] = sum_of(sums[j]);
    }
}

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
        std::memcpy(left, task.spill, (right - task.spill) * sizeof(float));
    }
}

}  // namespace ramify::RAMIFY_ISA
