#include "explain/dependence.hpp"

#include <algorithm>

namespace polyleaf {

namespace {

// Columns that one thread sums up, so that the sums do not depend on the number of threads.
constexpr int64_t kColumnsTogether = 16;
constexpr int64_t kRowsTogether = 64;
// So few rows of a node go down one by one: what is below the node, and a row, fit in the nearest
// cache, while each column would have to be fetched for every node.
constexpr int64_t kFewRows = 64;

// Consecutive values of a grid, [begin, end).
struct Range {
    int32_t begin, end;
};

// Which values of the grid reach the nodes of one tree.
class GridPaths {
  public:
    GridPaths(const SplitTree& tree, const std::array<GridAxis, 2>& axes)
        : leaf_index(tree.n_nodes, -1), is_reached(tree.n_nodes, 0) {
        for (int a = 0; a < 2; ++a) {
            ranges_[a].push_back({0, static_cast<int32_t>(axes[a].n_values)});
        }
        stack_.push_back({0, {{{0, 1}, {0, 1}}}});
        while (!stack_.empty()) {
            const Step step = stack_.back();
            stack_.pop_back();
            visit(tree, axes, step);
        }
    }

    std::vector<int32_t> leaf_index;  // (n_nodes,) -1: an inner node
    std::vector<uint8_t> is_reached;  // (n_nodes,) whether some value of the grid reaches it

    int64_t n_leaves() const { return static_cast<int64_t>(leaves_.size()); }

    // Calls add(cell, sign) for the corners of all ranges of a leaf; corners beyond the grid are
    // left out.
    template <typename Add>
    void for_corners(int64_t leaf, const std::array<GridAxis, 2>& axes, Add&& add) const {
        const int64_t n_0 = axes[0].n_values, n_1 = axes[1].n_values;
        const auto& [first, second] = leaves_[leaf];
        for (int64_t i = first.begin; i < first.end; ++i) {
            const Range r = ranges_[0][i];
            for (int64_t j = second.begin; j < second.end; ++j) {
                const Range s = ranges_[1][j];
                add(r.begin * n_1 + s.begin, 1.0);
                if (s.end < n_1) add(r.begin * n_1 + s.end, -1.0);
                if (r.end < n_0) add(r.end * n_1 + s.begin, -1.0);
                if (r.end < n_0 && s.end < n_1) add(r.end * n_1 + s.end, 1.0);
            }
        }
    }

  private:
    using RangesOfAxes = std::array<Range, 2>;  // which of ranges_[a], for both axes
    struct Step {
        int32_t node;
        RangesOfAxes ranges;
    };

    void visit(const SplitTree& tree, const std::array<GridAxis, 2>& axes, const Step& step) {
        const int32_t node = step.node;
        const auto& [first, second] = step.ranges;
        is_reached[node] = first.begin < first.end && second.begin < second.end;
        if (tree.feature[node] < 0) {
            leaf_index[node] = static_cast<int32_t>(leaves_.size());
            leaves_.push_back(step.ranges);
            return;
        }
        Step left = step, right = step;
        left.node = node + 1;
        right.node = tree.right[node];
        for (int a = 0; a < 2; ++a) {
            if (tree.feature[node] != axes[a].feature) continue;
            right.ranges[a] = split(tree, node, axes[a], step.ranges[a], false, a);
            left.ranges[a] = split(tree, node, axes[a], step.ranges[a], true, a);
        }
        stack_.push_back(right);
        stack_.push_back(left);  // visited first: leaves are counted in preorder
    }

    // Cuts the ranges of a node to what goes to one side.
    Range split(const SplitTree& tree, int32_t node, const GridAxis& axis, Range of_node,
                bool to_left, int a) {
        const int32_t first = static_cast<int32_t>(ranges_[a].size());
        for (int32_t i = of_node.begin; i < of_node.end; ++i) {
            const Range range = ranges_[a][i];
            int32_t begin = -1;
            for (int32_t g = range.begin; g < range.end; ++g) {
                const bool passes = tree.goes_left(node, axis.values[g]) == to_left;
                if (passes && begin < 0) begin = g;
                if (!passes && begin >= 0) {
                    ranges_[a].push_back({begin, g});
                    begin = -1;
                }
            }
            if (begin >= 0) ranges_[a].push_back({begin, range.end});
        }
        return {first, static_cast<int32_t>(ranges_[a].size())};
    }

