// Sums over a few rows each for many columns at once, in double precision: two-valued features.
#pragma once

#include "kernels/lanes.inl"
#include "ramify/kernels.hpp"

namespace ramify::RAMIFY_ISA {

typedef double double2 __attribute__((vector_size(16)));
typedef double double4 __attribute__((vector_size(32)));
typedef double double8 __attribute__((vector_size(64)));
typedef float float2 __attribute__((vector_size(8)));

// W floats become W doubles, a native vector of them.
template <int W>
struct Widened;
template <>
struct Widened<2> {
    using Narrow = float2;
    using Wide = double2;
};
template <>
struct Widened<4> {
    using Narrow = float4;
    using Wide = double4;
};
template <>
struct Widened<8> {
    using Narrow = float8;
    using Wide = double8;
};

template <int N>
void sum_columns(const ColumnsTask& task) {
    constexpr int W = N < kWidth / 2 ? N : kWidth / 2;
    constexpr int M = N / W;
    using Narrow = typename Widened<W>::Narrow;
    using Wide = typename Widened<W>::Wide;
    for (int32_t block = 0; block < task.gradient.n_blocks; ++block) {
        const float* const g = task.gradient.data + block * task.gradient.block_stride;
        Wide total[M];
        std::memcpy(total, task.total + block * N, sizeof(total));
        for (int64_t column = 0; column < task.n_columns; ++column) {
            const RowList& list = task.columns[column];
            Wide sum[M] = {};
            for (int64_t i = 0; i < list.n_rows; ++i) {
                const float* const row = g + int64_t{list.rows[i]} * N;
                for (int m = 0; m < M; ++m) {
                    Narrow values;
                    std::memcpy(&values, row + m * W, sizeof(values));
                    sum[m] += __builtin_convertvector(values, Wide);
                }
            }
            Wide norm = {}, product = {};
            for (int m = 0; m < M; ++m) {
                norm += sum[m] * sum[m];
                product += sum[m] * total[m];
            }
            double norm_sum = 0.0, product_sum = 0.0;
            for (int k = 0; k < W; ++k) norm_sum += norm[k], product_sum += product[k];
            task.norms[column] = block == 0 ? norm_sum : task.norms[column] + norm_sum;
            task.products[column] = block == 0 ? product_sum : task.products[column] + product_sum;
        }
    }
}

}  // namespace ramify::RAMIFY_ISA
