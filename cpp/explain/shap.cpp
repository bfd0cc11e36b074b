#include "explain/shap.hpp"

#include <algorithm>
#include <memory>

#include "explain/background_walk.hpp"
#include "explain/tables.hpp"
#include "kernels/kernels.hpp"

namespace polyleaf {

namespace {

// Tables are built for as many trees at a time.
constexpr int64_t kGroupFloats = int64_t{1} << 21;
constexpr int64_t kGroupTrees = 256;
// Contributions of a block of rows stay in the second-level cache.
constexpr int64_t kBlockFloats = int64_t{1} << 17;
// Few rows are not worth tables: a walk finds their weights.
constexpr int64_t kTableRows = 24;

// Marks the nodes with a leaf below whose values are not all 0.
void mark_wanted(const PathTree& tree, const float* values, int64_t stride, const int32_t* chosen,
                 int64_t n_columns, uint8_t* is_wanted) {
    for (int64_t node = tree.n_nodes; node-- > 0;) {
        if (tree.feature[node] >= 0) {
            is_wanted[node] = is_wanted[node + 1] | is_wanted[tree.right[node]];
            continue;
        }
        const float* const of_leaf = values + tree.leaf_index[node] * stride;
        bool found = false;
        for (int64_t c = 0; c < n_columns && !found; ++c)
            found = of_leaf[chosen == nullptr ? c : chosen[c]] != 0.0f;
        is_wanted[node] = found;
    }
}

// Pairs of features on the path of every leaf, as pairs of depths.
struct PathPairs {
    std::vector<int64_t> offsets;
    std::vector<int32_t> depths, numbers;

    PathPairs(const PathTree& tree, const int32_t* pairs, int64_t n_pairs) : offsets(1, 0) {
        for (int64_t leaf = 0; leaf < tree.n_leaves; ++leaf) {
            const int64_t first = tree.path_offsets[leaf], last = tree.path_offsets[leaf + 1];
            auto depth_of = [&](int32_t feature) {
                for (int64_t e = first; e < last; ++e)
                    if (tree.path_features[e] == feature) return tree.path_depths[e];
                return 0;
            };
            for (int64_t pair = 0; pair < n_pairs; ++pair) {
                const int32_t a = depth_of(pairs[2 * pair]);
                const int32_t b = a == 0 ? 0 : depth_of(pairs[2 * pair + 1]);
                if (b == 0) continue;
                depths.push_back(a);
                depths.push_back(b);
                numbers.push_back(static_cast<int32_t>(pair));
            }
            offsets.push_back(static_cast<int64_t>(numbers.size()));
        }
    }
};

// One tree and what was prepared for all rows.
struct PreparedTree {
    const PathTree* tree = nullptr;
    const float* values = nullptr;
    bool has_tables = false;
    std::vector<uint8_t> is_wanted;  // (n_nodes,) by all columns; unused where rows choose
    PatternTables tables;
    std::unique_ptr<PathPairs> pairs;
    int n_points = 0;
    std::vector<float> points, omegas;  // padded

    void find_points(int64_t most_degree) {
        const int needed =
            static_cast<int>(std::clamp<int64_t>(most_degree / 2 + 1, 1, kMostPoints));
        const Quadrature found = gauss_points(needed);
        n_points = needed <= 8 ? 8 : needed <= 16 ? 16 : needed <= 32 ? 32 : 64;
        points.assign(n_points, 0.5f);
        omegas.assign(n_points, 0.0f);
        for (int i = 0; i < needed; ++i) {
            points[i] = static_cast<float>(found.points[i]);
            omegas[i] = static_cast<float>(found.weights[i]);
        }
    }
};

// What a thread needs for one row in one tree.
struct RowScratch {
    std::vector<uint32_t> node_patterns, leaf_patterns;
    std::vector<uint8_t> goes_left, is_wanted, passes;
    std::vector<float> products, inverses, gaps, weights;
    std::vector<const float*> leaf_weights;
    BackgroundWalk background;
};

template <typename T>
void find_sides(const PathTree& tree, const T* row, std::vector<uint8_t>& goes_left) {
    goes_left.resize(tree.n_nodes);
    for (int64_t node = 0; node < tree.n_nodes; ++node)
        if (tree.feature[node] >= 0)
            goes_left[node] = tree.goes_left(node, static_cast<double>(row[tree.feature[node]]));
}

void walk_row(const PreparedTree& prepared, const uint8_t* is_wanted, RowScratch& scratch) {
    const PathTree& tree = *prepared.tree;
    ShapWalkTask walk;
    walk.n_points = prepared.n_points;
    walk.points = prepared.points.data();
    walk.omegas = prepared.omegas.data();
    walk.n_nodes = tree.n_nodes;
    walk.parent = tree.parent.data();
    walk.depth = tree.depth.data();
    walk.previous = tree.previous.data();
    walk.share = tree.share.data();
    walk.leaf_index = tree.leaf_index.data();
    walk.subtree_end = tree.subtree_end.data();
    walk.goes_left = scratch.goes_left.data();
    walk.is_wanted = is_wanted;
    walk.path_offsets = tree.path_offsets.data();
    walk.path_depths = tree.path_depths.data();
    const int64_t n_levels = tree.most_depth + 1;
    scratch.products.resize(n_levels * prepared.n_points);
    scratch.inverses.resize(n_levels * prepared.n_points);
    scratch.passes.resize(n_levels);
    scratch.gaps.resize(n_levels);
    walk.products = scratch.products.data();
    walk.inverses = scratch.inverses.data();
    walk.passes = scratch.passes.data();
    walk.gaps = scratch.gaps.data();
    if (prepared.pairs) {
        walk.pair_offsets = prepared.pairs->offsets.data();
        walk.pair_depths = prepared.pairs->depths.data();
    }
    scratch.weights.resize((prepared.pairs ? prepared.pairs->offsets : tree.path_offsets).back());
    walk.weights = scratch.weights.data();
    kernels_for(16).walk_shap(walk);
}

template <typename T>
class RowExplainer {
  public:
    using Task = ShapTrees::Task<T>;
    RowExplainer(const Task& task, int32_t n_features) : task_(task), n_features_(n_features) {}

