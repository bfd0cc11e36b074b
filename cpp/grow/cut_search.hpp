// Random cuts of dense numeric features, many at a time: a cut needs no order of the rows, only
// which rows lie on its smaller side, and the sums of their channels.
#pragma once

#include <cstdint>
#include <vector>

#include "bin/row_codes.hpp"
#include "grow/feature_search.hpp"
#include "grow/random_cut.hpp"

namespace polyleaf {

class CutSearch {
  public:
    // The workspace must have its codes row by row.
    CutSearch(Workspace& workspace, const CutGuide& guide);

    // The best of one random cut per feature, for a node with centred channels. ranks: of the
    // features, or null: `feature_rank`.
    void search(const SearchNode& node, const int32_t* features, const uint64_t* ranks,
                size_t n_features, Split& best);

    // Those of the last node's rows that go left of its cut, as bits; null if it is another node's
    // cut, or another one.
    const uint64_t* left_rows(const NodeRange& range, const Split& split) const {
        const bool is_last = range.begin == range_.begin && range.end == range_.end;
        return is_last && chosen_.home >= 0 &&
                       split.feature == workspace_.binned.dense_features[chosen_.home]
                   ? chosen_rows_.data()
                   : nullptr;
    }

    uint64_t work() const { return work_; }

  private:
    enum class Left : uint8_t { below, below_and_missing, values };  // what goes left

    struct Candidate {
        int32_t home = -1;  // dense feature; -1: none
        Left left = Left::below;
        bool has_missing = false;
        uint8_t limit = 0;  // last code on the left
        int64_t n_left = 0;
    };
    // Features whose codes are neighbours, and what is known of them in the node.
    struct Group {
        int32_t begin = 0;     // the first column
        uint64_t columns = 0;  // bits of the features to look at
        uint64_t missing = 0;  // of those with values and missing rows
        uint64_t cut = 0;      // of those with at least two values; in their order:
        int n_cuts = 0;
        int32_t homes[kCodeColumns];
        uint8_t limits[kCodeColumns];  // last code on the left
        // Per column: smallest and largest code of a value
        uint8_t least[kCodeColumns], largest[kCodeColumns];
    };
    // Rows of a node as bits, per column, and how many there are.
    struct Masks {
        std::vector<uint64_t> words;
        int32_t counts[kCodeColumns];
    };

    void search_groups(const SearchNode& node, const int32_t* features, const uint64_t* ranks,
                       size_t n_features, Split& best);
    void draw_cuts(const SearchNode& node, Group& group) const;
    void fill_masks(const SearchNode& node, int32_t begin, uint64_t columns, const uint8_t* limits,
                    Masks& masks) const;
    void search_group(const SearchNode& node, Group& group, Split& best);
    void search_missing(const SearchNode& node, const Group& group, Split& best);
    // A candidate and the rows on its left, which are replaced by the smaller side.
    void add(const SearchNode& node, const Candidate& candidate, uint64_t* left, Split& best);
    void score(const SearchNode& node, Split& best);
    double weight_of(const SearchNode& node, const uint64_t* side) const;
    // Keeps the candidate if it is better than `best`; what only the winner needs comes later.
    bool offer(const SearchNode& node, const Candidate& candidate, float gain, Split& best);
    void finish(const SearchNode& node, Split& best) const;

    Workspace& workspace_;
    const Kernels& kernels_;
    const RowCodes& codes_;
    const CutGuide& guide_;
    const bool are_few_;   // of the features, in every node
    int64_t n_words_ = 0;  // of 64 rows each
    Group group_;
    std::vector<int32_t> group_numbers_;  // of the node
    std::vector<uint64_t> columns_;       // per group of columns; zeros between nodes
    bool has_ranks_ = false;
    std::vector<uint64_t> ranks_;  // per dense feature of the node, if they are given
    Masks below_, present_;
    std::vector<uint64_t> below_or_missing_;
    // Candidates that wait to be scored together, and the smaller side of each.
    int n_waiting_ = 0;
    Candidate waiting_[kMostSides];
    const uint64_t* sides_[kMostSides];
    NodeRange range_;  // of the last node
    Candidate chosen_;
    std::vector<uint64_t> chosen_rows_;           // those on its left
    uint8_t chosen_first_ = 0, chosen_last_ = 0;  // smallest and largest code of its feature
    uint64_t work_ = 0;
};

}  // namespace polyleaf
