#include "predict/predictor.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace polyleaf {

namespace {

constexpr int64_t kRowsPerBlock = 256, kTreesTogether = 8;
// Fewer rows go down values: to make codes of them takes longer.
constexpr int64_t kFewestCoded = 24;
// Codes are made once a predictor has seen so many rows that their descents took longer: a row
// for every so many nodes of a tree.
constexpr int64_t kNodesPerRow = 16;
// Sparse rows are made dense in scratch memory of about this size per thread.
constexpr int64_t kDenseBytes = 1 << 20;

[[noreturn]] void refuse(int64_t tree, int64_t node, const std::string& what) {
    throw std::invalid_argument("damaged tree: node " + std::to_string(node) + " of tree " +
                                std::to_string(tree) + ": " + what);
}

void check_node(const TreeArrays& a, int64_t tree, int64_t node, int64_t n_nodes) {
    const int64_t at = a.tree_offsets[tree] + node;
    if (a.feature[at] < -1 || a.feature[at] >= a.n_features)
        refuse(tree, node,
               "feature " + std::to_string(a.feature[at]) + " is not in [-1, " +
                   std::to_string(a.n_features) + ")");
    if (a.feature[at] == -1) return;
    if (a.right[at] <= node + 1 || a.right[at] >= n_nodes)
        refuse(tree, node,
               "right child " + std::to_string(a.right[at]) + " is not in (" +
                   std::to_string(node + 1) + ", " + std::to_string(n_nodes) + ")");
    if (std::isnan(a.threshold[at])) refuse(tree, node, "the threshold is NaN");
    const int64_t n_categories = a.n_categories[a.feature[at]];
    const int64_t offset = a.category_offset[at];
    if ((offset >= 0) != (n_categories > 0))
        refuse(tree, node, "the kind of split does not fit the kind of feature");
    if (offset > a.n_words - (n_categories + 31) / 32)
        refuse(tree, node, "its category set ends after the last word");
}

// Preorder: every subtree must end exactly where its parent's other child, or its tree, begins.
void check_shape(const TreeArrays& a, int64_t tree, int64_t n_nodes) {
    const int64_t base = a.tree_offsets[tree];
    std::vector<int64_t> expected{n_nodes};
    for (int64_t node = 0; node < n_nodes; ++node) {
        const int64_t end = expected.back();
        if (a.feature[base + node] >= 0) {
            if (a.right[base + node] >= end) refuse(tree, node, "its subtree overlaps another");
            expected.push_back(a.right[base + node]);
            continue;
        }
        if (node + 1 != end) refuse(tree, node, "a leaf in the middle of a branch");
        expected.pop_back();
    }
    if (!expected.empty()) refuse(tree, n_nodes - 1, "the tree ends too early");
}

}  // namespace

Predictor::Predictor(const TreeArrays& a) {
    trees_.n_features = a.n_features;
    trees_.n_categories.assign(a.n_categories, a.n_categories + a.n_features);
    trees_.words.assign(a.category_words, a.category_words + a.n_words);
    if (a.n_trees < 1) throw std::invalid_argument("damaged tree: there is none");
    if (a.tree_offsets[0] != 0 || a.tree_offsets[a.n_trees] != a.n_nodes)
        throw std::invalid_argument("damaged tree: the trees do not cover the nodes");
    for (int64_t tree = 0; tree < a.n_trees; ++tree) {
        const int64_t n_nodes = a.tree_offsets[tree + 1] - a.tree_offsets[tree];
        if (n_nodes < 1 || a.tree_offsets[tree] < 0 || a.tree_offsets[tree + 1] > a.n_nodes)
            throw std::invalid_argument("damaged tree: tree " + std::to_string(tree) +
                                        " has no nodes");
        for (int64_t node = 0; node < n_nodes; ++node) check_node(a, tree, node, n_nodes);
        check_shape(a, tree, n_nodes);
        trees_.roots.push_back(a.tree_offsets[tree]);
    }
    if (a.n_features >= static_cast<int32_t>(TreeNode::kCategorical))
        throw std::invalid_argument("damaged tree: there are too many features");
    bool has_categories = false;
    trees_.nodes.reserve(a.n_nodes);
    for (int64_t tree = 0; tree < a.n_trees; ++tree) {
        for (int64_t at = trees_.roots[tree]; at < a.tree_offsets[tree + 1]; ++at) {
            if (a.feature[at] < 0) {
                trees_.nodes.push_back(
                    {0.0, static_cast<uint32_t>(trees_.leaf_nodes.size()), TreeNode::kLeaf});
                trees_.leaf_nodes.push_back(static_cast<int32_t>(at - trees_.roots[tree]));
                continue;
            }
            const bool is_categorical = a.category_offset[at] >= 0;
            has_categories |= is_categorical;
            trees_.nodes.push_back({a.threshold[at], static_cast<uint32_t>(a.right[at]),
                                    static_cast<uint32_t>(a.feature[at]) |
                                        (a.missing_left[at] ? TreeNode::kMissingLeft : 0) |
                                        (is_categorical ? TreeNode::kCategorical : 0)});
        }
    }
    if (has_categories)
        trees_.word_offsets.assign(a.category_offset, a.category_offset + a.n_nodes);
}

