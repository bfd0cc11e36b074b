// How the rows of a node are parted between its children.
#include <algorithm>

#include "bin/row_codes.hpp"
#include "grow/split.hpp"
#include "grow/workspace.hpp"

namespace polyleaf {

namespace {

// Left items move forward in place, right ones behind them, both stable. Every item is stored on
// both sides, and only the pointer of its own side moves on.
template <typename T>
void part_items(T* items, int64_t n, const uint8_t* left, T* spill) {
    T* kept = items;
    T* spilt = spill;
    for (int64_t i = 0; i < n; ++i) {
        const T item = items[i];
        *kept = item;
        *spilt = item;
        kept += left[i];
        spilt += 1 - left[i];
    }
    std::copy(spill, spilt, kept);
}

}  // namespace

void Workspace::decide_sides(const NodeRange& range, const Split& split,
                             std::vector<uint8_t>& left) const {
    left.resize(range.size());
    auto side = [&](uint32_t code, uint32_t missing) -> uint8_t {
        return split.sends_left(code, missing);
    };
    const int32_t home = feature_home[split.feature];
    if (home >= 0 && binned.codes_u8 && !split.is_categorical) {
        const uint8_t* const codes =
            row_codes ? row_codes->codes.data() + home : binned.codes_u8 + dense_base(home);
        const int64_t stride = row_codes ? row_codes->stride : kTileFeatures;
        const uint8_t limit = static_cast<uint8_t>(split.left_code), missing = split.missing_left;
        for (int64_t i = 0; i < range.size(); ++i) {
            const uint8_t code = codes[rows[range.begin + i] * stride];
            left[i] = code == kMissingU8 ? missing : code <= limit;
        }
        return;
    }
    if (home >= 0) {
        const int64_t base = dense_base(home);
        for (int64_t i = 0; i < range.size(); ++i) {
            const int64_t at = base + int64_t{rows[range.begin + i]} * kTileFeatures;
            left[i] = binned.codes_u8 ? side(binned.codes_u8[at], kMissingU8)
                                      : side(binned.codes_u32[at], kMissingU32);
        }
        return;
    }
    const int32_t slot = ~home;
    const uint8_t default_side = side(binned.sparse_default[slot], kMissingU32);
    for (int64_t i = 0; i < range.size(); ++i) {
        const int32_t row = rows[range.begin + i];
        const int32_t* const first = binned.sparse_slot + binned.sparse_indptr[row];
        const int32_t* const last = binned.sparse_slot + binned.sparse_indptr[row + 1];
        const int32_t* const entry = std::lower_bound(first, last, slot);
        left[i] = entry != last && *entry == slot
                      ? side(binned.listed_code(entry - binned.sparse_slot), kMissingU32)
                      : default_side;
    }
}

int64_t Workspace::partition(const NodeRange& range, const Split& split, ChannelStore* store,
                             PartitionScratch& scratch) {
    std::vector<uint8_t>& left = scratch.left;
    decide_sides(range, split, left);
    const int64_t n = range.size();
    const int64_t width = store && n_blocks > 0 ? lanes : 1;
    if (static_cast<int64_t>(scratch.spilt_rows.size()) <= n) scratch.spilt_rows.resize(n + 1);
    if (static_cast<int64_t>(scratch.spilt_values.size()) < (n + 1) * width)
        scratch.spilt_values.resize((n + 1) * width);
    float* const spill = scratch.spilt_values.data();
    part_items(rows.data() + range.begin, n, left.data(), scratch.spilt_rows.data());
    if (channels.policy == HessianPolicy::shared)
        part_items(weights.data() + range.begin, n, left.data(), spill);
    if (store && n_blocks > 0) {
        if (n * channels.n_channels >= kAddsPerCheck) interrupt.check();
        kernels_.part_rows({gradient_blocks(*store, range), n, left.data(), spill});
        if (per_channel())
            kernels_.part_rows({hessian_blocks(*store, range), n, left.data(), spill});
    }
    int64_t n_left = 0;
    for (int64_t i = 0; i < n; ++i) n_left += left[i];
    return range.begin + n_left;
}

int64_t Workspace::partition_centred(const NodeRange& range, const Split& split,
                                     const uint64_t* left, ChannelStore& store,
                                     PartitionScratch& scratch, const bool needs_sums[2],
                                     NodeTotals totals[2]) {
    const int64_t n = range.size(), n_words = (n + 63) / 64;
    if (!left) {
        decide_sides(range, split, scratch.left);
        scratch.bits.assign(n_words, 0);
        for (int64_t i = 0; i < n; ++i)
            scratch.bits[i / 64] |= uint64_t{scratch.left[i]} << i % 64;
        left = scratch.bits.data();
    }
    const int64_t n_spilt = (n + 16) * lanes;
    if (static_cast<int64_t>(scratch.spilt_values.size()) < n_spilt)
        scratch.spilt_values.resize(n_spilt);
    float* const spill = scratch.spilt_values.data();
    const bool is_weighted = channels.policy == HessianPolicy::shared;
    kernels_.part_items({rows.data() + range.begin, n, left, spill});
    if (is_weighted) kernels_.part_items({weights.data() + range.begin, n, left, spill});
    if (n * channels.n_channels >= kAddsPerCheck) interrupt.check();
    PartCentredTask task;
    task.values = gradient_blocks(store, range);
    if (is_weighted) task.weights = weights.data() + range.begin;
    task.n_rows = n;
    task.n_left = split.n_left;
    task.left = left;
    task.spill = spill;
    task.rounding_share = kRoundingShare;
    const int64_t middle = range.begin + split.n_left;
    const NodeRange children[2] = {{range.begin, middle}, {middle, range.end}};
    for (int side = 0; side < 2; ++side) {
        totals[side] = {};
        if (!needs_sums[side]) continue;
        totals[side].n_rows = children[side].size();
        totals[side].weight = task.weight[side] = weight_of(children[side]);
        totals[side].centred = true;
    }
    kernels_.part_centred(task);
    for (int side = 0; side < 2; ++side)
        if (needs_sums[side]) totals[side].impurity = task.impurity[side];
    return middle;
}

void Workspace::swap_rows(int64_t a, int64_t b, ChannelStore* store) {
    std::swap(rows[a], rows[b]);
    position[rows[a]] = static_cast<int32_t>(a);
    position[rows[b]] = static_cast<int32_t>(b);
    if (channels.policy == HessianPolicy::shared) std::swap(weights[a], weights[b]);
    if (!store || n_blocks == 0) return;
    const Blocks g = gradient_blocks(*store, store->range);
    float* const first = g.data + (a - store->range.begin) * lanes;
    float* const second = g.data + (b - store->range.begin) * lanes;
    for (int32_t block = 0; block < n_blocks; ++block)
        std::swap_ranges(first + block * g.block_stride, first + block * g.block_stride + lanes,
                         second + block * g.block_stride);
}

int64_t Workspace::move_rows(const NodeRange& range, const std::vector<uint32_t>& movers,
                             bool to_left, ChannelStore* store, std::vector<uint8_t>& is_mover) {
    const int64_t n_moved = static_cast<int64_t>(movers.size());
    const int64_t first = to_left ? 0 : range.size() - n_moved, last = first + n_moved;
    if (static_cast<int64_t>(is_mover.size()) < range.size()) is_mover.resize(range.size(), 0);
    for (uint32_t place : movers) is_mover[place] = 1;
    int64_t free = first;
    for (uint32_t place : movers) {
        if (place >= first && place < last) continue;
        while (is_mover[free]) ++free;
        swap_rows(range.begin + free++, range.begin + place, store);
    }
    for (uint32_t place : movers) is_mover[place] = 0;
    return range.begin + (to_left ? n_moved : first);
}

}  // namespace polyleaf
