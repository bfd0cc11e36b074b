#include "list_search.hpp"

#include <algorithm>
#include <limits>

namespace ramify {

void sort_entries(const Workspace& workspace, const Kernels& kernels, const NodeRange& range,
                  int32_t feature, uint32_t* out) {
    const uint8_t* const codes =
        workspace.binned.codes_u8 + workspace.dense_base(workspace.feature_home[feature]);
    const int32_t* const rows = workspace.rows.data() + range.begin;
    const int64_t n = range.size();
    if (n <= kFewEntries) {
        kernels.sort_list({codes, kTileFeatures, rows, n, out});
        return;
    }
    auto entry_of = [&](int64_t i) {
        const uint32_t code = codes[int64_t{rows[i]} * kTileFeatures];
        return list_entry(code == kMissingU8 ? kMissingEntryCode : code, static_cast<uint32_t>(i));
    };
    uint32_t starts[257] = {};
    for (int64_t i = 0; i < n; ++i) ++starts[codes[int64_t{rows[i]} * kTileFeatures] + 1];
    for (int b = 0; b < 256; ++b) starts[b + 1] += starts[b];
    for (int64_t i = 0; i < n; ++i)
        out[starts[codes[int64_t{rows[i]} * kTileFeatures]]++] = entry_of(i);
}

ListSearch::ListSearch(Workspace& workspace)
    : workspace_(workspace), kernels_(kernels_for(workspace.lanes)), subset_gains_(workspace) {}

void ListSearch::start(const SearchNode& node, size_t n_features) {
    const int64_t n = node.range.size();
    is_tiny_ = SubsetGains::is_worthwhile(n, n_features);
    if (is_tiny_) {
        subset_gains_.tabulate(node);
        return;
    }
    if (static_cast<int64_t>(factors_.size()) < n + kListReadAhead) {
        for (auto& norms : norms_) norms.resize(n + kListReadAhead);
        factors_.resize(n + kListReadAhead);
        unit_factors_.resize(n + kListReadAhead);
        prefixes_.resize(n);
    }
    if (workspace_.channels.policy != HessianPolicy::unit) return;
    for (int64_t i = 0; i + 1 < n; ++i)
        unit_factors_[i] = 1.0f / static_cast<float>(i + 1) + 1.0f / static_cast<float>(n - i - 1);
}

const uint32_t* ListSearch::sort(const NodeRange& range, int32_t feature) {
    const size_t needed = range.size() + kListReadAhead;
    if (sorted_.size() < needed) sorted_.resize(needed);
    sort_entries(workspace_, kernels_, range, feature, sorted_.data());
    return sorted_.data();
}

// All lists in one loop: most nodes of a deep tree end here.
void ListSearch::search_tiny(const SearchNode& node, const int32_t* features,
                             const uint64_t* ranks, size_t n_features, const uint32_t* entries,
                             size_t stride, Split& best) const {
    const int n = static_cast<int>(node.range.size());
    float best_gain = -1.0f;
    uint64_t best_rank = ~uint64_t{0};
    size_t best_feature = n_features;
    int best_cut = 0, best_missing = 0, best_pass = 0;
    for (size_t f = 0; f < n_features; ++f) {
        const uint32_t* const list = entries + f * stride;
        if (list_code(list[0]) == list_code(list[n - 1])) continue;
        int n_missing = 0;
        uint32_t missing = 0;
        while (list_code(list[n - 1 - n_missing]) == kMissingEntryCode)
            missing |= 1u << list_row(list[n - 1 - n_missing++]);
        for (int pass = 0; pass <= (n_missing > 0); ++pass) {
            // With the missing rows right, the last cut parts values from missing.
            const int n_cuts = n - n_missing - (pass == 1 || n_missing == 0 ? 1 : 0);
            uint32_t subset = pass == 1 ? missing : 0;
            for (int i = 0; i < n_cuts; ++i) {
                subset |= 1u << list_row(list[i]);
                if (list_code(list[i]) == list_code(list[i + 1])) continue;
                const float gain = subset_gains_[subset];
                if (gain < best_gain || (gain == best_gain && ranks[f] >= best_rank)) continue;
                if (!(gain >= 0.0f)) continue;  // too small a side, or NaN
                best_gain = gain;
                best_rank = ranks[f];
                best_feature = f;
                best_cut = i;
                best_missing = n_missing;
                best_pass = pass;
            }
        }
    }
    if (best_feature == n_features || !best.beaten_by(best_gain, best_rank)) return;
    const int n_left = best_cut + 1 + (best_pass == 1 ? best_missing : 0);
    keep(features[best_feature], best_rank, best_gain, entries + best_feature * stride, best_cut,
         n_left, best_missing == 0 ? 2 * n_left >= n : best_pass == 1, best);
}

void ListSearch::search(const SearchNode& node, int32_t feature, uint64_t rank,
                        const uint32_t* entries, Split& best) {
    if (is_tiny_) {
        search_tiny(node, &feature, &rank, 1, entries, 0, best);
        return;
    }
    const int64_t n = node.range.size();
    if (n * workspace_.channels.n_channels >= kAddsPerCheck) workspace_.interrupt.check();
    if (list_code(entries[0]) == list_code(entries[n - 1])) return;
    int64_t n_missing = 0;
    while (list_code(entries[n - 1 - n_missing]) == kMissingEntryCode) ++n_missing;
    search_pass(node, feature, rank, {entries, n - n_missing, n_missing, false}, best);
    if (n_missing > 0)
        search_pass(node, feature, rank, {entries, n - n_missing, n_missing, true}, best);
}

void ListSearch::search_all(const SearchNode& node, const std::vector<int32_t>& features,
                            const std::vector<uint64_t>& ranks, const uint32_t* entries,
                            size_t stride, Split& best) {
    if (is_tiny_) {
        search_tiny(node, features.data(), ranks.data(), features.size(), entries, stride, best);
        return;
    }
    // More blocks give the adder enough to do by themselves.
    const size_t n_paired = workspace_.n_blocks <= 2 ? features.size() / 2 * 2 : 0;
    for (size_t i = 0; i < n_paired; i += 2)
        search_pair(node, features.data() + i, ranks.data() + i, entries + i * stride, stride,
                    best);
    for (size_t i = n_paired; i < features.size(); ++i)
        search(node, features[i], ranks[i], entries + i * stride, best);
}

void ListSearch::search_pair(const SearchNode& node, const int32_t* features,
                             const uint64_t* ranks, const uint32_t* entries, size_t stride,
                             Split& best) {
    const int64_t n = node.range.size();
    bool is_plain = true;  // varying, and nothing missing
    for (int k = 0; k < 2; ++k) {
        const uint32_t first = list_code(entries[k * stride]);
        const uint32_t last = list_code(entries[k * stride + n - 1]);
        is_plain &= first != last && last != kMissingEntryCode;
    }
    if (!is_plain) {
        for (int k = 0; k < 2; ++k)
            search(node, features[k], ranks[k], entries + k * stride, best);
        return;
    }
    if (n * workspace_.channels.n_channels >= kAddsPerCheck) workspace_.interrupt.check();
    PairWalkTask walk;
    walk.gradient = workspace_.gradient_blocks(*node.store, node.range);
    walk.n_entries = n - 1;
    for (int k = 0; k < 2; ++k) {
        walk.entries[k] = entries + k * stride;
        walk.norms[k] = norms_[k].data();
    }
    kernels_.walk_pair(walk);
    work_ += 2 * static_cast<uint64_t>(n - 1) * workspace_.channels.n_channels;
    for (int k = 0; k < 2; ++k)
        choose(node, features[k], ranks[k], {walk.entries[k], n, 0, false}, norms_[k].data(),
               best);
}

void ListSearch::search_pass(const SearchNode& node, int32_t feature, uint64_t rank,
                             const ListPass& pass, Split& best) {
    ListWalkTask walk;
    walk.gradient = workspace_.gradient_blocks(*node.store, node.range);
    walk.entries = pass.entries;
    walk.n_entries = pass.n_cuts();
    if (pass.missing_left) {
        walk.initial = pass.missing();
        walk.n_initial = pass.n_missing;
    }
    walk.norms = norms_[0].data();
    if (walk.n_entries < 1) return;
    kernels_.walk_list(walk);
    work_ +=
        static_cast<uint64_t>(walk.n_entries + walk.n_initial) * workspace_.channels.n_channels;
    choose(node, feature, rank, pass, norms_[0].data(), best);
}

void ListSearch::choose(const SearchNode& node, int32_t feature, uint64_t rank,
                        const ListPass& pass, const float* norms, Split& best) {
    const int64_t n = node.range.size(), least = workspace_.params.min_samples_leaf;
    const int64_t offset =
        pass.missing_left ? pass.n_missing : 0;  // rows that are left before any value
    const float* factors = unit_factors_.data() + offset;
    if (workspace_.channels.policy != HessianPolicy::unit) {
        fill_factors(node, pass);
        factors = factors_.data();
    }
    ListBestTask task;
    task.entries = pass.entries;
    task.norms = norms;
    task.factors = factors;
    task.begin = std::max<int64_t>(0, least - 1 - offset);
    task.end = std::min<int64_t>(pass.n_cuts(), n - least - offset);
    if (task.begin >= task.end) return;
    const float gain = kernels_.best_of_list(task);
    if (gain < 0.0f || !best.beaten_by(gain, rank)) return;
    for (int64_t i = task.begin; i < task.end; ++i) {
        if (norms[i] * factors[i] != gain ||
            list_code(pass.entries[i]) == list_code(pass.entries[i + 1]))
            continue;
        keep(feature, rank, gain, pass.entries, i, offset + i + 1,
             pass.n_missing == 0 ? 2 * (i + 1) >= n : pass.missing_left, best);
        return;
    }
}

void ListSearch::fill_factors(const SearchNode& node, const ListPass& pass) {
    const float* const weights = workspace_.weights.data() + node.range.begin;
    double initial = 0.0;
    if (pass.missing_left)
        for (int64_t i = 0; i < pass.n_missing; ++i)
            initial += weights[list_row(pass.missing()[i])];
    const double total = node.totals->weight;
    // Minus infinity times any norm is negative or NaN: never the best.
    kernels_.list_factors({weights, pass.entries, pass.n_cuts(), initial, total,
                           workspace_.dust() * total, prefixes_.data(), factors_.data()});
}

void ListSearch::keep(int32_t feature, uint64_t rank, double gain, const uint32_t* entries,
                      int64_t cut, int64_t n_left, bool missing_left, Split& best) const {
    const int64_t offset = workspace_.binned.bin_offsets[feature];
    const uint32_t left = list_code(entries[cut]), right = list_code(entries[cut + 1]);
    best.gain = gain;
    best.rank = rank;
    best.feature = feature;
    best.is_categorical = false;
    best.missing_left = missing_left;
    best.left_code = left;
    best.threshold = right == kMissingEntryCode
                         ? std::numeric_limits<double>::infinity()
                         : midpoint(workspace_.binned.bin_high[offset + left],
                                    workspace_.binned.bin_low[offset + right]);
    best.n_left = n_left;
}

}  // namespace ramify
