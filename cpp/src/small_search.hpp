// Subtrees of a few rows, where most nodes of a full tree are: each is a set of bits, and nothing
// of it is moved or added up until its leaves are known.
#pragma once

#include <cstdint>
#include <vector>

#include "feature_draw.hpp"
#include "random_cut.hpp"
#include "row_codes.hpp"
#include "row_subsets.hpp"
#include "split.hpp"

namespace ramify {

class SmallSearch {
  public:
    // guide: for random cuts of dense features, whose codes the workspace has row by row.
    SmallSearch(Workspace& workspace, const CutGuide* guide);

    // Whether all features are of one of the kinds that it knows: dense numeric ones with random
    // cuts, or some drawn ones; or, where sums are derived from each other, those of two values.
    static bool knows(const Workspace& workspace);
    static bool is_small(const NodeRange& range) { return range.size() <= RowSubsets::kMostRows; }

    // Takes the rows of a node; row i of the range is bit i.
    void start(const NodeRange& range, ChannelStore* store);
    double weight(uint32_t rows) const { return subsets_.weight(rows); }
    double impurity(uint32_t rows) const { return subsets_.impurity(rows); }
    // The best split of some of the rows, and those of them that go left.
    Split find(uint32_t rows, uint64_t seed, uint32_t& left);
    // Puts the rows of a leaf where they belong.
    void place(uint32_t rows, int64_t begin);

    uint64_t work() const { return subsets_.work; }

  private:
    // A random cut between two codes, and the last code on its left.
    struct Cut {
        uint8_t first = 0, last = 0, limit = 0;
    };
    // The node at hand and the best that was found for it.
    struct Node {
        uint32_t rows = 0;
        int n_rows = 0;
        uint64_t seed = 0;
        Split best;
        uint32_t left = 0;
        Cut cut;
        bool is_cut = false;  // the threshold is still to be made from `cut`
    };

    bool draws_features() const {
        return workspace_.params.max_features < workspace_.binned.n_features;
    }
    uint8_t code_of(int i, int32_t home) const {
        return row_codes_[i][guide_ ? home : workspace_.dense_base(home)];
    }
    bool offer(Node& node, uint32_t left, int32_t feature, uint64_t rank) const;
    void find_dense(Node& node);
    void find_two_valued(Node& node);
    void sort_feature(Node& node, int32_t feature, uint64_t rank) const;
    double least_of_best(const Node& node) const;
    void cut_feature(Node& node, int32_t feature, uint64_t rank) const;
    void cut_all(Node& node);
    void cut_two_rows(Node& node) const;
    void cut_columns(Node& node, int32_t begin, uint64_t columns);
    void cut_drawn(Node& node);
    void cut_some_drawn(Node& node, int64_t begin, int64_t end);
    void offer_cut(Node& node, int32_t home, uint32_t present, const Cut* cut,
                   uint64_t rank) const;
    void list_columns();
    void offer_column(Node& node, int32_t feature, uint64_t rank) const;
    void offer_first(Node& node) const;

    Workspace& workspace_;
    const Kernels& kernels_;
    const CutGuide* guide_;
    RowSubsets subsets_;
    FeatureDraw draw_;
    const uint8_t* codes_ = nullptr;
    int64_t code_stride_ = 0;
    int n_ = 0;
    int32_t rows_[RowSubsets::kMostRows];
    const uint8_t* row_codes_[RowSubsets::kMostRows];  // codes_ of those rows
    float weights_[RowSubsets::kMostRows];
    std::vector<int32_t> drawn_;   // dense features of the node, as drawn
    std::vector<uint8_t> groups_;  // whether a group of codes is looked at; zeros between nodes
    std::vector<int32_t> group_numbers_;
    std::vector<uint8_t> least_, largest_, most_;  // codes per dense feature
    std::vector<uint8_t> columns_;  // per feature: the rows that differ from its default
    std::vector<int32_t> touched_;  // those where any row differs
};

}  // namespace ramify
