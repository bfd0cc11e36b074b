#include "predict/predictor.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace polyleaf {

namespace {

constexpr int64_t kRowsPerBlock = 256;
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

Predictor::Predictor(const TreeArrays& a)
    : n_features_(a.n_features),
      n_categories_(a.n_categories, a.n_categories + a.n_features),
      words_(a.category_words, a.category_words + a.n_words) {
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
        roots_.push_back(a.tree_offsets[tree]);
    }
    if (a.n_features >= static_cast<int32_t>(kCategorical))
        throw std::invalid_argument("damaged tree: there are too many features");
    bool has_categories = false;
    nodes_.reserve(a.n_nodes);
    for (int64_t tree = 0; tree < a.n_trees; ++tree) {
        for (int64_t at = roots_[tree]; at < a.tree_offsets[tree + 1]; ++at) {
            if (a.feature[at] < 0) {
                nodes_.push_back({0.0, static_cast<uint32_t>(at - roots_[tree]), kLeaf});
                continue;
            }
            const bool is_categorical = a.category_offset[at] >= 0;
            has_categories |= is_categorical;
            nodes_.push_back({a.threshold[at], static_cast<uint32_t>(a.right[at]),
                              static_cast<uint32_t>(a.feature[at]) |
                                  (a.missing_left[at] ? kMissingLeft : 0) |
                                  (is_categorical ? kCategorical : 0)});
        }
    }
    if (has_categories) word_offsets_.assign(a.category_offset, a.category_offset + a.n_nodes);
}

// Anything that is no known category goes the way of the missing values.
bool Predictor::has_category_left(const Node& node, int64_t at, double value) const {
    const int32_t n_categories = n_categories_[node.feature & ~kFlags];
    if (!(value >= 0.0 && value < n_categories)) return node.feature & kMissingLeft;
    const uint32_t code = static_cast<uint32_t>(value);
    return words_[word_offsets_[at] + (code >> 5)] >> (code & 31) & 1;
}

// Several rows side by side: while one waits for its next node, the others go on. A row that
// arrives makes room for the next, however much deeper others have to go.
template <typename T>
void Predictor::descend(int64_t root, const T* rows, int64_t n_rows, int32_t* leaves,
                        int64_t stride) const {
    const Node* const tree = nodes_.data() + root;
    const T* together[kTogether];
    uint32_t at[kTogether];
    int64_t number[kTogether], next = 0;
    int n_moving = 0;
    auto start = [&](int k) {
        number[k] = next;
        together[k] = rows + next++ * n_features_;
        at[k] = 0;
    };
    while (n_moving < kTogether && next < n_rows) start(n_moving++);
    while (n_moving > 0) {
        for (int k = 0; k < n_moving; ++k) {
            const Node& node = tree[at[k]];
            if (node.feature == kLeaf) {
                leaves[number[k] * stride] = static_cast<int32_t>(at[k]);
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
            const double value = together[k][node.feature & ~kFlags];
            uint32_t left = value <= node.threshold;
            if (value != value)
                left = node.feature / kMissingLeft;
            else if (node.feature & kCategorical)
                left = has_category_left(node, root + at[k], value);
            // Arithmetic instead of a branch that nobody can predict.
            const uint32_t left_child = at[k] + 1;
            at[k] = node.right_child ^ ((node.right_child ^ left_child) & (0u - left));
        }
    }
}

template <typename T>
void Predictor::apply(const RowsView<T>& rows, int32_t* nodes, ThreadTeam& team) const {
    const int64_t n_fitting = kDenseBytes / (static_cast<int64_t>(sizeof(T)) * n_features_ + 1);
    const int64_t n_per_block =
        rows.indptr ? std::clamp<int64_t>(n_fitting, kTogether, kRowsPerBlock) : kRowsPerBlock;
    std::vector<std::vector<T>> scratch(team.size());
    team.parallel_for(
        (rows.n_rows + n_per_block - 1) / n_per_block, [&](int64_t block, int thread) {
            const int64_t begin = block * n_per_block;
            const int64_t n = std::min(rows.n_rows - begin, n_per_block);
            const T* dense = rows.values + begin * n_features_;
            auto each_entry = [&](auto&& visit) {
                for (int64_t i = 0; i < n; ++i)
                    for (int64_t e = rows.indptr[begin + i]; e < rows.indptr[begin + i + 1]; ++e)
                        visit(scratch[thread][i * n_features_ + rows.indices[e]], e);
            };
            if (rows.indptr) {
                scratch[thread].resize(n_per_block * n_features_, T(0));
                dense = scratch[thread].data();
                each_entry([&](T& value, int64_t e) { value = rows.values[e]; });
            }
            // Tree by tree over the block: a tree's nodes stay in cache.
            for (int64_t tree = 0; tree < n_trees(); ++tree)
                descend(roots_[tree], dense, n, nodes + begin * n_trees() + tree, n_trees());
            if (rows.indptr) each_entry([](T& value, int64_t) { value = T(0); });
        });
}

template void Predictor::apply(const RowsView<float>&, int32_t*, ThreadTeam&) const;
template void Predictor::apply(const RowsView<double>&, int32_t*, ThreadTeam&) const;

}  // namespace polyleaf
