// Random cuts of dense numeric features, several at a time: a cut needs no order of the rows, only
// the sums of the channels on one of its sides.
#pragma once

#include <cstdint>
#include <vector>

#include "split_search.hpp"
#include "subset_gains.hpp"

namespace ramify {

class CutSearch {
  public:
    explicit CutSearch(Workspace& workspace);

    // The best of one random cut per feature, for a node with centred channels.
    void search(const SearchNode& node, const int32_t* features, const uint64_t* ranks,
                size_t n_features, Split& best);

    uint64_t work() const { return work_ + subset_gains_.work; }

  private:
    // One side of a candidate: the rows whose flag is set.
    struct Candidate {
        int32_t feature = 0;
        uint64_t rank = 0;
        bool takes_values = false, takes_missing = false;  // what the flagged side holds
        bool has_missing = false;
        int64_t n_side = 0;
        uint8_t left_max = 0;
        double threshold = 0.0;
    };

    void search_pair(const SearchNode& node, const int32_t* features, const uint64_t* ranks,
                     size_t n_features, Split& best);
    void read_codes(const SearchNode& node, int32_t feature);
    void add_candidates(const SearchNode& node, int32_t feature, uint64_t rank, Split& best);
    // The cut of the candidate's feature between two codes of the node.
    void draw_cut(const SearchNode& node, uint8_t first, uint8_t last, Candidate& candidate) const;
    void add(const SearchNode& node, Candidate candidate, Split& best);
    void score(const SearchNode& node, Split& best);
    void offer(const SearchNode& node, const Candidate& candidate, float gain, Split& best) const;

    Workspace& workspace_;
    const Kernels& kernels_;
    SubsetGains subset_gains_;
    bool is_tiny_ = false;
    std::vector<uint8_t> codes_;         // of one feature, in node order
    std::vector<Candidate> candidates_;  // waiting to be scored together
    std::vector<float> flags_;           // a column of rows per candidate
    uint64_t work_ = 0;
};

}  // namespace ramify
