#include "explain/paths.hpp"

#include <algorithm>

namespace polyleaf {

namespace {

// The nearest edge at or above `node` whose split is on `feature`; 0, the root, if there is none.
int32_t nearest_edge(const PathTree& tree, int32_t node, int32_t feature) {
    while (node > 0 && tree.feature[tree.parent[node]] != feature) node = tree.parent[node];
    return node;
}

void add_leaf(PathTree& tree, int32_t leaf, int32_t n_distinct) {
    const int64_t first = tree.path_offsets.back();
    tree.leaf_nodes.push_back(leaf);
    tree.path_features.resize(first + n_distinct);
    tree.path_depths.resize(first + n_distinct, 0);
    for (int32_t node = leaf; node > 0; node = tree.parent[node]) {
        int32_t& depth = tree.path_depths[first + tree.slot[node]];
        if (depth > 0) continue;  // a deeper edge on the same feature
        depth = tree.depth[node];
        tree.path_features[first + tree.slot[node]] = tree.feature[tree.parent[node]];
    }
    tree.path_offsets.push_back(first + n_distinct);
    tree.most_features = std::max(tree.most_features, n_distinct);
    tree.most_depth = std::max(tree.most_depth, tree.depth[leaf]);
}

}  // namespace

SplitTree::SplitTree(const TreeArrays& arrays, int64_t tree) {
    const int64_t begin = arrays.tree_offsets[tree];
    n_nodes = arrays.tree_offsets[tree + 1] - begin;
    feature = arrays.feature + begin;
    threshold = arrays.threshold + begin;
    right = arrays.right + begin;
    missing_left = arrays.missing_left + begin;
    category_offset = arrays.category_offset + begin;
    category_words = arrays.category_words;
    n_categories = arrays.n_categories;
}

PathTree make_path_tree(const TreeArrays& arrays, const double* node_rows, int64_t number) {
    PathTree tree(arrays, number);
    node_rows += arrays.tree_offsets[number];

    tree.parent.assign(tree.n_nodes, -1);
    tree.depth.assign(tree.n_nodes, 0);
    tree.previous.assign(tree.n_nodes, 0);
    tree.slot.assign(tree.n_nodes, -1);
    tree.share.assign(tree.n_nodes, 1.0f);
    tree.path_offsets.assign(1, 0);
    std::vector<int32_t> n_distinct(tree.n_nodes, 0);
    std::vector<double> share(tree.n_nodes, 1.0);
    for (int32_t node = 0; node < tree.n_nodes; ++node) {
        const int32_t parent = tree.parent[node];
        if (parent >= 0) {
            const int32_t edge = nearest_edge(tree, parent, tree.feature[parent]);
            const bool is_new = edge == 0;
            tree.depth[node] = tree.depth[parent] + 1;
            tree.previous[node] = tree.depth[edge];
            tree.slot[node] = is_new ? n_distinct[parent] : tree.slot[edge];
            n_distinct[node] = n_distinct[parent] + is_new;
            share[node] = share[edge] * node_rows[node] / node_rows[parent];
            tree.share[node] = static_cast<float>(share[node]);
        }
        if (tree.feature[node] < 0) {
            add_leaf(tree, node, n_distinct[node]);
            continue;
        }
        tree.parent[node + 1] = tree.parent[tree.right[node]] = node;
    }
    tree.n_leaves = static_cast<int64_t>(tree.leaf_nodes.size());
    tree.leaf_index.assign(tree.n_nodes, -1);
    for (int64_t leaf = 0; leaf < tree.n_leaves; ++leaf)
        tree.leaf_index[tree.leaf_nodes[leaf]] = static_cast<int32_t>(leaf);
    tree.subtree_end.resize(tree.n_nodes);
    for (int64_t node = tree.n_nodes; node-- > 0;)
        tree.subtree_end[node] = tree.feature[node] < 0 ? static_cast<int32_t>(node) + 1
                                                        : tree.subtree_end[tree.right[node]];
    return tree;
}

}  // namespace polyleaf
