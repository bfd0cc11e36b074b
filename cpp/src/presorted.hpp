// The rows of a small subtree in the order of every dense numeric feature, kept in order while
// the subtree is split: a node finds its rows sorted instead of sorting them.
#pragma once

#include <cstdint>
#include <vector>

#include "split_search.hpp"

namespace ramify {

class PresortedLists {
  public:
    // features: the dense numeric features of the data.
    PresortedLists(Workspace& workspace, const std::vector<int32_t>& features);

    static constexpr int64_t kMaxRows = 4096;
    // Whether lists for this many rows stay small enough for the second-level cache.
    static bool worthwhile(int64_t n_rows, size_t n_features);

    void start(const NodeRange& subtree);
    void stop() { is_active_ = false; }
    bool is_active() const { return is_active_; }

    // The best split of a node of the subtree; ranks[i] belongs to features[i].
    void search(const SearchNode& node, Split& best);
    // After a split: `left` holds the side of each row of the node before it was reordered.
    void split(const NodeRange& range, const std::vector<uint8_t>& left);

    uint64_t work = 0;

  private:
    uint32_t* list(size_t feature, const NodeRange& range) {
        return entries_.data() + feature * stride_ + (range.begin - subtree_.begin);
    }
    void prepare(const SearchNode& node);
    // Nodes of a few rows: the gain of every way to divide them is cheaper to tabulate once than
    // to find anew for every feature.
    bool is_tiny(int64_t n_rows) const;
    void search_tiny(const SearchNode& node, Split& best);
    void tabulate_gains(const SearchNode& node);
    void search_list(const SearchNode& node, size_t feature, Split& best);
    void search_pass(const SearchNode& node, size_t feature, const uint32_t* entries,
                     int64_t n_values, int64_t n_missing, bool missing_left, Split& best);
    void fill_factors(const SearchNode& node, const uint32_t* entries, int64_t n_values,
                      const uint32_t* missing, int64_t n_missing, bool missing_left);
    void keep(const SearchNode& node, size_t feature, double gain, const uint32_t* entries,
              int64_t cut, int64_t n_left, bool missing_left, Split& best) const;

    Workspace& workspace_;
    const Kernels& kernels_;
    const std::vector<int32_t>& features_;
    bool is_active_ = false;
    NodeRange subtree_;
    size_t stride_ = 0;
    std::vector<uint32_t> entries_, spill_;
    std::vector<uint16_t> moves_;
    std::vector<float> norms_, factors_, unit_factors_;
    std::vector<uint64_t> ranks_;
    std::vector<float> subset_norms_;
    std::vector<float> gains_by_subset_;  // bit r set: row r on the one side
};

}  // namespace ramify
