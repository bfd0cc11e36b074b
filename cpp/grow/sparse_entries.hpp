// A node's entries of sparse features: what differs from each feature's default code.
#pragma once

#include <cstdint>
#include <vector>

#include "grow/workspace.hpp"

namespace polyleaf {

// There are two ways to find them. By row: every entry of every row of the node is looked at,
// whatever the features that are wanted. By feature: the entries of an ancestor, listed feature by
// feature, are looked up in the node; that costs what the wanted features list in the ancestor.
// Trees on sparse features are lopsided, and a child is seldom much smaller than its parent: lists
// are made anew once the looking up in vain has cost as much as making them.
class SparseEntries {
  public:
    explicit SparseEntries(const Workspace& workspace);

    // slots: the features to collect, or null for all of them.
    void collect(const NodeRange& range, const std::vector<int32_t>* slots);
    const std::vector<int32_t>& touched() const { return touched_; }
    int64_t count(int32_t slot) const { return count_[slot]; }
    const uint32_t* rows(int32_t slot) const { return rows_.data() + begin_[slot]; }
    const uint32_t* codes(int32_t slot) const { return codes_.data() + begin_[slot]; }

    // Drops the lists, before another thread moves the rows they are about.
    void forget() { n_listings_ = 0; }

  private:
    // The entries of the rows of a node, feature by feature.
    struct Listing {
        NodeRange range;
        std::vector<int64_t> begin;   // (n_slots + 1,)
        std::vector<int32_t> rows;    // original rows
        std::vector<uint32_t> codes;  // empty if all features have two values
        int64_t n_vain = 0;           // entries that were looked up in vain
    };

    struct Found {
        int32_t slot;
        uint32_t place;  // of the row in the node
        int64_t entry;
    };

    template <typename Visit>
    void each_entry(const NodeRange& range, Visit&& visit) const;
    void collect_by_row(const NodeRange& range, const std::vector<int32_t>* slots);
    void collect_by_feature(const NodeRange& range, const std::vector<int32_t>& slots,
                            Listing& listing);
    // The listing to collect from, or null: by row.
    Listing* listing_for(const NodeRange& range, const std::vector<int32_t>& slots);
    Listing& make_listing(const NodeRange& range);

    const Workspace& workspace_;
    double entries_per_row_ = 0.0;
    bool has_codes_ = false;
    std::vector<int64_t> begin_, count_;
    std::vector<uint8_t> wanted_;
    std::vector<int32_t> touched_;
    std::vector<Found> found_;
    std::vector<uint32_t> rows_, codes_;
    std::vector<Listing> listings_;  // nested; those from n_listings_ on wait to be used again
    size_t n_listings_ = 0;
};

}  // namespace polyleaf