// Several rows side by side: while one waits for its next node, the others go on. A row that
// arrives makes room for the next, however much deeper others have to go.
template <typename T>
void Predictor::descend(int64_t root, const T* rows, int64_t n_rows, int32_t* leaves) const {
    const TreeNode* const tree = trees_.nodes.data() + root;
    const T* together[kTogether];
    uint32_t at[kTogether];
    int64_t number[kTogether], next = 0;
    int n_moving = 0;
    auto start = [&](int k) {
        number[k] = next;
        together[k] = rows + next++ * trees_.n_features;
        at[k] = 0;
    };
    while (n_moving < kTogether && next < n_rows) start(n_moving++);
    while (n_moving > 0) {
        for (int k = 0; k < n_moving; ++k) {
            const TreeNode& node = tree[at[k]];
            if (node.is_leaf()) {
                leaves[number[k]] = static_cast<int32_t>(node.right_child);
                if (next < n_rows) {
                    start(k);
                } else {
                    --n_moving;
                    number[k] = number[n_moving];
                    together[k] = together[n_moving];
                    at[k] = at[n_moving];
                }
                continue;
            }
            const double value = together[k][node.feature_number()];
            uint32_t left = value <= node.threshold;
            if (value != value)
                left = node.is_missing_left();
            else if (node.is_categorical())
                left = trees_.has_category_left(root + at[k], value);
            // Arithmetic instead of a branch that nobody can predict.
            const uint32_t left_child = at[k] + 1;
            at[k] = node.right_child ^ ((node.right_child ^ left_child) & (0u - left));
        }
    }
}

template <typename T>
void Predictor::visit_values(const RowsView<T>& rows, ThreadTeam& team,
                             const VisitLeaves& visit) const {
    const int64_t n_features = trees_.n_features;
    const int64_t n_fitting = kDenseBytes / (static_cast<int64_t>(sizeof(T)) * n_features + 1);
    const int64_t n_per_block =
        rows.indptr ? std::clamp<int64_t>(n_fitting, kTogether, kRowsPerBlock) : kRowsPerBlock;
    std::vector<std::vector<T>> scratch(team.size());
    team.parallel_for(
        (rows.n_rows + n_per_block - 1) / n_per_block, [&](int64_t block, int thread) {
            const int64_t begin = block * n_per_block;
            const int64_t n = std::min(rows.n_rows - begin, n_per_block);
            const T* dense = rows.values + begin * n_features;
            auto each_entry = [&](auto&& visit) {
                for (int64_t i = 0; i < n; ++i)
                    for (int64_t e = rows.indptr[begin + i]; e < rows.indptr[begin + i + 1]; ++e)
                        visit(scratch[thread][i * n_features + rows.indices[e]], e);
            };
            if (rows.indptr) {
                scratch[thread].resize(n_per_block * n_features, T(0));
                dense = scratch[thread].data();
                each_entry([&](T& value, int64_t e) { value = rows.values[e]; });
            }
            // Tree by tree over the block: a tree's nodes stay in cache.
            int32_t leaves[kTreesTogether * kRowsPerBlock];
            for (int64_t first = 0; first < n_trees(); first += kTreesTogether) {
                const int64_t n_together = std::min(kTreesTogether, n_trees() - first);
                for (int64_t k = 0; k < n_together; ++k)
                    descend(trees_.roots[first + k], dense, n, leaves + k * n);
                visit({begin, n, first, n_together, leaves, n});
            }
            if (rows.indptr) each_entry([](T& value, int64_t) { value = T(0); });
        });
}

