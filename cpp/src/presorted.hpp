// The rows of a small subtree in the order of every dense numeric feature, kept in order while
// the subtree is split: a node finds its rows sorted instead of sorting them.
#pragma once

#include <cstdint>
#include <vector>

#include "list_search.hpp"

namespace ramify {

class PresortedLists {
  public:
    // features: the dense numeric features of the data.
    PresortedLists(Workspace& workspace, const std::vector<int32_t>& features);

    // Whether lists for this many rows stay small enough for the second-level cache.
    static bool is_worthwhile(int64_t n_rows, size_t n_features);

    void start(const NodeRange& subtree);
    void stop() { is_active_ = false; }
    bool is_active() const { return is_active_; }

    // The best split of a node of the subtree.
    void search(const SearchNode& node, ListSearch& lists, Split& best);
    // After a split: `left` holds the side of each row of the node before it was reordered.
    void split(const NodeRange& range, const std::vector<uint8_t>& left);

  private:
    uint32_t* list(size_t feature, const NodeRange& range) {
        return entries_.data() + feature * stride_ + (range.begin - subtree_.begin);
    }

    Workspace& workspace_;
    const Kernels& kernels_;
    const std::vector<int32_t>& features_;
    bool is_active_ = false;
    NodeRange subtree_;
    size_t stride_ = 0;
    std::vector<uint32_t> entries_, spill_;
    std::vector<uint16_t> moves_;
    std::vector<uint64_t> ranks_;
};

}  // namespace ramify
