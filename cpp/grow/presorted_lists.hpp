// The rows of a subtree in the order of every dense numeric feature, kept in order while the
// subtree is split: a node finds its rows sorted instead of sorting them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "grow/list_search.hpp"

namespace polyleaf {

// What one thread needs to keep lists in order.
struct ListScratch {
    std::vector<uint32_t> spill;
    std::vector<uint64_t> ranks;
};

class PresortedLists {
  public:
    // features: the dense numeric features of the data.
    PresortedLists(Workspace& workspace, const std::vector<int32_t>& features);

    void start(const NodeRange& subtree);
    // Uses the lists of a whole tree, each node's part of which belongs to one thread at a time.
    void share(const PresortedLists& whole);
    void stop() { is_active_ = false; }
    bool is_active() const { return is_active_; }

    // The best split of a node of the subtree.
    void search(const SearchNode& node, ListSearch& lists, Split& best);
    // After a split: `left` holds the side of each row of the node before it was reordered.
    void split(const NodeRange& range, const std::vector<uint8_t>& left);

    // The same for some of the features, by any thread: `note_moves` comes before the splits.
    void search(const SearchNode& node, size_t first, size_t last, ListSearch& lists,
                ListScratch& scratch, Split& best) const;
    // Of a child, whose lists `split` has just made.
    void search_parts(const SearchNode& child, size_t first, size_t last, ListSearch& lists,
                      ListScratch& scratch, Split& best) const;
    void note_moves(const NodeRange& range, const std::vector<uint8_t>& left);
    void split(const NodeRange& range, size_t first, size_t last, ListScratch& scratch) const;
    // After all features were split.
    void end_split() { origin_ = nullptr; }

  private:
    int32_t tile_of(int32_t feature) const {
        return workspace_.feature_home[feature] / kTileFeatures;
    }
    uint32_t* list(size_t feature, const NodeRange& range) const {
        return entries_->data() + feature * stride_ + (range.begin - subtree_.begin);
    }
    void search(const SearchNode& node, const uint32_t* entries, size_t first, size_t last,
                ListSearch& lists, ListScratch& scratch, Split& best) const;
    const uint32_t* sorted(size_t feature, const NodeRange& range) const {
        return origin_ ? origin_ + feature * stride_ : list(feature, range);
    }

    Workspace& workspace_;
    const Kernels& kernels_;
    const std::vector<int32_t>& features_;
    bool is_active_ = false;
    NodeRange subtree_;
    size_t stride_ = 0;
    std::shared_ptr<AlignedVector<uint32_t>> entries_;
    // Lists that came sorted, which are copied one by one as the first node is split.
    const uint32_t* origin_ = nullptr;
    std::vector<uint16_t> moves_;
    ListScratch scratch_;
};

}  // namespace polyleaf
