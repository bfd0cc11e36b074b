// Inner loops of Shapley values; see explain_kernels.hpp.
#pragma once

#include <cstdint>

#include "kernels/explain_kernels.hpp"
#include "kernels/lanes.inl"

namespace polyleaf::POLYLEAF_ISA {

template <int K>
inline void write_leaf_weights(const ShapWalkTask& task, int64_t leaf, const Lanes<K>& weighted) {
    using L = Lanes<K>;
    if (task.pair_offsets == nullptr) {
        for (int64_t e = task.path_offsets[leaf]; e < task.path_offsets[leaf + 1]; ++e) {
            const int32_t depth = task.path_depths[e];
            const L inverse = L::load(task.inverses + int64_t{depth} * K);
            task.weights[e] = task.gaps[depth] * (weighted * inverse).sum();
        }
        return;
    }
    for (int64_t e = task.pair_offsets[leaf]; e < task.pair_offsets[leaf + 1]; ++e) {
        const int32_t a = task.pair_depths[2 * e], b = task.pair_depths[2 * e + 1];
        const L both =
            L::load(task.inverses + int64_t{a} * K) * L::load(task.inverses + int64_t{b} * K);
        task.weights[e] = task.gaps[a] * task.gaps[b] * (weighted * both).sum();
    }
}

template <int K>
void walk_shap(const ShapWalkTask& task) {
    using L = Lanes<K>;
    const L points = L::load(task.points), omegas = L::load(task.omegas);
    const L one = L::fill(1.0f), rest = one - points;
    one.store(task.products);
    one.store(task.inverses);
    for (int64_t node = 0; node < task.n_nodes;) {
        if (!task.is_wanted[node]) {
            node = task.subtree_end[node];
            continue;
        }
        const int64_t depth = task.depth[node];
        L product = L::load(task.products + depth * K);
        if (node > 0) {
            const int64_t parent = task.parent[node], previous = task.previous[node];
            // An edge with the same feature above this one: its factor is replaced.
            const bool passed = previous == 0 || task.passes[previous];
            const bool passes = passed && (node == parent + 1) == (task.goes_left[parent] != 0);
            const float share = task.share[node];
            L factor = rest * L::fill(share);
            if (passes) factor = factor + points;
            const L inverse = divide_positive(one, factor);
            product = L::load(task.products + (depth - 1) * K) * factor;
            if (previous > 0) product = product * L::load(task.inverses + previous * K);
            product.store(task.products + depth * K);
            inverse.store(task.inverses + depth * K);
            task.passes[depth] = passes;
            task.gaps[depth] = passes - share;
        }
        if (task.leaf_index[node] >= 0)
            write_leaf_weights<K>(task, task.leaf_index[node], product * omegas);
        ++node;
    }
}

void walk_shap_of(const ShapWalkTask& task) {
    if (task.n_points <= 8)
        walk_shap<8>(task);
    else if (task.n_points <= 16)
        walk_shap<16>(task);
    else if (task.n_points <= 32)
        walk_shap<32>(task);
    else
        walk_shap<64>(task);
}

// Columns are added a few vectors at a time, so that a leaf's values stay in registers while its
// features pass by.
template <int N>
inline void add_leaf_columns(const ShapAddTask& task, int64_t leaf, const float* values,
                             int64_t column) {
    const Lanes<N> of_leaf = Lanes<N>::load(values + column);
    const float* const weights = task.weights[leaf];
    const int64_t first = task.path_offsets[leaf];
    const int64_t n = task.path_offsets[leaf + 1] - first;
    for (int64_t e = 0; e < n; ++e) {
        float* const at =
            task.contributions + task.path_features[first + e] * task.stride + column;
        (Lanes<N>::load(at) + of_leaf * Lanes<N>::fill(weights[e])).store(at);
    }
}

inline void add_leaf(const ShapAddTask& task, int64_t leaf, const float* values) {
    int64_t column = 0;
    for (; column + 64 <= task.n_columns; column += 64)
        add_leaf_columns<64>(task, leaf, values, column);
    for (; column + 16 <= task.n_columns; column += 16)
        add_leaf_columns<16>(task, leaf, values, column);
    for (; column + 4 <= task.n_columns; column += 4)
        add_leaf_columns<4>(task, leaf, values, column);
    const float* const weights = task.weights[leaf];
    const int64_t first = task.path_offsets[leaf];
    const int64_t n = task.path_offsets[leaf + 1] - first;
    for (; column < task.n_columns; ++column)
        for (int64_t e = 0; e < n; ++e)
            task.contributions[task.path_features[first + e] * task.stride + column] +=
                weights[e] * values[column];
}

void add_shap(const ShapAddTask& task) {
    constexpr int64_t kTogether = 64;
    for (int64_t leaf = 0; leaf < task.n_leaves; ++leaf) {
        if (task.weights[leaf] == nullptr) continue;
        const float* const values = task.values + leaf * task.value_stride;
        if (task.chosen == nullptr) {
            add_leaf(task, leaf, values);
            continue;
        }
        for (int64_t first = 0; first < task.n_columns; first += kTogether) {
            float some[kTogether];
            ShapAddTask part = task;
            part.n_columns =
                task.n_columns - first < kTogether ? task.n_columns - first : kTogether;
            part.contributions += first;
            for (int64_t c = 0; c < part.n_columns; ++c) some[c] = values[task.chosen[first + c]];
            add_leaf(part, leaf, some);
        }
    }
}

}  // namespace polyleaf::POLYLEAF_ISA
