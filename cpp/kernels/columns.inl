// Sums over a few rows each for many columns at once, in double precision: two-valued features.
#pragma once

#include "kernels/doubles.inl"
#include "kernels/kernels.hpp"

namespace polyleaf::POLYLEAF_ISA {

template <int N>
void sum_columns(const ColumnsTask& task) {
    for (int32_t block = 0; block < task.gradient.n_blocks; ++block) {
        const float* const g = task.gradient.data + block * task.gradient.block_stride;
        const auto total = Doubles<N>::load(task.total + block * N);
        for (int64_t column = 0; column < task.n_columns; ++column) {
            const RowList& list = task.columns[column];
            Doubles<N> sum = Doubles<N>::zero();
            for (int64_t i = 0; i < list.n_rows; ++i)
                sum.add(Doubles<N>::load(g + int64_t{list.rows[i]} * N));
            const double norm = sum.dot(sum), product = sum.dot(total);
            task.norms[column] = block == 0 ? norm : task.norms[column] + norm;
            task.products[column] = block == 0 ? product : task.products[column] + product;
        }
    }
}

template <int N>
void sum_entries(const EntrySumsTask& task) {
    for (int64_t i = 0; i < task.n_rows; ++i) {
        const auto row = Doubles<N>::load(task.gradient + i * N);
        const double weight = task.weights ? task.weights[i] : 1.0;
        const int64_t end = task.indptr[task.rows[i] + 1];
        for (int64_t e = task.indptr[task.rows[i]]; e < end; ++e) {
            const int32_t slot = task.slots[e];
            double* const sum = task.sums + int64_t{slot} * N;
            auto moved = Doubles<N>::load(sum);
            moved.add(row);
            moved.store(sum);
            task.weight_sums[slot] += weight;
            ++task.counts[slot];
        }
    }
}

template <int N>
void norms_of_sums(const SumNormsTask& task) {
    const auto total = Doubles<N>::load(task.total);
    for (int64_t i = 0; i < task.n_sums; ++i) {
        const auto sum = Doubles<N>::load(task.sums + i * N);
        task.norms[i] = sum.dot(sum);
        task.products[i] = sum.dot(total);
    }
}

}  // namespace polyleaf::POLYLEAF_ISA