const CodedTrees* Predictor::coded_for(int64_t n_rows) const {
    if (n_rows < kFewestCoded) return nullptr;
    const int64_t n_seen = n_rows_seen_.fetch_add(n_rows) + n_rows;
    const int64_t n_nodes = static_cast<int64_t>(trees_.nodes.size());
    if (n_seen < n_nodes / n_trees() / kNodesPerRow) return nullptr;
    std::call_once(is_coded_, [&] { coded_ = CodedTrees::make(trees_); });
    return coded_.get();
}

template <typename T>
void Predictor::visit(const RowsView<T>& rows, ThreadTeam& team, const VisitLeaves& visit) const {
    if (const CodedTrees* coded = coded_for(rows.n_rows))
        coded->visit(rows, team, visit);
    else
        visit_values(rows, team, visit);
}

template <typename T>
void Predictor::find_leaves(const RowsView<T>& rows, int32_t* leaves, ThreadTeam& team) const {
    visit(rows, team, [&](const LeafBlock& block) {
        for (int64_t r = 0; r < block.n_rows; ++r) {
            int32_t* const own = leaves + (block.first_row + r) * n_trees() + block.first_tree;
            for (int64_t k = 0; k < block.n_trees; ++k)
                own[k] = block.leaves[k * block.stride + r];
        }
    });
}

template <typename T>
void Predictor::apply(const RowsView<T>& rows, int32_t* nodes, ThreadTeam& team) const {
    visit(rows, team, [&](const LeafBlock& block) {
        for (int64_t r = 0; r < block.n_rows; ++r) {
            int32_t* const own = nodes + (block.first_row + r) * n_trees() + block.first_tree;
            for (int64_t k = 0; k < block.n_trees; ++k)
                own[k] = trees_.leaf_nodes[block.leaves[k * block.stride + r]];
        }
    });
}

template <typename T>
void Predictor::add(const RowsView<T>& rows, const LeafValues& leaves, ThreadTeam& team) const {
    const CodedTrees* const coded = leaves.n_channels == 1 ? coded_for(rows.n_rows) : nullptr;
    if (coded && coded->has_only_levels()) {
        coded->add_numbers(rows, leaves.values, leaves.raw, team);
        return;
    }
    visit(rows, team, [&](const LeafBlock& block) {
        float* const raw = leaves.raw + block.first_row * leaves.n_channels;
        if (!leaves.channels) {
            predict_kernels().add_values({block.n_rows, block.n_trees, leaves.n_columns,
                                          block.leaves, block.stride, leaves.values, raw});
            return;
        }
        for (int64_t k = 0; k < block.n_trees; ++k) {
            const int32_t channel = leaves.channels[block.first_tree + k];
            for (int64_t r = 0; r < block.n_rows; ++r)
                raw[r * leaves.n_channels + channel] +=
                    leaves.values[block.leaves[k * block.stride + r]];
        }
    });
}

template <typename T>
void Predictor::average(const RowsView<T>& rows, const LeafAverages& leaves,
                        const double* tree_weights, double* averages, ThreadTeam& team) const {
    const int64_t width = leaves.n_channels;
    visit(rows, team, [&](const LeafBlock& block) {
        double* const sums = averages + block.first_row * width;
        add_leaf_rows(leaves, block,
                      tree_weights ? tree_weights + block.first_tree * width : nullptr, sums);
        if (tree_weights || block.first_tree + block.n_trees < n_trees()) return;
        for (int64_t i = 0; i < block.n_rows * width; ++i)
            sums[i] /= static_cast<double>(n_trees());
    });
}

#define POLYLEAF_FOR_VALUES(T)                                                               \
    template void Predictor::apply(const RowsView<T>&, int32_t*, ThreadTeam&) const;         \
    template void Predictor::find_leaves(const RowsView<T>&, int32_t*, ThreadTeam&) const;   \
    template void Predictor::add(const RowsView<T>&, const LeafValues&, ThreadTeam&) const;  \
    template void Predictor::average(const RowsView<T>&, const LeafAverages&, const double*, \
                                     double*, ThreadTeam&) const;
POLYLEAF_FOR_VALUES(float)
POLYLEAF_FOR_VALUES(double)
#undef POLYLEAF_FOR_VALUES

}  // namespace polyleaf