    std::array<std::vector<Range>, 2> ranges_;
    std::vector<RangesOfAxes> leaves_;  // (n_leaves,)
    std::vector<Step> stack_;
};

bool is_chosen(const std::array<GridAxis, 2>& axes, int32_t feature) {
    return feature == axes[0].feature || feature == axes[1].feature;
}

// Parts the rows of a node between its children, node by node.
template <typename T>
class RowCounter {
  public:
    RowCounter(const DependenceTrees::Task<T>& task, const SplitTree& tree, const GridPaths& paths,
               int64_t n_features, const double* weights, double* leaf_weights)
        : task_(task),
          n_features_(n_features),
          tree_(tree),
          paths_(paths),
          weights_(weights),
          leaf_weights_(leaf_weights) {}

    void count(std::vector<int32_t>& rows) {
        rows.resize(task_.n_rows);
        for (int64_t i = 0; i < task_.n_rows; ++i) rows[i] = static_cast<int32_t>(i);
        // The rows of a node stay until both children are done; those of the children follow.
        stack_.assign(1, Step{0, 0, task_.n_rows, task_.n_rows});
        while (!stack_.empty()) {
            const Step step = stack_.back();
            stack_.pop_back();
            if (step.begin == step.end || !paths_.is_reached[step.node]) continue;
            visit(step, rows);
        }
    }

  private:
    struct Step {
        int32_t node;
        int64_t begin, end;  // of its rows
        int64_t top;         // rows from here on are not needed any more
    };

    void visit(const Step& step, std::vector<int32_t>& rows) {
        const int32_t node = step.node;
        if (tree_.feature[node] < 0) {
            leaf_weights_[paths_.leaf_index[node]] += weight(rows, step.begin, step.end);
            return;
        }
        if (step.end - step.begin <= kFewRows) {
            for (int64_t i = step.begin; i < step.end; ++i) walk(node, rows[i]);
            return;
        }
        if (is_chosen(task_.axes, tree_.feature[node])) {
            stack_.push_back({tree_.right[node], step.begin, step.end, step.top});
            stack_.push_back({node + 1, step.begin, step.end, step.top});
            return;
        }
        const int64_t n = step.end - step.begin;
        if (static_cast<int64_t>(rows.size()) < step.top + n + 1)
            rows.resize(2 * (step.top + n + 1));
        const int64_t n_left = part(node, rows.data() + step.begin, n, rows.data() + step.top);
        const int64_t middle = step.top + n_left, end = step.top + n;
        stack_.push_back({tree_.right[node], middle, end, end});
        stack_.push_back({node + 1, step.top, middle, end});
    }

    // Sends one row to all leaves below a node that it reaches.
    void walk(int32_t from, int32_t number) {
        const T* const row = task_.X + number * n_features_;
        const double weight = weights_ == nullptr ? 1.0 : weights_[number];
        pending_.assign(1, from);
        while (!pending_.empty()) {
            int32_t node = pending_.back();
            pending_.pop_back();
            for (int32_t feature = tree_.feature[node]; feature >= 0;
                 feature = tree_.feature[node]) {
                const int32_t left = node + 1, right = tree_.right[node];
                if (is_chosen(task_.axes, feature)) {
                    const bool to_right = paths_.is_reached[right];
                    if (to_right && paths_.is_reached[left]) pending_.push_back(right);
                    node = paths_.is_reached[left] ? left : right;
                    continue;
                }
                node = tree_.goes_left(node, static_cast<double>(row[feature])) ? left : right;
            }
            leaf_weights_[paths_.leaf_index[node]] += weight;
        }
    }

    // Writes rows that go left from the front of `out`, the others from its back.
    int64_t part(int32_t node, const int32_t* rows, int64_t n, int32_t* out) const {
        const T* const column = task_.columns + tree_.feature[node] * task_.n_rows;
        int64_t n_left = 0, back = n;
        if (tree_.category_offset[node] >= 0) {
            for (int64_t i = 0; i < n; ++i) {
                const double value = static_cast<double>(column[rows[i]]);
                out[tree_.goes_left(node, value) ? n_left++ : --back] = rows[i];
            }
            return n_left;
        }
        const double threshold = tree_.threshold[node];
        const bool missing_left = tree_.missing_left[node] != 0;
        for (int64_t i = 0; i < n; ++i) {
            const double value = static_cast<double>(column[rows[i]]);
            // Both places are written, without a branch; the wrong one is overwritten later.
            const bool left = (value <= threshold) | (missing_left & (value != value));
            out[n_left] = rows[i];
            out[back - 1] = rows[i];
            n_left += left;
            back -= !left;
        }
        return n_left;
    }

