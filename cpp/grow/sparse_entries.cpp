#include "grow/sparse_entries.hpp"

#include <algorithm>

namespace polyleaf {

namespace {

// Fewer rows are not worth a listing, nor are rows with so few entries that clearing the places of
// all features would cost more than the entries do.
constexpr int64_t kMinListedRows = 12;
constexpr double kMinEntriesPerSlot = 0.25;
// What it costs to list an entry, in looks at an entry.
constexpr double kListingCost = 2.0;

}  // namespace

SparseEntries::SparseEntries(const Workspace& workspace)
    : workspace_(workspace),
      begin_(workspace.binned.n_sparse),
      count_(workspace.binned.n_sparse),
      wanted_(workspace.binned.n_sparse) {
    const BinnedView& binned = workspace.binned;
    if (binned.n_sparse == 0) return;
    entries_per_row_ = static_cast<double>(binned.sparse_indptr[binned.n_rows]) / binned.n_rows;
    has_codes_ = !workspace.plan.is_incremental;
    for (int32_t slot = 0; slot < binned.n_sparse; ++slot)
        has_codes_ |= !binned.is_two_valued[binned.sparse_features[slot]];
}

template <typename Visit>
void SparseEntries::each_entry(const NodeRange& range, Visit&& visit) const {
    const BinnedView& binned = workspace_.binned;
    for (int64_t i = range.begin; i < range.end; ++i) {
        if ((i - range.begin) % kRowsPerCheck == kRowsPerCheck - 1) workspace_.interrupt.check();
        const int32_t row = workspace_.rows[i];
        for (int64_t e = binned.sparse_indptr[row]; e < binned.sparse_indptr[row + 1]; ++e)
            visit(i, binned.sparse_slot[e], e);
    }
}

void SparseEntries::collect(const NodeRange& range, const std::vector<int32_t>* slots) {
    for (int32_t slot : touched_) count_[slot] = 0;
    touched_.clear();
    Listing* const listing =
        slots && workspace_.plan.is_incremental ? listing_for(range, *slots) : nullptr;
    if (listing)
        collect_by_feature(range, *slots, *listing);
    else
        collect_by_row(range, slots);
}

void SparseEntries::collect_by_row(const NodeRange& range, const std::vector<int32_t>* slots) {
    if (slots)
        for (int32_t slot : *slots) wanted_[slot] = 1;
    found_.clear();
    each_entry(range, [&](int64_t position, int32_t slot, int64_t entry) {
        if (slots && !wanted_[slot]) return;
        if (count_[slot]++ == 0) touched_.push_back(slot);
        found_.push_back({slot, static_cast<uint32_t>(position - range.begin), entry});
    });
    int64_t total = 0;
    for (int32_t slot : touched_) {
        begin_[slot] = total;
        total += count_[slot];
        count_[slot] = 0;
    }
    rows_.resize(total);
    if (has_codes_) codes_.resize(total);
    for (const Found& found : found_) {
        const int64_t at = begin_[found.slot] + count_[found.slot]++;
        rows_[at] = found.place;
        if (has_codes_) codes_[at] = workspace_.binned.listed_code(found.entry);
    }
    if (slots)
        for (int32_t slot : *slots) wanted_[slot] = 0;
}

void SparseEntries::collect_by_feature(const NodeRange& range, const std::vector<int32_t>& slots,
                                       Listing& listing) {
    size_t n_listed = 0;
    for (int32_t slot : slots) n_listed += listing.begin[slot + 1] - listing.begin[slot];
    if (rows_.size() < n_listed + 1) rows_.resize(n_listed + 1);
    if (has_codes_ && codes_.size() < n_listed + 1) codes_.resize(n_listed + 1);
    const uint32_t n_rows = static_cast<uint32_t>(range.size());
    const uint32_t first = static_cast<uint32_t>(range.begin);
    int64_t total = 0;
    for (int32_t slot : slots) {
        begin_[slot] = total;
        for (int64_t e = listing.begin[slot]; e < listing.begin[slot + 1]; ++e) {
            const uint32_t place =
                static_cast<uint32_t>(workspace_.position[listing.rows[e]]) - first;
            rows_[total] = place;
            if (has_codes_) codes_[total] = listing.codes[e];
            total += place < n_rows;  // what is not of the node is overwritten
        }
        count_[slot] = total - begin_[slot];
        touched_.push_back(slot);
    }
    listing.n_vain += static_cast<int64_t>(n_listed) - total;
}

SparseEntries::Listing* SparseEntries::listing_for(const NodeRange& range,
                                                   const std::vector<int32_t>& slots) {
    while (n_listings_ > 0 && !listings_[n_listings_ - 1].range.contains(range)) --n_listings_;
    const double by_row = entries_per_row_ * range.size();
    const bool may_list = range.size() >= kMinListedRows &&
                          by_row >= kMinEntriesPerSlot * workspace_.binned.n_sparse;
    if (n_listings_ == 0) return may_list ? &make_listing(range) : nullptr;
    Listing& last = listings_[n_listings_ - 1];
    if (may_list && 2 * range.size() <= last.range.size() && last.n_vain >= kListingCost * by_row)
        return &make_listing(range);
    int64_t by_feature = 0;
    for (int32_t slot : slots) by_feature += last.begin[slot + 1] - last.begin[slot];
    if (by_feature <= by_row) return &last;
    return may_list ? &make_listing(range) : nullptr;
}

SparseEntries::Listing& SparseEntries::make_listing(const NodeRange& range) {
    if (n_listings_ == listings_.size()) listings_.emplace_back();
    Listing& listing = listings_[n_listings_++];
    listing.range = range;
    listing.n_vain = 0;
    listing.begin.assign(workspace_.binned.n_sparse + 1, 0);
    each_entry(range, [&](int64_t, int32_t slot, int64_t) { ++listing.begin[slot]; });
    int64_t total = 0;
    for (int64_t& begin : listing.begin) begin = total += begin;
    listing.rows.resize(total);
    if (has_codes_) listing.codes.resize(total);
    // Filled from the back, so that each begin arrives at its place.
    for (int64_t i = range.end; i-- > range.begin;) {
        const int32_t row = workspace_.rows[i];
        for (int64_t e = workspace_.binned.sparse_indptr[row];
             e < workspace_.binned.sparse_indptr[row + 1]; ++e) {
            const int64_t at = --listing.begin[workspace_.binned.sparse_slot[e]];
            listing.rows[at] = row;
            if (has_codes_) listing.codes[at] = workspace_.binned.listed_code(e);
        }
    }
    return listing;
}

}  // namespace polyleaf
