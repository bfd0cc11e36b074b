// Shapley values of trees, exact and for all outputs at once.
//
// A leaf is a product of one factor per feature above it, so that its part of the game in which
// features join one by one is v(S) = value * prod_{j in S} s_j * prod_{j not in S} w_j: s_j tells
// whether the row passes all splits on feature j, w_j what takes its place while j is absent.
// Shapley's average over orders of joining is an integral over the share t of those who joined:
//
//     phi_i = value * (s_i - w_i) * int_0^1 prod_{j != i} (t s_j + (1 - t) w_j) dt,
//
// a polynomial in t, which Gauss's quadrature integrates exactly. Weights do not depend on the
// leaf's values: they are found once for all outputs. There are only 2^m patterns s of m features;
// for shallow trees the weights of every pattern are tabulated, and rows look them up.
//
// Path-dependent: w_j is the share of training rows that pass the splits on j, each counted at its
// own node. Interventional: absent features take the values of background rows; v(S) is their
// mean.
#pragma once

#include <cstdint>
#include <vector>

#include "base/parallel.hpp"
#include "explain/paths.hpp"

namespace polyleaf {

class ShapTrees {
  public:
    // The arrays must outlive this object, and have passed the checks of a Predictor.
    ShapTrees(const TreeArrays& arrays, const double* node_rows);

    int64_t n_trees() const { return static_cast<int64_t>(trees_.size()); }
    int32_t n_features() const { return n_features_; }
    int64_t n_leaves(int64_t first, int64_t last) const;

    template <typename T>
    struct Task {
        int64_t first = 0, last = 0;  // the trees
        const T* rows = nullptr;      // IN (n_rows, n_features)
        int64_t n_rows = 0;
        const T* background = nullptr;  // IN (n_background, n_features) or null: path-dependent
        int64_t n_background = 0;
        const float* values = nullptr;  // IN (n_leaves(first, last), n_values)
        int64_t n_values = 0;
        const int32_t* chosen = nullptr;  // IN (n_rows, n_columns) of the values, or null: all
        int64_t n_columns = 0;
        const int32_t* pairs = nullptr;  // IN (n_pairs, 2) features, or null
        int64_t n_pairs = 0;
        // IN OUT (n_rows, n_features or n_pairs, stride): columns `column` and on are added to
        float* contributions = nullptr;
        int64_t stride = 0, column = 0;
    };
    template <typename T>
    void add(const Task<T>& task, ThreadTeam& team) const;

  private:
    int32_t n_features_;
    std::vector<PathTree> trees_;
};

}  // namespace polyleaf
