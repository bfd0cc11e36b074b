#include "grow/list_search.hpp"

#include <algorithm>
#include <limits>

namespace polyleaf {

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

void sort_entries_of_tile(const Workspace& workspace, const Kernels& kernels,
                          const NodeRange& range, const int32_t* features, size_t n_features,
                          uint32_t* const* out) {
    const int64_t n = range.size();
    if (n <= kFewEntries || n_features < kTileFeatures) {
        for (size_t f = 0; f < n_features; ++f)
            sort_entries(workspace, kernels, range, features[f], out[f]);
        return;
    }
    const uint8_t* const codes =
        workspace.binned.codes_u8 + workspace.dense_base(workspace.feature_home[features[0]]);
    const int32_t* const rows = workspace.rows.data() + range.begin;
    std::vector<uint8_t> ordered(n * kTileFeatures);
    uint32_t starts[kTileFeatures][257] = {};
    for (int64_t i = 0; i < n; ++i) {
        uint8_t* const row = ordered.data() + i * kTileFeatures;
        std::copy_n(codes + int64_t{rows[i]} * kTileFeatures, kTileFeatures, row);
        for (int f = 0; f < kTileFeatures; ++f) ++starts[f][row[f] + 1];
    }
    for (int f = 0; f < kTileFeatures; ++f)
        for (int code = 0; code < 256; ++code) starts[f][code + 1] += starts[f][code];
    for (int64_t i = 0; i < n; ++i)
        for (int f = 0; f < kTileFeatures; ++f) {
            const uint32_t code = ordered[i * kTileFeatures + f];
            out[f][starts[f][code]++] = list_entry(code == kMissingU8 ? kMissingEntryCode : code,
                                                   static_cast<uint32_t>(i));
        }
}

ListSearch::ListSearch(Workspace& workspace)
    : workspace_(workspace), kernels_(kernels_for(workspace.lanes)), subset_gains_(workspace) {}

void ListSearch::start(const SearchNode& node, NodeKind kind, size_t n_features) {
    const int64_t n = node.range.size();
    NodeQuestion question;
    question.n_rows = n;
    question.n_lists = static_cast<int64_t>(n_features);
    is_tiny_ = workspace_.plan.finder(kind, FeatureKind::list, question) == Finder::list_table;
    if (is_tiny_) {
        used.add(Finder::list_table);
        subset_gains_.tabulate(node);
        return;
    }
    if (static_cast<int64_t>(unit_factors_.size()) < n + kListReadAhead) {
        for (int list = 0; list < 2 * kMostPairs; ++list) {
            norms_[list].resize(n + kListReadAhead);
            factors_[list].resize(n + kListReadAhead);
        }
        unit_factors_.resize(n + kListReadAhead);
        prefixes_.resize(n);
    }
    if (workspace_.channels.policy != HessianPolicy::unit) return;
    for (int64_t i = static_cast<int64_t>(inverses_.size()); i < n; ++i)
        inverses_.push_back(1.0f / static_cast<float>(i));
    const float* const inverses = inverses_.data();
    for (int64_t i = 0; i + 1 < n; ++i)
        unit_factors_[i] = factor_of_inverses(inverses[i + 1], inverses[n - i - 1]);
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
    if (is_grouped(node, entries))
        search_groups(node, 1, &feature, &rank, entries, 0, best);
    else
        search_pass(node, feature, rank, {entries, n, 0, false}, best);
}

void ListSearch::search_all(const SearchNode& node, const int32_t* features, const uint64_t* ranks,
                            size_t n_features, const uint32_t* entries, size_t stride,
                            Split& best) {
    if (is_tiny_) {
        search_tiny(node, features, ranks, n_features, entries, stride, best);
        return;
    }
    // More blocks give the adder enough to do by themselves. Pairs are the same whether one thread
    // searches all lists or several some of them: alone, a list is rounded otherwise.
    static_assert(kMostLists == 2, "lists are searched in pairs");
    const bool pairs = workspace_.plan.holds(When::few_blocks);
    auto list = [&](size_t i) { return entries + i * stride; };
    // How many pairs of plain lists of short groups come next, one after the other.
    auto count_pairs = [&](size_t i) {
        int n = 0;
        for (; pairs && n < kMostPairs && i + 2 * n + 2 <= n_features; ++n)
            for (size_t k = i + 2 * n; k < i + 2 * n + 2; ++k)
                if (!is_plain(node, list(k)) || is_grouped(node, list(k))) return n;
        return n;
    };
    for (size_t i = 0; i < n_features;) {
        const int n_pairs = count_pairs(i);
        if (n_pairs > 0) {
            search_pairs(node, n_pairs, features + i, ranks + i, list(i), stride, best);
            i += 2 * n_pairs;
            continue;
        }
        const size_t n_lists = std::min<size_t>(2, n_features - i);
        const bool are_grouped =
            pairs && n_lists == 2 && is_grouped(node, list(i)) && is_grouped(node, list(i + 1));
        if (are_grouped && !is_long(node, list(i)))
            search_groups(node, 2, features + i, ranks + i, list(i), stride, best);
        else
            for (size_t k = i; k < i + n_lists; ++k)
                search(node, features[k], ranks[k], list(k), best);
        i += n_lists;
    }
}

bool ListSearch::is_long(const SearchNode& node, const uint32_t* entries) const {
    if (workspace_.n_blocks > 1) return false;
    const uint32_t* const end = entries + node.range.size();
    const uint32_t* const missing =
        std::lower_bound(entries, end, list_entry(kMissingEntryCode, 0));
    const int64_t n_codes = int64_t{list_code(missing[-1])} - list_code(entries[0]) + 1;
    return missing - entries >= kLongGroup * n_codes;
}

bool ListSearch::is_grouped(const SearchNode& node, const uint32_t* entries) const {
    const int64_t n = node.range.size();
    const uint32_t first = list_code(entries[0]), last = list_code(entries[n - 1]);
    const int64_t n_codes = int64_t{last} - first + 1;
    return first != last && groups_pay(n, n_codes, last == kMissingEntryCode);
}

void ListSearch::search_groups(const SearchNode& node, int n_lists, const int32_t* features,
                               const uint64_t* ranks, const uint32_t* entries, size_t stride,
                               Split& best) {
    const int64_t n = node.range.size();
    if (n * workspace_.channels.n_channels >= kAddsPerCheck) workspace_.interrupt.check();
    const size_t size = kMostGroupBlocks * (kMostGroups + 4) * workspace_.lanes;
    if (group_sums_.size() < size) group_sums_.resize(size, 0.0f);
    GroupWalkTask walk;
    walk.gradient = workspace_.gradient_blocks(*node.store, node.range);
    walk.n_lists = n_lists;
    walk.sums = group_sums_.data();
    for (int list = 0; list < n_lists; ++list) {
        const uint32_t* const first = entries + list * stride;
        const uint32_t* const missing =
            std::lower_bound(first, first + n, list_entry(kMissingEntryCode, 0));
        walk.entries[list] = first;
        walk.missing[list] = missing;
        walk.n_missing[list] = first + n - missing;
        walk.norms[list] = group_norms_[0][list];
        walk.with_missing[list] = group_norms_[1][list];
        walk.ends[list] = group_ends_[list];
        walk.n_entries = std::max(walk.n_entries, std::min<int64_t>(n - 1, missing - first));
    }
    kernels_.walk_groups(walk);
    used.add(Finder::list_groups);
    for (int list = 0; list < n_lists; ++list) {
        const int64_t n_missing = walk.n_missing[list], n_cuts = walk.n_cuts[list];
        const ListPass pass{walk.entries[list], n - n_missing, n_missing, false};
        work_ += static_cast<uint64_t>(pass.n_values) * workspace_.channels.n_channels;
        choose_group(node, features[list], ranks[list], pass, walk.ends[list], walk.norms[list],
                     n_cuts, best);
        if (n_missing == 0) continue;
        work_ += static_cast<uint64_t>(n_missing) * workspace_.channels.n_channels;
        choose_group(node, features[list], ranks[list],
                     {pass.entries, pass.n_values, n_missing, true}, walk.ends[list],
                     walk.with_missing[list], n_cuts - 1, best);
    }
}

bool ListSearch::is_plain(const SearchNode& node, const uint32_t* entries) const {
    const uint32_t first = list_code(entries[0]);
    const uint32_t last = list_code(entries[node.range.size() - 1]);
    return first != last && last != kMissingEntryCode;
}

void ListSearch::search_pairs(const SearchNode& node, int n_pairs, const int32_t* features,
                              const uint64_t* ranks, const uint32_t* entries, size_t stride,
                              Split& best) {
    const int64_t n = node.range.size();
    if (n * workspace_.channels.n_channels >= kAddsPerCheck) workspace_.interrupt.check();
    PairWalkTask walk;
    walk.gradient = workspace_.gradient_blocks(*node.store, node.range);
    walk.n_entries = n - 1;
    walk.n_pairs = n_pairs;
    for (int k = 0; k < 2 * n_pairs; ++k) {
        walk.cuts[k] = cuts_of(node, {entries + k * stride, n, 0, false}, k);
        walk.norms[k] = norms_[k].data();
    }
    kernels_.walk_pairs(walk);
    used.add(Finder::list_pairs);
    work_ += 2 * n_pairs * static_cast<uint64_t>(n - 1) * workspace_.channels.n_channels;
    for (int k = 0; k < 2 * n_pairs; ++k) {
        walk.cuts[k].norms = norms_[k].data();
        keep_first(node, features[k], ranks[k], {entries + k * stride, n, 0, false}, walk.cuts[k],
                   walk.best[k], best);
    }
}

// Lists without missing rows only; see search_groups.
void ListSearch::search_pass(const SearchNode& node, int32_t feature, uint64_t rank,
                             const ListPass& pass, Split& best) {
    ListWalkTask walk;
    walk.gradient = workspace_.gradient_blocks(*node.store, node.range);
    walk.entries = pass.entries;
    walk.n_entries = pass.n_cuts();
    walk.norms = norms_[0].data();
    if (walk.n_entries < 1) return;
    work_ += static_cast<uint64_t>(walk.n_entries) * workspace_.channels.n_channels;
    kernels_.walk_list(walk);
    used.add(Finder::list_rows);
    choose(node, feature, rank, pass, norms_[0].data(), best);
}

ListBestTask ListSearch::cuts_of(const SearchNode& node, const ListPass& pass, int list) {
    const int64_t n = node.range.size(), least = workspace_.params.min_samples_leaf;
    ListBestTask task;
    task.entries = pass.entries;
    task.factors = unit_factors_.data() + pass.n_before();
    if (workspace_.channels.policy != HessianPolicy::unit) {
        fill_factors(node, pass, factors_[list].data());
        task.factors = factors_[list].data();
    }
    task.begin = std::max<int64_t>(0, least - 1 - pass.n_before());
    task.end = std::min<int64_t>(pass.n_cuts(), n - least - pass.n_before());
    return task;
}

void ListSearch::choose(const SearchNode& node, int32_t feature, uint64_t rank,
                        const ListPass& pass, const float* norms, Split& best) {
    ListBestTask task = cuts_of(node, pass);
    task.norms = norms;
    if (task.begin >= task.end) return;
    keep_first(node, feature, rank, pass, task, kernels_.best_of_list(task), best);
}

void ListSearch::keep_first(const SearchNode& node, int32_t feature, uint64_t rank,
                            const ListPass& pass, const ListBestTask& task, float gain,
                            Split& best) const {
    if (gain < 0.0f || !best.beaten_by(gain, rank)) return;
    for (int64_t i = task.begin; i < task.end; ++i) {
        if (task.norms[i] * task.factors[i] != gain ||
            list_code(pass.entries[i]) == list_code(pass.entries[i + 1]))
            continue;
        keep(node, feature, rank, gain, pass, i, best);
        return;
    }
}

void ListSearch::choose_group(const SearchNode& node, int32_t feature, uint64_t rank,
                              const ListPass& pass, const uint32_t* ends, const float* norms,
                              int64_t n_cuts, Split& best) {
    const ListBestTask task = cuts_of(node, pass);
    int64_t first = 0, last = n_cuts;
    while (first < last && ends[first] <= task.begin) ++first;
    while (first < last && ends[last - 1] > task.end) --last;
    const int64_t at = kernels_.best_of_groups({ends, norms, task.factors, first, last});
    if (at < 0) return;
    const int64_t cut = int64_t{ends[at]} - 1;
    const float gain = norms[at] * task.factors[cut];
    if (best.beaten_by(gain, rank)) keep(node, feature, rank, gain, pass, cut, best);
}

void ListSearch::fill_factors(const SearchNode& node, const ListPass& pass, float* factors) {
    const float* const weights = workspace_.weights.data() + node.range.begin;
    double initial = 0.0;
    if (pass.missing_left)
        for (int64_t i = 0; i < pass.n_missing; ++i)
            initial += weights[list_row(pass.missing()[i])];
    const double total = node.totals->weight;
    // Minus infinity times any norm is negative or NaN: never the best.
    kernels_.list_factors({weights, pass.entries, pass.n_cuts(), initial, total,
                           workspace_.dust() * total, prefixes_.data(), factors});
}

void ListSearch::keep(const SearchNode& node, int32_t feature, uint64_t rank, double gain,
                      const ListPass& pass, int64_t cut, Split& best) const {
    keep(feature, rank, gain, pass.entries, cut, pass.n_before() + cut + 1,
         pass.n_missing == 0 ? 2 * (cut + 1) >= node.range.size() : pass.missing_left, best);
}

void ListSearch::keep(int32_t feature, uint64_t rank, double gain, const uint32_t* entries,
                      int64_t cut, int64_t n_left, bool missing_left, Split& best) const {
    const uint32_t left = list_code(entries[cut]), right = list_code(entries[cut + 1]);
    best.take(gain, rank, feature, n_left, missing_left);
    if (right == kMissingEntryCode)
        best.cut_off_missing(left);
    else
        best.cut_between(workspace_.binned, left, right);
}

}  // namespace polyleaf
