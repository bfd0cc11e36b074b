// Subtrees of a few rows, where most nodes of a full tree are: each is a set of bits, and nothing
// of it is moved or added up until its leaves are known.
#pragma once

#include <cstdint>
#include <vector>

#include "bin/row_codes.hpp"
#include "grow/feature_draw.hpp"
#include "grow/random_cut.hpp"
#include "grow/row_subsets.hpp"
#include "grow/split.hpp"

namespace polyleaf {

class SmallSearch {
  public:
    // guide: for random cuts of dense features, whose codes the workspace has row by row.
    SmallSearch(Workspace& workspace, const CutGuide* guide);

    // Takes the rows of a node; row i of the range is bit i.
    void start(const NodeRange& range, ChannelStore* store);
    double weight(uint32_t rows) const { return subsets_.weight(rows); }
    double impurity(uint32_t rows) const { return subsets_.impurity(rows); }
    // The best split of some of the rows, left as it is if there is none; returns those that go
    // left.
    uint32_t find(uint32_t rows, uint64_t seed, Split& best);
    // Puts the rows of a leaf where they belong.
    void place(uint32_t rows, int64_t begin);

    uint64_t work() const { return subsets_.work; }
    FinderCounts counts;

  private:
    // A random cut between two codes.
    struct Cut {
        uint8_t first = 0, last = 0;
    };
    // The node at hand and the best that was found for it.
    struct Node {
        uint32_t rows;
        int n_rows;
        uint64_t seed;
        Split& best;
        uint32_t left = 0;
        Cut cut = {};
        bool is_cut = false;  // the threshold is still to be made from `cut`
    };

    bool draws_features() const { return workspace_.plan.draws_features; }
    uint8_t code_of(int i, int32_t home) const {
        return row_codes_[i][guide_ ? home : workspace_.dense_base(home)];
    }
    // Keeps the division if it is the best so far; the caller tells it in terms of the feature.
    bool offer(Node& node, uint32_t left, int32_t feature, uint64_t rank) const {
        const double gain = subsets_.gain(node.rows, left);
        if (gain < 0.0 || gain < node.best.least_rival() || !node.best.beaten_by(gain, rank))
            return false;
        const int n_left = count_bits(left);
        node.best.take(gain, rank, feature, n_left, 2 * n_left >= node.n_rows);
        node.left = left;
        return true;
    }
    void find_dense(Node& node);
    void find_two_valued(Node& node);
    void sort_feature(Node& node, int32_t feature, uint64_t rank) const;
    double least_of_best(const Node& node) const;
    void cut_feature(Node& node, int32_t feature, uint64_t rank) const;
    void cut_all(Node& node);
    void cut_two_rows(Node& node) const;
    // False if a value is missing.
    bool cut_pair(Node& node, int32_t feature, uint64_t rank) const;
    void cut_drawn(Node& node);
    template <typename RankOf>
    void cut_some(Node& node, RankOf&& rank_of);
    void offer_cut(Node& node, int32_t feature, uint32_t present, uint32_t left, const Cut& cut,
                   uint64_t rank) const;
    void list_columns();
    void offer_column(Node& node, int32_t feature, uint64_t rank) const;
    void offer_first(Node& node) const;

    Workspace& workspace_;
    const Kernels& kernels_;
    const CutGuide* guide_;
    const Finder finder_;  // small_cuts, small_sorted or small_flags
    RowSubsets subsets_;
    FeatureDraw draw_;
    const uint8_t* codes_ = nullptr;
    int64_t code_stride_ = 0;
    int n_ = 0;
    int32_t rows_[RowSubsets::kMostRows];
    const uint8_t* row_codes_[RowSubsets::kMostRows];  // codes_ of those rows
    float weights_[RowSubsets::kMostRows];
    FewRowsCutTask few_cuts_;       // features that wait to be cut together
    std::vector<uint8_t> columns_;  // per feature: the rows that differ from its default
    std::vector<int32_t> touched_;  // those where any row differs
};

}  // namespace polyleaf
