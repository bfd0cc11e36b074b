// Reads a grown tree. Leaves and inner nodes come in no order that a processor could guess, so
// that loops do without branches.
#include <algorithm>

#include "grow/grower.hpp"

namespace polyleaf {

int32_t GrownTree::n_features() const {
    int32_t last = kNoFeature;
    for (const TreeNode& node : nodes) last = std::max(last, node.feature);
    return last + 1;
}

void GrownTree::write_splits(const SplitArrays& splits) const {
    const SplitArrays out = splits;
    for (size_t i = 0; i < nodes.size(); ++i) {
        // A leaf has the threshold 0, no children and no category.
        const TreeNode& node = nodes[i];
        out.feature[i] = node.feature;
        out.threshold[i] = node.threshold;
        out.right[i] = node.right;
        out.missing_left[i] = node.missing_left;
        out.category_offset[i] = node.category_offset;
    }
}

void GrownTree::write_leaf_offsets(int64_t* leaf_offsets) const {
    for (const TreeNode& node : nodes) {
        *leaf_offsets = node.begin;  // the next leaf writes over what is none
        leaf_offsets += node.feature == kNoFeature;
    }
    *leaf_offsets = static_cast<int64_t>(rows.size());
}

void GrownTree::sum_gains(double* gains, int64_t n_features) const {
    // Leaves, whose gain is 0, have a place before the first feature.
    std::vector<double> sums(n_features + 1, 0.0);
    for (const TreeNode& node : nodes)
        // A split cannot take off more than there is, whatever weights far apart are rounded to.
        sums[node.feature + 1] += std::min(node.gain, node.impurity);
    std::copy(sums.begin() + 1, sums.end(), gains);
}

}  // namespace polyleaf
