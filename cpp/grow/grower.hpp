// Grows one tree on q channels; leaf values in all outputs are made afterwards (leaves.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "base/data.hpp"
#include "base/parallel.hpp"
#include "grow/plan.hpp"

namespace polyleaf {

constexpr int32_t kNoFeature = -1;
constexpr uint8_t kLimitLater = 255;  // more than any limit

struct TreeNode {
    int32_t feature = kNoFeature;  // kNoFeature: a leaf
    int32_t left = -1, right = -1;
    bool missing_left = false;
    // A random cut whose threshold is not made yet: between codes `first` and `last`, behind
    // `limit` or kLimitLater; `threshold` holds where it fell, in [0, 1). No such cut if they are
    // equal.
    uint8_t cut_first = 0, cut_last = 0, cut_limit = 0;
    int64_t category_offset = -1;  // into GrownTree::category_words; -1: a numeric split
    double threshold = 0.0;        // value <= threshold goes left
    int32_t begin = 0, end = 0;    // the node's rows in GrownTree::rows
    int64_t n_samples = -1;        // rows of all workers; -1: end - begin
    double weight = 0.0;           // sum of h, averaged over channels when h is per channel
    double impurity = 0.0;         // sum over channels of the weighted squared deviations
    double gain = 0.0;             // what the split takes off the criterion; 0 for a leaf
};

// Arrays with one entry per node that lead rows down a tree.
struct SplitArrays {
    int32_t* feature;
    double* threshold;
    int32_t* right;
    uint8_t* missing_left;
    int64_t* category_offset;
};

struct GrownTree {
    std::vector<TreeNode> nodes;           // preorder: the left child follows its parent
    std::vector<uint32_t> category_words;  // bit c of a split's words: category c goes left
    std::vector<int32_t> rows;             // training rows, leaf after leaf
    uint64_t work = 0;                     // (row, feature, channel) triples that were added up
    SearchPlan plan;                       // by which its nodes were searched
    FinderCounts finder_counts;            // how many of them each finder served

    // One more than the last feature of a split.
    int32_t n_features() const;
    void write_splits(const SplitArrays& splits) const;
    // leaf_offsets: OUT (n_leaves + 1,) where the rows of each leaf begin.
    void write_leaf_offsets(int64_t* leaf_offsets) const;
    // gains: OUT (n_features,) sum over the splits of each feature.
    void sum_gains(double* gains, int64_t n_features) const;
};

// rows: the training rows to use (each weight positive), n_rows >= 1.
GrownTree grow_tree(const BinnedView& binned, const ChannelsView& channels, const int32_t* rows,
                    int64_t n_rows, const GrowParams& params, Interrupt& interrupt);

}  // namespace polyleaf
