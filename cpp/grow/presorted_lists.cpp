#include "grow/presorted_lists.hpp"

#include <algorithm>

#include "base/random.hpp"

namespace polyleaf {

PresortedLists::PresortedLists(Workspace& workspace, const std::vector<int32_t>& features)
    : workspace_(workspace), kernels_(kernels_for(workspace.lanes)), features_(features) {}

void PresortedLists::start(const NodeRange& subtree) {
    subtree_ = subtree;
    is_active_ = true;
    stride_ = static_cast<size_t>(subtree.size());
    if (!entries_) entries_ = std::make_shared<AlignedVector<uint32_t>>();
    entries_->resize(features_.size() * stride_ + kListReadAhead);
    if (workspace_.plan.has_row_orders && subtree.size() == workspace_.n_rows) {
        origin_ = workspace_.binned.row_orders;
        return;
    }
    origin_ = nullptr;
    for (size_t f = 0; f < features_.size();) {
        uint32_t* lists[kTileFeatures];
        size_t n = 0;
        for (; n < kTileFeatures && f + n < features_.size() &&
               tile_of(features_[f + n]) == tile_of(features_[f]);
             ++n)
            lists[n] = list(f + n, subtree);
        sort_entries_of_tile(workspace_, kernels_, subtree, features_.data() + f, n, lists);
        f += n;
    }
}

void PresortedLists::share(const PresortedLists& whole) {
    subtree_ = whole.subtree_;
    stride_ = whole.stride_;
    entries_ = whole.entries_;
    origin_ = whole.origin_;
    is_active_ = true;
}

void PresortedLists::search(const SearchNode& node, ListSearch& lists, Split& best) {
    lists.start(node, NodeKind::listed, features_.size());
    search(node, 0, features_.size(), lists, scratch_, best);
}

void PresortedLists::search(const SearchNode& node, size_t first, size_t last, ListSearch& lists,
                            ListScratch& scratch, Split& best) const {
    search(node, sorted(first, node.range), first, last, lists, scratch, best);
}

void PresortedLists::search_parts(const SearchNode& child, size_t first, size_t last,
                                  ListSearch& lists, ListScratch& scratch, Split& best) const {
    search(child, list(first, child.range), first, last, lists, scratch, best);
}

void PresortedLists::search(const SearchNode& node, const uint32_t* entries, size_t first,
                            size_t last, ListSearch& lists, ListScratch& scratch,
                            Split& best) const {
    scratch.ranks.resize(last - first);
    for (size_t f = first; f < last; ++f)
        scratch.ranks[f - first] = feature_rank(node.seed, features_[f]);
    lists.search_all(node, features_.data() + first, scratch.ranks.data(), last - first, entries,
                     stride_, best);
}

void PresortedLists::split(const NodeRange& range, const std::vector<uint8_t>& left) {
    note_moves(range, left);
    split(range, 0, features_.size(), scratch_);
    end_split();
}

void PresortedLists::note_moves(const NodeRange& range, const std::vector<uint8_t>& left) {
    const int64_t n = range.size();
    if (static_cast<int64_t>(moves_.size()) <= n) moves_.resize(n + 1);
    uint16_t places[2] = {0, 0};
    for (int64_t i = 0; i < n; ++i) {
        const int side = left[i] ? 0 : 1;
        moves_[i] = static_cast<uint16_t>(places[side]++ | (side ? kRightChild : 0));
    }
}

void PresortedLists::split(const NodeRange& range, size_t first, size_t last,
                           ListScratch& scratch) const {
    const size_t needed = static_cast<size_t>(range.size()) + kListReadAhead;
    if (scratch.spill.size() < needed) scratch.spill.resize(needed);
    ListSplitTask task;
    task.n_entries = range.size();
    task.moves = moves_.data();
    task.spill = scratch.spill.data();
    for (size_t f = first; f < last; ++f) {
        task.source = sorted(f, range);
        task.entries = list(f, range);
        kernels_.split_list(task);
    }
}

}  // namespace polyleaf
