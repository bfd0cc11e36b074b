// When a node is split, and what is noted of it, however the tree is grown.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "grow/grower.hpp"
#include "grow/node_search.hpp"

namespace polyleaf {

class StoppingRules {
  public:
    StoppingRules(const GrowParams& params, int32_t n_channels)
        : params_(params), n_channels_(n_channels) {}

    bool can_split(const NodeRange& range, int64_t depth) const {
        return can_split(range.size(), depth);
    }
    bool can_split(int64_t n_rows, int64_t depth) const {
        return (params_.max_depth < 0 || depth < params_.max_depth) &&
               n_rows >= params_.min_samples_split && n_rows / 2 >= params_.min_samples_leaf;
    }
    bool is_pure(double weight, double impurity) const {
        return impurity <= kPureShare * pure_scale_ * weight;
    }
    bool is_pure(const NodeTotals& totals) const {
        return is_pure(totals.weight, totals.impurity);
    }
    bool is_accepted(const Split& split) const {
        if (!split.found()) return false;
        if (params_.min_impurity_decrease > 0.0) return split.gain >= least_gain_;
        // Without regularisation a gain is never negative, and a zero one (exclusive or) may
        // be what it takes to get on.
        return params_.l2_regularization == 0.0 || split.gain > 0.0;
    }

    // The root tells what a pure node is, and the least gain.
    void note_root(const NodeTotals& totals) { note_root(totals.weight, totals.impurity); }
    void note_root(double weight, double impurity) {
        pure_scale_ = weight > 0.0 ? impurity / weight : 0.0;
        least_gain_ = params_.min_impurity_decrease * weight * n_channels_;
    }

  private:
    // A node whose impurity per row is this far below the root's holds rounding errors only.
    static constexpr double kPureShare = 1e-11;

    const GrowParams& params_;
    const int32_t n_channels_;
    double pure_scale_ = 0.0, least_gain_ = 0.0;
};

inline void record_node(TreeNode& node, const NodeRange& range, double weight, double impurity) {
    node.begin = static_cast<int32_t>(range.begin);
    node.end = static_cast<int32_t>(range.end);
    node.weight = weight;
    node.impurity = impurity;
}
inline void record_node(TreeNode& node, const NodeRange& range, const NodeTotals& totals) {
    record_node(node, range, totals.weight, totals.impurity);
}

inline void note_split(TreeNode& record, const Split& split, std::vector<uint32_t>& words) {
    record.feature = split.feature;
    record.threshold = split.threshold;
    record.cut_first = split.cut_first;
    record.cut_last = split.cut_last;
    record.cut_limit = static_cast<uint8_t>(split.left_code);
    record.missing_left = split.missing_left;
    record.gain = std::max(0.0, split.gain + split.discount);
    if (split.is_categorical) {
        record.category_offset = static_cast<int64_t>(words.size());
        words.insert(words.end(), split.category_words.begin(), split.category_words.end());
    }
}

// Applies the node's split; fills the two children except for their ids.
template <typename Node>
void divide(NodeSearch& search, TreeNode& record, const Node& node, const Split& split,
            std::vector<uint32_t>& words, int thread, Node& left, Node& right) {
    NodeTotals totals[2];
    const int64_t middle = search.partition(node.range, split, thread, totals);
    left.totals = std::move(totals[0]);
    right.totals = std::move(totals[1]);
    note_split(record, split, words);
    left.range = {node.range.begin, middle};
    right.range = {middle, node.range.end};
    left.depth = right.depth = node.depth + 1;
    left.seed = child_seed(node.seed, 0);
    right.seed = child_seed(node.seed, 1);
}

// Appends nodes[0] and all below it to a tree, in preorder. replaces(id): whether it has appended
// something else in the place of a node.
template <typename Replaces>
void append_in_preorder(GrownTree& tree, const std::vector<TreeNode>& nodes, int64_t word_offset,
                        Replaces&& replaces) {
    std::vector<std::pair<int32_t, int32_t>> stack{{0, -1}};  // node, parent if a right child
    while (!stack.empty()) {
        const auto [id, parent] = stack.back();
        stack.pop_back();
        const int32_t number = static_cast<int32_t>(tree.nodes.size());
        if (parent >= 0) tree.nodes[parent].right = number;
        if (replaces(id)) continue;
        tree.nodes.push_back(nodes[id]);
        TreeNode& node = tree.nodes.back();
        if (node.category_offset >= 0) node.category_offset += word_offset;
        if (node.left < 0) continue;
        stack.push_back({node.right, number});
        stack.push_back({node.left, -1});
        node.left = number + 1;
    }
}

}  // namespace polyleaf
