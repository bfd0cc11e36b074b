// As boosting.inl, by sums that are the same in any order: every summand is rounded to a multiple
// of a unit (ExactUnit) before it is added in double precision.
#pragma once

#include "kernels/boosting.inl"
#include "kernels/doubles.inl"

namespace polyleaf::POLYLEAF_ISA {

inline double rounded(double value, double magic) { return (value + magic) - magic; }

// Calls add_row(gradients, weights of entries or null, weight of the row) for every row.
template <typename AddRow>
void for_each_leaf_row(const LeafTask& task, AddRow&& add_row) {
    for (int64_t i = 0; i < task.n_rows; ++i) {
        if (task.gradient) prefetch_row(task, task.gradient, i);
        const int64_t row = task.rows[i];
        add_row(task.gradient ? task.gradient + row * task.n_outputs : nullptr,
                task.by_entry ? task.by_entry + row * task.n_outputs : nullptr,
                task.by_row ? task.by_row[row] : 1.0f);
    }
}

// Sums of few columns stay in registers, two rows apart so that they need not wait for each other.
template <int D, bool HasWeight>
void sum_few_exactly(const LeafTask& task) {
    double sums[2][D] = {}, magic[D];
    for (int k = 0; k < D; ++k) magic[k] = task.magic[k];
    auto add = [&](int64_t i, double* sum) {
        prefetch_row(task, task.gradient, i);
        const int64_t row = task.rows[i];
        const float* const g = task.gradient + row * D;
        for (int k = 0; k < D; ++k) {
            double value = g[k];
            if (HasWeight) value *= task.by_entry ? task.by_entry[row * D + k] : task.by_row[row];
            sum[k] += rounded(value, magic[k]);
        }
    };
    int64_t i = 0;
    for (; i + 2 <= task.n_rows; i += 2) {
        add(i, sums[0]);
        add(i + 1, sums[1]);
    }
    if (i < task.n_rows) add(i, sums[0]);
    for (int k = 0; k < D; ++k) task.sums[k] += sums[0][k] + sums[1][k];
}

// M vectors of columns from `first` on.
template <int M>
void sum_vectors_exactly(const LeafTask& task, int64_t first) {
    constexpr int kHalf = kWidth / 2;
    using Pair = NativePair<kHalf>;
    typename Pair::doubles sums[M] = {}, magic[M];
    std::memcpy(magic, task.magic + first, sizeof(magic));
    for (int64_t i = 0; i < task.n_rows; ++i) {
        if (i + kRowsAhead < task.n_rows)
            __builtin_prefetch(task.gradient + task.rows[i + kRowsAhead] * task.n_outputs + first);
        const int64_t row = task.rows[i], at = row * task.n_outputs + first;
        typename Pair::floats g[M], w[M];
        std::memcpy(g, task.gradient + at, sizeof(g));
        if (task.by_entry) std::memcpy(w, task.by_entry + at, sizeof(w));
        const double of_row = task.by_row ? task.by_row[row] : 1.0;
        for (int v = 0; v < M; ++v) {
            typename Pair::doubles value = Pair::widen(g[v]) * of_row;
            if (task.by_entry) value *= Pair::widen(w[v]);
            sums[v] += (value + magic[v]) - magic[v];
        }
    }
    for (int v = 0; v < M; ++v)
        for (int k = 0; k < kHalf; ++k) task.sums[first + v * kHalf + k] += sums[v][k];
}

inline void sum_leaf_exactly(const LeafTask& task) {
    constexpr int kHalf = kWidth / 2, kMany = 8;
    const int64_t d = task.n_outputs;
    const bool has_weight = task.by_row || task.by_entry;
    auto few = [&](auto n) {
        return has_weight ? sum_few_exactly<n.value, true>(task)
                          : sum_few_exactly<n.value, false>(task);
    };
    if (d == 1) return few(Constant<1>{});
    if (d == 2) return few(Constant<2>{});
    if (d == 3) return few(Constant<3>{});
    if (d == 4) return few(Constant<4>{});
    int64_t k = 0;
    for (; k + kMany * kHalf <= d; k += kMany * kHalf) sum_vectors_exactly<kMany>(task, k);
    for (; k + 2 * kHalf <= d; k += 2 * kHalf) sum_vectors_exactly<2>(task, k);
    for (; k + kHalf <= d; k += kHalf) sum_vectors_exactly<1>(task, k);
    if (k == d) return;
    for_each_leaf_row(task, [&](const float* g, const float* w, float row) {
        for (int64_t j = k; j < d; ++j)
            task.sums[j] += rounded(double{w ? w[j] : row} * g[j], task.magic[j]);
    });
}

// The weight of the rows in every output.
inline void weigh_leaf_exactly(const LeafTask& task) {
    const int64_t d = task.n_outputs;
    double* const __restrict sum = task.curvature;
    const double* const __restrict magic = task.magic + d;
    if (!task.by_entry && !task.by_row) {
        for (int64_t k = 0; k < d; ++k) sum[k] += static_cast<double>(task.n_rows);
        return;
    }
    LeafTask weights = task;
    weights.gradient = nullptr;
    for_each_leaf_row(weights, [&](const float*, const float* __restrict w, float row) {
        for (int64_t k = 0; k < d; ++k) sum[k] += rounded(w ? w[k] : row, magic[k]);
    });
}

inline void sum_logistic_leaf_exactly(const LeafTask& task) {
    const int64_t d = task.n_outputs;
    double* const __restrict sum = task.sums;
    double* const __restrict curvature = task.curvature;
    const double* const __restrict magic = task.magic;
    for_each_leaf_row(task, [&](const float* __restrict g, const float* __restrict w, float row) {
        for (int64_t k = 0; k < d; ++k) {
            const double weight = w ? w[k] : row, slope = g[k];
            const double size = slope < 0.0 ? -slope : slope;
            sum[k] += rounded(weight * slope, magic[k]);
            curvature[k] += rounded(weight * (size - size * size), magic[d + k]);
        }
    });
}

// Several rows side by side: the steps of one wait for each other. A row's sums are added up in
// the order of its columns, whatever stands beside it.
template <int kRows>
void project_side_by_side(const ProjectTask& task, int64_t row) {
    constexpr int kParts = kProjectLanes / kWidth;
    Floats sums[kRows][kParts] = {};
    const float* const values = task.values + row * task.n_columns;
    for (int64_t k = 0; k < task.n_columns; ++k)
        for (int part = 0; part < kParts; ++part) {
            const Floats factors =
                load_some<Floats>(task.matrix + k * kProjectLanes + part * kWidth, kWidth);
            for (int i = 0; i < kRows; ++i)
                sums[i][part] += values[i * task.n_columns + k] * factors;
        }
    for (int i = 0; i < kRows; ++i)
        for (int part = 0; part * kWidth < task.n_out; ++part) {
            const int64_t n = task.n_out - part * kWidth;
            store_some(sums[i][part], task.out + (row + i) * task.out_stride + part * kWidth,
                       n < kWidth ? n : kWidth);
        }
}

inline void project_rows(const ProjectTask& task) {
    constexpr int kRows = kWidth / 2;  // eight sums at a time, whatever their width
    int64_t row = 0;
    for (; row + kRows <= task.n_rows; row += kRows) project_side_by_side<kRows>(task, row);
    for (; row < task.n_rows; ++row) project_side_by_side<1>(task, row);
}

// log(factor) for 1 <= factor <= 2 to an error of about 1e-7: 2 artanh(s), s the ratio of
// factor - 1 to factor + 1.
inline Floats log_of_factor(const Floats& factor) {
    const Floats s = (factor - 1.0f) / (factor + 1.0f), square = s * s;
    Floats y = Floats{} + 1.0f / 11.0f;
    y = y * square + 1.0f / 9.0f;
    y = y * square + 1.0f / 7.0f;
    y = y * square + 1.0f / 5.0f;
    y = y * square + 1.0f / 3.0f;
    y = y * square + 1.0f;
    return 2.0f * s * y;
}

// The loss of a row is added up in the order of its outputs, and rounded before it is added.
inline double move_logistic_leaf_exactly(const LeafTask& task) {
    const int64_t d = task.n_outputs;
    double total = 0.0;
    for (int64_t i = 0; i < task.n_rows; ++i) {
        prefetch_row(task, task.raw, i);
        const int64_t at = int64_t{task.rows[i]} * d;
        double of_row = 0.0;
        for (int64_t k = 0; k < d; k += kWidth) {
            const int64_t n = d - k < kWidth ? d - k : kWidth;
            const Floats y =
                __builtin_convertvector(load_some<Bytes>(task.labels + at + k, n), Floats);
            const Floats moved =
                load_some<Floats>(task.raw + at + k, n) + load_some<Floats>(task.values + k, n);
            store_some(moved, task.raw + at + k, n);
            const Floats size = moved < 0.0f ? -moved : moved, small = exp_negative(-size);
            const Floats one = Floats{} + 1.0f, factor = one + small;
            store_some(y - (moved >= 0.0f ? one : small) / factor, task.gradient + at + k, n);
            const Floats linear = ((moved < 0.0f) == (y > 0.0f)) ? size : Floats{};
            const Floats loss = linear + log_of_factor(factor);
            const float* const w = task.by_entry ? task.by_entry + at + k : nullptr;
            for (int64_t j = 0; j < n; ++j) of_row += w ? double{w[j]} * loss[j] : loss[j];
        }
        if (task.by_row) of_row *= task.by_row[task.rows[i]];
        total += rounded(of_row, task.loss_magic);
    }
    return total;
}

}  // namespace polyleaf::POLYLEAF_ISA
