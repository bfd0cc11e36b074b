#include "presorted.hpp"

#include <algorithm>
#include <limits>

#include "ramify/random.hpp"

namespace ramify {

namespace {

// Missing rows sort behind all values.
constexpr uint32_t kMissingEntryCode = 0xffff;
// Vectors may read this far past the end of a list.
constexpr int64_t kReadAhead = 32;
constexpr int64_t kMaxTinyRows = 8;
constexpr size_t kMaxListBytes = size_t{4} << 20;

}  // namespace

PresortedLists::PresortedLists(Workspace& workspace, const std::vector<int32_t>& features)
    : workspace_(workspace), kernels_(kernels_for(workspace.lanes)), features_(features) {}

bool PresortedLists::worthwhile(int64_t n_rows, size_t n_features) {
    return n_rows <= kMaxRows && n_rows * n_features * sizeof(uint32_t) <= kMaxListBytes;
}

void PresortedLists::start(const NodeRange& subtree) {
    subtree_ = subtree;
    is_active_ = true;
    const int64_t n = subtree.size();
    stride_ = static_cast<size_t>(n);
    entries_.resize(features_.size() * stride_ + kReadAhead);
    spill_.resize(n + kReadAhead);
    moves_.resize(n + 1);
    norms_.resize(n + kReadAhead);
    factors_.resize(n + kReadAhead);
    unit_factors_.resize(n + kReadAhead);
    const int32_t* rows = workspace_.rows.data() + subtree.begin;
    for (size_t f = 0; f < features_.size(); ++f) {
        const uint8_t* codes = workspace_.binned.codes_u8 +
                               workspace_.dense_base(workspace_.feature_home[features_[f]]);
        uint32_t starts[257] = {};
        for (int64_t i = 0; i < n; ++i) ++starts[codes[int64_t{rows[i]} * kTileFeatures] + 1];
        for (int b = 0; b < 256; ++b) starts[b + 1] += starts[b];
        uint32_t* const out = entries_.data() + f * stride_;
        for (int64_t i = 0; i < n; ++i) {
            const uint32_t code = codes[int64_t{rows[i]} * kTileFeatures];
            out[starts[code]++] = list_entry(code == kMissingU8 ? kMissingEntryCode : code,
                                             static_cast<uint32_t>(i));
        }
    }
}

void PresortedLists::search(const SearchNode& node, Split& best) {
    prepare(node);
    if (is_tiny(node.range.size())) {
        search_tiny(node, best);
        return;
    }
    for (size_t f = 0; f < features_.size(); ++f) search_list(node, f, best);
}

bool PresortedLists::is_tiny(int64_t n_rows) const {
    return n_rows <= kMaxTinyRows &&
           (size_t{1} << (n_rows - 1)) <= features_.size() * static_cast<size_t>(n_rows - 1);
}

void PresortedLists::prepare(const SearchNode& node) {
    ranks_.resize(features_.size());
    for (size_t f = 0; f < features_.size(); ++f) ranks_[f] = draw_bits(node.seed, features_[f]);
    if (workspace_.channels.policy != HessianPolicy::unit) return;
    const int64_t n = node.range.size();
    for (int64_t i = 0; i + 1 < n; ++i)
        unit_factors_[i] = 1.0f / static_cast<float>(i + 1) + 1.0f / static_cast<float>(n - i - 1);
}

// A division and its mirror image have the same gain, so that half of the subsets will do.
void PresortedLists::tabulate_gains(const SearchNode& node) {
    const int n = static_cast<int>(node.range.size());
    const int64_t least = workspace_.params.min_samples_leaf;
    const uint32_t all = (1u << n) - 1;
    gains_by_subset_.resize(size_t{1} << n);
    gains_by_subset_[0] = gains_by_subset_[all] = -1.0f;
    const Blocks g = workspace_.gradient_blocks(*node.store, node.range);
    subset_norms_.assign(size_t{1} << (n - 1), 0.0f);
    SubsetTask task{g, n, subset_norms_.data()};
    kernels_.subset_norms(task);
    work += (uint64_t{1} << (n - 1)) * workspace_.channels.n_channels;
    for (uint32_t subset = 1; subset < (1u << (n - 1)); ++subset) {
        const int64_t n_side = __builtin_popcount(subset);
        double weight = static_cast<double>(n_side);
        if (workspace_.channels.policy != HessianPolicy::unit) {
            weight = 0.0;
            for (int row = 0; row < n; ++row)
                if (subset >> row & 1) weight += workspace_.weights[node.range.begin + row];
        }
        const double other = node.totals->weight - weight;
        const bool is_dust = std::min(weight, other) <= kDustDouble * node.totals->weight;
        const float gain =
            is_dust || n_side < least || n - n_side < least
                ? -1.0f
                : static_cast<float>(subset_norms_[subset] * (1.0 / weight + 1.0 / other));
        gains_by_subset_[subset] = gains_by_subset_[all ^ subset] = gain;
    }
}

void PresortedLists::search_tiny(const SearchNode& node, Split& best) {
    tabulate_gains(node);
    const int n = static_cast<int>(node.range.size());
    const float* const gains = gains_by_subset_.data();
    float best_gain = static_cast<float>(best.gain);
    uint64_t best_rank = best.rank;
    size_t best_feature = 0;
    int best_cut = -1, best_missing = 0;
    bool best_missing_left = false;
    for (size_t f = 0; f < features_.size(); ++f) {
        const uint32_t* const entries = list(f, node.range);
        if (list_code(entries[0]) == list_code(entries[n - 1])) continue;
        int n_missing = 0;
        uint32_t missing = 0;
        while (list_code(entries[n - 1 - n_missing]) == kMissingEntryCode)
            missing |= 1u << list_row(entries[n - 1 - n_missing++]);
        for (int pass = 0; pass <= (n_missing > 0); ++pass) {
            // With the missing rows right, the last cut parts values from missing.
            const int n_cuts = n - n_missing - (pass == 1 || n_missing == 0 ? 1 : 0);
            uint32_t subset = pass == 1 ? missing : 0;
            for (int i = 0; i < n_cuts; ++i) {
                subset |= 1u << list_row(entries[i]);
                if (list_code(entries[i]) == list_code(entries[i + 1])) continue;
                const float gain = gains[subset];
                if (gain < best_gain || (gain == best_gain && ranks_[f] >= best_rank)) continue;
                if (gain < 0.0f) continue;
                best_gain = gain;
                best_rank = ranks_[f];
                best_feature = f;
                best_cut = i;
                best_missing = n_missing;
                best_missing_left = pass == 1;
            }
        }
    }
    if (best_cut < 0) return;
    const int n_left = best_cut + 1 + (best_missing_left ? best_missing : 0);
    keep(node, best_feature, best_gain, list(best_feature, node.range), best_cut, n_left,
         best_missing == 0 ? 2 * n_left >= n : best_missing_left, best);
}

void PresortedLists::search_list(const SearchNode& node, size_t feature, Split& best) {
    const uint32_t* const entries = list(feature, node.range);
    const int64_t n = node.range.size();
    if (list_code(entries[0]) == list_code(entries[n - 1])) return;
    int64_t n_missing = 0;
    while (list_code(entries[n - 1 - n_missing]) == kMissingEntryCode) ++n_missing;
    const int64_t n_values = n - n_missing;
    search_pass(node, feature, entries, n_values, n_missing, false, best);
    if (n_missing > 0) search_pass(node, feature, entries, n_values, n_missing, true, best);
}

void PresortedLists::search_pass(const SearchNode& node, size_t feature, const uint32_t* entries,
                                 int64_t n_values, int64_t n_missing, bool missing_left,
                                 Split& best) {
    const int64_t n = node.range.size(), least = workspace_.params.min_samples_leaf;
    const uint32_t* const missing = entries + n_values;
    ListWalkTask walk;
    walk.gradient = workspace_.gradient_blocks(*node.store, node.range);
    walk.entries = entries;
    // With the missing rows right, the last prefix is the split of values against missing.
    walk.n_entries = missing_left || n_missing == 0 ? n_values - 1 : n_values;
    if (missing_left) {
        walk.initial = missing;
        walk.n_initial = n_missing;
    }
    walk.norms = norms_.data();
    if (walk.n_entries < 1) return;
    kernels_.walk_list(walk);
    work +=
        static_cast<uint64_t>(walk.n_entries + walk.n_initial) * workspace_.channels.n_channels;
    const int64_t offset = missing_left ? n_missing : 0;  // rows that are left before any value
    const float* factors = unit_factors_.data() + offset;
    if (workspace_.channels.policy != HessianPolicy::unit) {
        fill_factors(node, entries, walk.n_entries, missing, n_missing, missing_left);
        factors = factors_.data();
    }
    ListBestTask task;
    task.entries = entries;
    task.norms = norms_.data();
    task.factors = factors;
    task.begin = std::max<int64_t>(0, least - 1 - offset);
    task.end = std::min<int64_t>(walk.n_entries, n - least - offset);
    if (task.begin >= task.end) return;
    const float gain = kernels_.best_of_list(task);
    if (gain < 0.0f || !best.beaten_by(gain, ranks_[feature])) return;
    for (int64_t i = task.begin; i < task.end; ++i) {
        if (norms_[i] * factors[i] != gain || list_code(entries[i]) == list_code(entries[i + 1]))
            continue;
        keep(node, feature, gain, entries, i, offset + i + 1,
             n_missing == 0 ? 2 * (i + 1) >= n : missing_left, best);
        return;
    }
}

void PresortedLists::fill_factors(const SearchNode& node, const uint32_t* entries,
                                  int64_t n_values, const uint32_t* missing, int64_t n_missing,
                                  bool missing_left) {
    const float* weights = workspace_.weights.data() + node.range.begin;
    double prefix = 0.0;
    if (missing_left)
        for (int64_t i = 0; i < n_missing; ++i) prefix += weights[list_row(missing[i])];
    const double total = node.totals->weight;
    for (int64_t i = 0; i < n_values; ++i) {
        prefix += weights[list_row(entries[i])];
        const bool is_dust = std::min(prefix, total - prefix) <= kDustDouble * total;
        factors_[i] = is_dust ? -1.0f : static_cast<float>(1.0 / prefix + 1.0 / (total - prefix));
    }
}

void PresortedLists::keep(const SearchNode&, size_t feature, double gain, const uint32_t* entries,
                          int64_t cut, int64_t n_left, bool missing_left, Split& best) const {
    const int64_t offset = workspace_.binned.bin_offsets[features_[feature]];
    const uint32_t left = list_code(entries[cut]), right = list_code(entries[cut + 1]);
    best.gain = gain;
    best.rank = ranks_[feature];
    best.feature = features_[feature];
    best.is_categorical = false;
    best.missing_left = missing_left;
    best.left_code = left;
    best.threshold = right == kMissingEntryCode
                         ? std::numeric_limits<double>::infinity()
                         : midpoint(workspace_.binned.bin_high[offset + left],
                                    workspace_.binned.bin_low[offset + right]);
    best.n_left = n_left;
}

void PresortedLists::split(const NodeRange& range, const std::vector<uint8_t>& left) {
    const int64_t n = range.size();
    uint16_t places[2] = {0, 0};
    for (int64_t i = 0; i < n; ++i) {
        const int side = left[i] ? 0 : 1;
        moves_[i] = static_cast<uint16_t>(places[side]++ | (side ? kRightChild : 0));
    }
    ListSplitTask task;
    task.n_entries = n;
    task.moves = moves_.data();
    task.spill = spill_.data();
    for (size_t f = 0; f < features_.size(); ++f) {
        task.entries = list(f, range);
        kernels_.split_list(task);
    }
}

}  // namespace ramify