    double weight(const std::vector<int32_t>& rows, int64_t begin, int64_t end) const {
        if (weights_ == nullptr) return static_cast<double>(end - begin);
        double sum = 0.0;
        for (int64_t i = begin; i < end; ++i) sum += weights_[rows[i]];
        return sum;
    }

    const DependenceTrees::Task<T>& task_;
    const int64_t n_features_;
    const SplitTree& tree_;
    const GridPaths& paths_;
    const double* const weights_;
    double* const leaf_weights_;
    std::vector<Step> stack_;
    std::vector<int32_t> pending_;
};

}  // namespace

DependenceTrees::DependenceTrees(const TreeArrays& arrays)
    : predictor_(arrays),
      coded_(CodedTrees::make_walks(predictor_.nodes())),
      n_features_(arrays.n_features),
      leaf_offsets_(1, 0) {
    for (int64_t tree = 0; tree < arrays.n_trees; ++tree) {
        trees_.emplace_back(arrays, tree);
        const int32_t* const feature = trees_.back().feature;
        leaf_offsets_.push_back(leaf_offsets_.back() +
                                std::count(feature, feature + trees_.back().n_nodes, -1));
    }
}

template <typename T>
void DependenceTrees::count_rows(const Task<T>& task, const double* weights, double* leaf_weights,
                                 ThreadTeam& team) const {
    if (!coded_) {
        count_values(task, weights, leaf_weights, team);
        return;
    }
    RowsView<T> rows;
    rows.n_rows = task.n_rows;
    rows.values = task.X;
    const std::vector<uint16_t> codes = coded_->encode_walks(rows, team);
    std::vector<int32_t> chosen;
    for (const GridAxis& axis : task.axes)
        if (axis.feature >= 0) chosen.push_back(axis.feature);
    team.parallel_for(task.last - task.first, [&](int64_t t, int) {
        team.interrupt().check();
        const GridPaths paths(trees_[task.first + t], task.axes);
        coded_->count_reached(task.first + t, codes, task.n_rows, weights, chosen,
                              paths.is_reached.data(),
                              leaf_weights + n_leaves(task.first, task.first + t));
    });
}

template <typename T>
void DependenceTrees::count_values(const Task<T>& task, const double* weights,
                                   double* leaf_weights, ThreadTeam& team) const {
    std::vector<std::vector<int32_t>> rows(team.size());
    team.parallel_for(task.last - task.first, [&](int64_t t, int thread) {
        team.interrupt().check();
        const SplitTree& tree = trees_[task.first + t];
        const GridPaths paths(tree, task.axes);
        RowCounter<T> counter(task, tree, paths, n_features_, weights,
                              leaf_weights + n_leaves(task.first, task.first + t));
        counter.count(rows[thread]);
    });
}

template <typename T, typename ForParts>
void DependenceTrees::add_parts(const Task<T>& task, int64_t n_columns, const double* leaf_weights,
                                const double* tree_weights, double* differences, ThreadTeam& team,
                                ForParts&& for_parts) const {
    for (int64_t t = task.first; t < task.last; ++t) {
        const GridPaths paths(trees_[t], task.axes);
        const int64_t before = n_leaves(task.first, t);
        auto add_block = [&](int64_t begin, int64_t end) {
            double scaled[kColumnsTogether];
            const double* const scales =
                tree_weights == nullptr ? nullptr : tree_weights + t * n_columns;
            for (int64_t leaf = 0; leaf < paths.n_leaves(); ++leaf) {
                const double of_leaf = leaf_weights[before + leaf];
                if (of_leaf == 0.0) continue;
                for_parts(before + leaf, [&](double factor, const double* values) {
                    for (int64_t c = begin; c < end; ++c)
                        scaled[c - begin] =
                            of_leaf * factor * values[c] * (scales == nullptr ? 1.0 : scales[c]);
                    paths.for_corners(leaf, task.axes, [&](int64_t cell, double sign) {
                        double* const own = differences + cell * n_columns;
                        for (int64_t c = begin; c < end; ++c) own[c] += sign * scaled[c - begin];
                    });
                });
            }
        };
        team.parallel_for((n_columns + kColumnsTogether - 1) / kColumnsTogether,
                          [&](int64_t block, int) {
                              team.interrupt().check();
                              const int64_t begin = block * kColumnsTogether;
                              add_block(begin, std::min(n_columns, begin + kColumnsTogether));
                          });
    }
}

template <typename T>
void DependenceTrees::add_leaves(const Task<T>& task, const double* leaf_weights,
                                 double* differences, ThreadTeam& team) const {
    add_parts(task, task.n_columns, leaf_weights, nullptr, differences, team,
              [&](int64_t leaf, auto&& add) { add(1.0, task.values + leaf * task.n_columns); });
}

template <typename T>
void DependenceTrees::add_leaf_rows(const Task<T>& task, const double* leaf_weights,
                                    const LeafAverages& leaves, const double* tree_weights,
                                    double* differences, ThreadTeam& team) const {
    add_parts(task, leaves.n_channels, leaf_weights, tree_weights, differences, team,
              [&](int64_t leaf, auto&& add) {
                  for (int64_t e = leaves.leaf_offsets[leaf]; e < leaves.leaf_offsets[leaf + 1];
                       ++e)
                      add(leaves.shares[e],
                          leaves.values + int64_t{leaves.leaf_rows[e]} * leaves.n_channels);
              });
}

template <typename T>
void DependenceTrees::add_rows(const Task<T>& task, double* differences, ThreadTeam& team) const {
    const int64_t stride = task.n_columns;
    const int64_t per_row = task.axes[0].n_values * task.axes[1].n_values * stride;
    std::vector<std::vector<int32_t>> stacks(team.size());
    for (int64_t t = task.first; t < task.last; ++t) {
        const SplitTree& tree = trees_[t];
        const GridPaths paths(tree, task.axes);
        const double* const values = task.values + n_leaves(task.first, t) * stride;
        auto add_row = [&](int64_t row, std::vector<int32_t>& stack) {
            stack.assign(1, 0);
            while (!stack.empty()) {
                const int32_t node = stack.back();
                stack.pop_back();
                if (!paths.is_reached[node]) continue;
                const int32_t feature = tree.feature[node];
                if (feature < 0) {
                    const double* const value = values + paths.leaf_index[node] * stride;
                    double* const of_row = differences + row * per_row;
                    paths.for_corners(paths.leaf_index[node], task.axes,
                                      [&](int64_t cell, double sign) {
                                          for (int64_t c = 0; c < stride; ++c)
                                              of_row[cell * stride + c] += sign * value[c];
                                      });
                    continue;
                }
                const bool both = is_chosen(task.axes, feature);
                const bool left =
                    !both &&
                    tree.goes_left(node, static_cast<double>(task.X[row * n_features_ + feature]));
                if (both || !left) stack.push_back(tree.right[node]);
                if (both || left) stack.push_back(node + 1);
            }
        };
        team.parallel_for((task.n_rows + kRowsTogether - 1) / kRowsTogether,
                          [&](int64_t block, int thread) {
                              team.interrupt().check();
                              const int64_t begin = block * kRowsTogether;
                              const int64_t end = std::min(task.n_rows, begin + kRowsTogether);
                              for (int64_t row = begin; row < end; ++row)
                                  add_row(row, stacks[thread]);
                          });
    }
}

template void DependenceTrees::count_rows(const Task<float>&, const double*, double*,
                                          ThreadTeam&) const;
template void DependenceTrees::count_rows(const Task<double>&, const double*, double*,
                                          ThreadTeam&) const;
template void DependenceTrees::add_leaves(const Task<double>&, const double*, double*,
                                          ThreadTeam&) const;
template void DependenceTrees::add_leaf_rows(const Task<double>&, const double*,
                                             const LeafAverages&, const double*, double*,
                                             ThreadTeam&) const;
template void DependenceTrees::add_rows(const Task<float>&, double*, ThreadTeam&) const;
template void DependenceTrees::add_rows(const Task<double>&, double*, ThreadTeam&) const;

}  // namespace polyleaf