    void explain(const PreparedTree& prepared, int64_t number, RowScratch& scratch) const {
        const PathTree& tree = *prepared.tree;
        const T* const row = task_.rows + number * n_features_;
        const int32_t* const chosen =
            task_.chosen == nullptr ? nullptr : task_.chosen + number * task_.n_columns;
        const uint8_t* is_wanted = prepared.is_wanted.data();
        if (chosen != nullptr) {
            scratch.is_wanted.resize(tree.n_nodes);
            mark_wanted(tree, prepared.values, task_.n_values, chosen, task_.n_columns,
                        scratch.is_wanted.data());
            is_wanted = scratch.is_wanted.data();
        }
        if (!is_wanted[0]) return;
        scratch.leaf_weights.assign(tree.n_leaves, nullptr);
        if (prepared.has_tables)
            look_up(prepared, row, is_wanted, scratch);
        else
            walk(prepared, row, is_wanted, scratch);
        add(prepared, number, chosen, scratch);
    }

  private:
    void look_up(const PreparedTree& prepared, const T* row, const uint8_t* is_wanted,
                 RowScratch& scratch) const {
        const PathTree& tree = *prepared.tree;
        scratch.node_patterns.resize(tree.n_nodes);
        scratch.leaf_patterns.resize(tree.n_leaves);
        find_patterns(tree, row, scratch.node_patterns.data(), scratch.leaf_patterns.data());
        for (int64_t leaf = 0; leaf < tree.n_leaves; ++leaf)
            if (is_wanted[tree.leaf_nodes[leaf]])
                scratch.leaf_weights[leaf] = prepared.tables.of(leaf, scratch.leaf_patterns[leaf],
                                                                tree.n_features_of(leaf));
    }

    void walk(const PreparedTree& prepared, const T* row, const uint8_t* is_wanted,
              RowScratch& scratch) const {
        const PathTree& tree = *prepared.tree;
        find_sides(tree, row, scratch.goes_left);
        if (task_.background == nullptr) {
            walk_row(prepared, is_wanted, scratch);
        } else {
            scratch.weights.assign(tree.path_offsets.back(), 0.0f);
            scratch.background.start(tree);
            for (int64_t i = 0; i < task_.n_background; ++i)
                scratch.background.add(
                    tree, scratch.goes_left.data(), task_.background + i * n_features_,
                    1.0f / static_cast<float>(task_.n_background), scratch.weights.data());
        }
        const std::vector<int64_t>& offsets =
            prepared.pairs ? prepared.pairs->offsets : tree.path_offsets;
        for (int64_t leaf = 0; leaf < tree.n_leaves; ++leaf)
            if (is_wanted[tree.leaf_nodes[leaf]])
                scratch.leaf_weights[leaf] = scratch.weights.data() + offsets[leaf];
    }

    void add(const PreparedTree& prepared, int64_t number, const int32_t* chosen,
             RowScratch& scratch) const {
        const PathTree& tree = *prepared.tree;
        const int64_t n_parts = prepared.pairs ? task_.n_pairs : n_features_;
        ShapAddTask sum;
        sum.n_leaves = tree.n_leaves;
        sum.path_offsets = (prepared.pairs ? prepared.pairs->offsets : tree.path_offsets).data();
        sum.path_features = (prepared.pairs ? prepared.pairs->numbers : tree.path_features).data();
        sum.weights = scratch.leaf_weights.data();
        sum.values = prepared.values;
        sum.value_stride = task_.n_values;
        sum.chosen = chosen;
        sum.n_columns = task_.n_columns;
        sum.contributions = task_.contributions + number * n_parts * task_.stride + task_.column;
        sum.stride = task_.stride;
        kernels_for(16).add_shap(sum);
    }

