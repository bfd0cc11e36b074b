// Scores the cuts of one numeric feature, given the node's rows in its order as a packed list.
#pragma once

#include <cstdint>
#include <vector>

#include "grow/feature_search.hpp"
#include "grow/subset_gains.hpp"

namespace polyleaf {

static_assert(kMostOrderedRows <= kRightChild, "a move holds a place and a side");

// One pass over a list: its values in order, then its missing rows, which go to one of the sides.
struct ListPass {
    const uint32_t* entries = nullptr;
    int64_t n_values = 0, n_missing = 0;
    bool missing_left = false;

    // Rows that are left before any value.
    int64_t n_before() const { return missing_left ? n_missing : 0; }
    const uint32_t* missing() const { return entries + n_values; }
    // With the missing rows right, the last cut parts values from missing.
    int64_t n_cuts() const { return missing_left || n_missing == 0 ? n_values - 1 : n_values; }
};

class ListSearch {
  public:
    explicit ListSearch(Workspace& workspace);

    // Prepares for the features of a node with centred channels; n_features: how many will come.
    void start(const SearchNode& node, NodeKind kind, size_t n_features);
    // entries: the node's rows in the order of the feature, with room to read ahead.
    void search(const SearchNode& node, int32_t feature, uint64_t rank, const uint32_t* entries,
                Split& best);
    // The same for all features; the list of feature i starts at entries + i * stride.
    void search_all(const SearchNode& node, const int32_t* features, const uint64_t* ranks,
                    size_t n_features, const uint32_t* entries, size_t stride, Split& best);
    // The node's rows in the order of a dense feature.
    const uint32_t* sort(const NodeRange& range, int32_t feature);

    uint64_t work() const { return work_ + subset_gains_.work; }
    FinderSet used;  // of the node at hand

  private:
    // Plain lists, without long groups.
    void search_pairs(const SearchNode& node, int n_pairs, const int32_t* features,
                      const uint64_t* ranks, const uint32_t* entries, size_t stride, Split& best);
    void search_groups(const SearchNode& node, int n_lists, const int32_t* features,
                       const uint64_t* ranks, const uint32_t* entries, size_t stride, Split& best);
    // Whether a list varies, and nothing is missing.
    bool is_plain(const SearchNode& node, const uint32_t* entries) const;
    // Whether lists of one block are better walked one by one.
    bool is_long(const SearchNode& node, const uint32_t* entries) const;
    // Whether a list varies and is walked from code to code (Limit::groups_pay).
    bool is_grouped(const SearchNode& node, const uint32_t* entries) const;
    void search_pass(const SearchNode& node, int32_t feature, uint64_t rank, const ListPass& pass,
                     Split& best);
    void choose(const SearchNode& node, int32_t feature, uint64_t rank, const ListPass& pass,
                const float* norms, Split& best);
    // The same from norms that belong to the ends of groups of one code.
    void choose_group(const SearchNode& node, int32_t feature, uint64_t rank, const ListPass& pass,
                      const uint32_t* ends, const float* norms, int64_t n_cuts, Split& best);
    // Gains of the cuts of a pass over their squared norms, and the cuts that leave both sides
    // enough rows.
    ListBestTask cuts_of(const SearchNode& node, const ListPass& pass, int list = 0);
    // The first cut of the best gain, if that beats others.
    void keep_first(const SearchNode& node, int32_t feature, uint64_t rank, const ListPass& pass,
                    const ListBestTask& task, float gain, Split& best) const;
    void search_tiny(const SearchNode& node, const int32_t* features, const uint64_t* ranks,
                     size_t n_features, const uint32_t* entries, size_t stride, Split& best) const;
    void fill_factors(const SearchNode& node, const ListPass& pass, float* factors);
    void keep(const SearchNode& node, int32_t feature, uint64_t rank, double gain,
              const ListPass& pass, int64_t cut, Split& best) const;
    void keep(int32_t feature, uint64_t rank, double gain, const uint32_t* entries, int64_t cut,
              int64_t n_left, bool missing_left, Split& best) const;

    Workspace& workspace_;
    const Kernels& kernels_;
    SubsetGains subset_gains_;
    bool is_tiny_ = false;
    std::vector<uint32_t> sorted_;
    std::vector<float> norms_[2 * kMostPairs], factors_[2 * kMostPairs];  // of the lists at hand
    std::vector<float> unit_factors_, inverses_;  // of the node; of 0, 1, 2, ...
    std::vector<double> prefixes_;
    AlignedVector<float> group_sums_;
    float group_norms_[2][kMostLists][kMostGroups] = {};  // without and with missing rows
    uint32_t group_ends_[kMostLists][kMostGroups + kListReadAhead] = {};
    uint64_t work_ = 0;
};

// The rows of a range as list entries in the order of a dense feature; `out` has room for them.
void sort_entries(const Workspace& workspace, const Kernels& kernels, const NodeRange& range,
                  int32_t feature, uint32_t* out);
// The same for up to four features of one tile, whose codes are read once for all.
void sort_entries_of_tile(const Workspace& workspace, const Kernels& kernels,
                          const NodeRange& range, const int32_t* features, size_t n_features,
                          uint32_t* const* out);

}  // namespace polyleaf
