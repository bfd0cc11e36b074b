// Partial dependence: what trees predict while one or two features take the values of a grid and
// all others keep those of the rows.
//
// Which values of the grid reach a leaf does not depend on the row, only whether the row passes
// the splits on all other features. So a row goes down a tree once for the whole grid, to both
// sides of splits on a chosen feature, and a leaf's value is added to the ranges of the grid that
// reach it: at both ends of a range, as a difference, for the caller to sum up.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/parallel.hpp"
#include "explain/paths.hpp"

namespace polyleaf {

// The values that a feature takes; feature -1 stands for no feature, with one value.
struct GridAxis {
    int32_t feature = -1;
    const double* values = nullptr;  // (n_values,)
    int64_t n_values = 1;
};

class DependenceTrees {
  public:
    // The arrays must outlive this object. Throws unless they form trees.
    explicit DependenceTrees(const TreeArrays& arrays);

    int64_t n_trees() const { return static_cast<int64_t>(trees_.size()); }
    int32_t n_features() const { return n_features_; }
    int64_t n_leaves(int64_t first, int64_t last) const {
        return leaf_offsets_[last] - leaf_offsets_[first];
    }

    template <typename T>
    struct Task {
        int64_t first = 0, last = 0;     // the trees
        std::array<GridAxis, 2> axes;    // of two different features
        const T* X = nullptr;            // IN (n_rows, n_features), encoded
        const T* columns = nullptr;      // IN (n_features, n_rows), the same; for count_rows
        int64_t n_rows = 0;              // below 2^31
        const double* values = nullptr;  // IN (n_leaves(first, last), n_columns)
        int64_t n_columns = 0;
    };

    // leaf_weights (n_leaves(first, last),) is increased by the weight
    // of the rows that reach each leaf with some value of the grid; weights (n_rows,) or null: 1.
    template <typename T>
    void count_rows(const Task<T>& task, const double* weights, double* leaf_weights,
                    ThreadTeam& team) const;

    // differences (n_0, n_1, n_columns), n_a values on axis a, is increased by the sum over the
    // leaves of their weight times their values.
    template <typename T>
    void add_leaves(const Task<T>& task, const double* leaf_weights, double* differences,
                    ThreadTeam& team) const;

    // The same for all trees, and leaves that hold rows, whose means are not made first. Each tree
    // counts by its row of tree_weights (n_trees, n_channels), or null: 1.
    template <typename T>
    void add_leaf_rows(const Task<T>& task, const double* leaf_weights, const LeafAverages& leaves,
                       const double* tree_weights, double* differences, ThreadTeam& team) const;

    // differences (n_rows, n_0 * n_1, n_columns): every row's own.
    template <typename T>
    void add_rows(const Task<T>& task, double* differences, ThreadTeam& team) const;

  private:
    // The same on values, for trees that have no codes.
    template <typename T>
    void count_values(const Task<T>& task, const double* weights, double* leaf_weights,
                      ThreadTeam& team) const;

    // for_parts(leaf among all of the task, add(factor, values)) gives what a leaf is made of.
    template <typename T, typename ForParts>
    void add_parts(const Task<T>& task, int64_t n_columns, const double* leaf_weights,
                   const double* tree_weights, double* differences, ThreadTeam& team,
                   ForParts&& for_parts) const;

    Predictor predictor_;
    std::unique_ptr<CodedTrees> coded_;  // null: too many thresholds
    int32_t n_features_;
    std::vector<SplitTree> trees_;
    std::vector<int64_t> leaf_offsets_;  // (n_trees + 1,)
};

}  // namespace polyleaf