    const Task& task_;
    const int32_t n_features_;
};

template <typename T>
PatternTables tables_of(const PathTree& tree, const ShapTrees::Task<T>& task, int32_t n_features,
                        const uint8_t* is_wanted) {
    if (task.background == nullptr) return path_tables(tree, is_wanted);
    std::vector<std::vector<int64_t>> counts(tree.n_leaves);
    for (int64_t leaf = 0; leaf < tree.n_leaves; ++leaf)
        counts[leaf].assign(int64_t{1} << tree.n_features_of(leaf), 0);
    std::vector<uint32_t> nodes(tree.n_nodes), leaves(tree.n_leaves);
    for (int64_t i = 0; i < task.n_background; ++i) {
        find_patterns(tree, task.background + i * n_features, nodes.data(), leaves.data());
        for (int64_t leaf = 0; leaf < tree.n_leaves; ++leaf) ++counts[leaf][leaves[leaf]];
    }
    return background_tables(tree, is_wanted, counts, task.n_background);
}

template <typename T>
void prepare(PreparedTree& prepared, const ShapTrees::Task<T>& task, int32_t n_features) {
    const PathTree& tree = *prepared.tree;
    prepared.is_wanted.assign(tree.n_nodes, 1);
    if (task.chosen == nullptr)
        mark_wanted(tree, prepared.values, task.n_values, nullptr, task.n_columns,
                    prepared.is_wanted.data());
    if (task.pairs != nullptr) {
        prepared.pairs = std::make_unique<PathPairs>(tree, task.pairs, task.n_pairs);
    } else if (has_tables(tree) && (task.n_rows >= kTableRows || task.background != nullptr)) {
        prepared.has_tables = true;
        prepared.tables = tables_of(tree, task, n_features, prepared.is_wanted.data());
        return;
    }
    if (task.background == nullptr) prepared.find_points(tree.most_features);
}

}  // namespace

ShapTrees::ShapTrees(const TreeArrays& arrays, const double* node_rows)
    : n_features_(arrays.n_features) {
    trees_.reserve(arrays.n_trees);
    for (int64_t tree = 0; tree < arrays.n_trees; ++tree)
        trees_.push_back(make_path_tree(arrays, node_rows, tree));
}

int64_t ShapTrees::n_leaves(int64_t first, int64_t last) const {
    int64_t n = 0;
    for (int64_t tree = first; tree < last; ++tree) n += trees_[tree].n_leaves;
    return n;
}

template <typename T>
void ShapTrees::add(const Task<T>& task, ThreadTeam& team) const {
    const int64_t n_parts = task.pairs == nullptr ? n_features_ : task.n_pairs;
    const int64_t rows_per_block =
        std::clamp<int64_t>(kBlockFloats / std::max<int64_t>(1, n_parts * task.stride), 1, 256);
    const RowExplainer<T> explainer(task, n_features_);
    std::vector<RowScratch> scratch(team.size());
    const float* values = task.values;
    for (int64_t first = task.first; first < task.last;) {
        std::vector<PreparedTree> group;
        int64_t n_floats = 0;
        while (first < task.last && n_floats < kGroupFloats &&
               static_cast<int64_t>(group.size()) < kGroupTrees) {
            PreparedTree next;
            next.tree = &trees_[first++];
            next.values = values;
            values += next.tree->n_leaves * task.n_values;
            n_floats += int64_t{1} << std::min(next.tree->most_features, 14);
            n_floats += next.tree->n_leaves;
            group.push_back(std::move(next));
        }
        team.parallel_for(static_cast<int64_t>(group.size()),
                          [&](int64_t tree, int) { prepare(group[tree], task, n_features_); });
        team.parallel_for((task.n_rows + rows_per_block - 1) / rows_per_block,
                          [&](int64_t block, int thread) {
                              const int64_t begin = block * rows_per_block;
                              const int64_t end = std::min(task.n_rows, begin + rows_per_block);
                              for (const PreparedTree& prepared : group) {
                                  team.interrupt().check();
                                  for (int64_t row = begin; row < end; ++row)
                                      explainer.explain(prepared, row, scratch[thread]);
                              }
                          });
    }
}

template void ShapTrees::add(const Task<float>&, ThreadTeam&) const;
template void ShapTrees::add(const Task<double>&, ThreadTeam&) const;

}  // namespace polyleaf
