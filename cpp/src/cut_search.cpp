#include "cut_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "random_cut.hpp"

namespace ramify {

namespace {

constexpr int64_t kPadding = 16;

}  // namespace

CutSearch::CutSearch(Workspace& workspace)
    : workspace_(workspace), kernels_(kernels_for(workspace.lanes)), subset_gains_(workspace) {}

void CutSearch::search(const SearchNode& node, const int32_t* features, const uint64_t* ranks,
                       size_t n_features, Split& best) {
    is_tiny_ = SubsetGains::is_worthwhile(node.range.size(), n_features);
    if (is_tiny_)
        subset_gains_.tabulate(node);
    else
        flags_.resize(node.range.size() * kFlagColumns, 0.0f);
    candidates_.clear();
    if (node.range.size() == 2 && is_tiny_) {
        search_pair(node, features, ranks, n_features, best);
        return;
    }
    for (size_t i = 0; i < n_features; ++i) {
        read_codes(node, features[i]);
        add_candidates(node, features[i], ranks[i], best);
    }
    if (!candidates_.empty()) score(node, best);
}

// Two rows: every feature that tells them apart has the same gain, so that only the first in rank
// needs its cut drawn.
void CutSearch::search_pair(const SearchNode& node, const int32_t* features, const uint64_t* ranks,
                            size_t n_features, Split& best) {
    const int64_t a = int64_t{workspace_.rows[node.range.begin]} * kTileFeatures;
    const int64_t b = int64_t{workspace_.rows[node.range.begin + 1]} * kTileFeatures;
    size_t chosen = n_features;
    for (size_t i = 0; i < n_features; ++i) {
        const uint8_t* const codes = workspace_.binned.codes_u8 +
                                     workspace_.dense_base(workspace_.feature_home[features[i]]);
        if (codes[a] != codes[b] && (chosen == n_features || ranks[i] < ranks[chosen])) chosen = i;
    }
    if (chosen == n_features) return;
    read_codes(node, features[chosen]);
    add_candidates(node, features[chosen], ranks[chosen], best);
}

void CutSearch::read_codes(const SearchNode& node, int32_t feature) {
    const uint8_t* const codes =
        workspace_.binned.codes_u8 + workspace_.dense_base(workspace_.feature_home[feature]);
    const int32_t* const rows = workspace_.rows.data() + node.range.begin;
    const int64_t n = node.range.size();
    if (static_cast<int64_t>(codes_.size()) < n + kPadding) codes_.resize(n + kPadding);
    for (int64_t i = 0; i < n; ++i) codes_[i] = codes[int64_t{rows[i]} * kTileFeatures];
    std::fill_n(codes_.begin() + n, kPadding, codes_[0]);
}

namespace {

// Sixteen codes at a time; codes are padded to whole vectors with copies of the first.
typedef uint8_t Codes __attribute__((vector_size(16)));
constexpr int64_t kCodesAtOnce = sizeof(Codes);

Codes load_codes(const uint8_t* codes) {
    Codes result;
    std::memcpy(&result, codes, sizeof(result));
    return result;
}
Codes smaller(Codes a, Codes b) { return a < b ? a : b; }
Codes larger(Codes a, Codes b) { return a > b ? a : b; }

template <typename Pick>
uint8_t reduce(Codes v, Pick&& pick) {
    v = pick(v,
             __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    v = pick(v,
             __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
    v = pick(v,
             __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
    v = pick(v,
             __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
    return v[0];
}

struct CodeRange {
    uint8_t first, last;  // of the values
    int64_t n_missing;
};

// Folding a vector costs as much as this many codes one by one.
constexpr int64_t kFewCodes = 24;

CodeRange range_of_few(const uint8_t* codes, int64_t n) {
    CodeRange range{255, 0, 0};
    for (int64_t i = 0; i < n; ++i) {
        const uint8_t code = codes[i];
        range.n_missing += code == kMissingU8;
        range.first = code < range.first ? code : range.first;
        range.last = code > range.last && code != kMissingU8 ? code : range.last;
    }
    return range;
}

CodeRange range_of(const uint8_t* codes, int64_t n) {
    if (n <= kFewCodes) return range_of_few(codes, n);
    Codes least = load_codes(codes), most = least, next = least + 1;
    for (int64_t i = kCodesAtOnce; i < n; i += kCodesAtOnce) {
        const Codes code = load_codes(codes + i);
        least = smaller(least, code);
        most = larger(most, code);
        next = larger(next, code + 1);  // the code of missing values wraps to 0
    }
    CodeRange range{reduce(least, smaller), static_cast<uint8_t>(reduce(next, larger) - 1), 0};
    if (reduce(most, larger) == kMissingU8)
        range.n_missing = std::count(codes, codes + n, static_cast<uint8_t>(kMissingU8));
    return range;
}

// The largest code up to the cut and the smallest above it.
std::pair<uint8_t, uint8_t> neighbours_of(const uint8_t* codes, int64_t n, uint8_t cut) {
    const Codes zeros{}, ones = ~zeros, limit = zeros + cut;
    Codes below = zeros, above = ones;
    for (int64_t i = 0; i < n; i += kCodesAtOnce) {
        const Codes code = load_codes(codes + i);
        below = larger(below, code <= limit ? code : zeros);
        above = smaller(above, code > limit ? code : ones);
    }
    return {reduce(below, larger), reduce(above, smaller)};
}

}  // namespace

// One cut, with the missing rows on either side, and the values against the missing rows.
void CutSearch::add_candidates(const SearchNode& node, int32_t feature, uint64_t rank,
                               Split& best) {
    const int64_t n = node.range.size();
    const CodeRange range = range_of(codes_.data(), n);
    if (range.n_missing == n) return;
    Candidate candidate;
    candidate.feature = feature;
    candidate.rank = rank;
    candidate.has_missing = range.n_missing > 0;
    if (candidate.has_missing) {
        candidate.takes_missing = true;
        candidate.left_max = range.last;
        candidate.threshold = std::numeric_limits<double>::infinity();
        add(node, candidate, best);
    }
    if (range.first == range.last) return;
    candidate.takes_values = true;
    draw_cut(node, range.first, range.last, candidate);
    for (int with_missing = 0; with_missing <= candidate.has_missing; ++with_missing) {
        candidate.takes_missing = with_missing != 0;
        add(node, candidate, best);
    }
}

void CutSearch::draw_cut(const SearchNode& node, uint8_t first, uint8_t last,
                         Candidate& candidate) const {
    const BinnedView& binned = workspace_.binned;
    const int64_t n = node.range.size();
    const double* const low = binned.bin_low + binned.bin_offsets[candidate.feature];
    const double* const high = binned.bin_high + binned.bin_offsets[candidate.feature];
    RandomCut cut;
    cut.value = draw_cut_value(low, high, candidate.feature, node.seed, first, last);
    uint8_t left_max = first, right_min = last;
    if (n <= kFewCodes && std::isfinite(cut.value)) {
        // Each code by itself: loads that need not wait for each other, unlike those of a search.
        for (int64_t i = 0; i < n; ++i) {
            const uint8_t code = codes_[i];
            if (code == kMissingU8 || code == first || code == last) continue;
            const bool left = is_left_of(cut.value, low[code], high[code]);
            left_max = left && code > left_max ? code : left_max;
            right_min = !left && code < right_min ? code : right_min;
        }
    } else {
        cut = draw_random_cut(binned, candidate.feature, node.seed, first, last);
        std::tie(left_max, right_min) =
            neighbours_of(codes_.data(), n, static_cast<uint8_t>(cut.left_code));
    }
    candidate.left_max = left_max;
    candidate.threshold = cut.threshold_between(binned, candidate.feature, left_max, right_min);
}

void CutSearch::add(const SearchNode& node, Candidate candidate, Split& best) {
    const int64_t n = node.range.size(), least = workspace_.params.min_samples_leaf;
    const uint8_t left_max = candidate.left_max;
    const uint8_t values = candidate.takes_values, missing = candidate.takes_missing;
    const uint8_t* const codes = codes_.data();
    auto is_on_side = [&](int64_t i) -> uint8_t {
        return (values & (codes[i] <= left_max)) | (missing & (codes[i] == kMissingU8));
    };
    if (is_tiny_) {
        uint32_t subset = 0;
        for (int64_t i = 0; i < n; ++i) subset |= uint32_t{is_on_side(i)} << i;
        candidate.n_side = __builtin_popcount(subset);
        offer(node, candidate, subset_gains_[subset], best);
        return;
    }
    float* const column = flags_.data() + candidates_.size() * n;
    int32_t n_side = 0;
    for (int64_t i = 0; i < n; ++i) {
        const int32_t flag = is_on_side(i);
        column[i] = static_cast<float>(flag);
        n_side += flag;
    }
    candidate.n_side = n_side;
    if (n_side < least || n - n_side < least) return;
    candidates_.push_back(candidate);
    if (candidates_.size() == kFlagColumns) score(node, best);
}

void CutSearch::score(const SearchNode& node, Split& best) {
    workspace_.interrupt.check();
    float norms[kFlagColumns] = {};
    const int64_t n = node.range.size();
    kernels_.flagged_norms(
        {workspace_.gradient_blocks(*node.store, node.range), flags_.data(), n, norms});
    work_ += static_cast<uint64_t>(n) * candidates_.size() * workspace_.channels.n_channels;
    const bool unit = workspace_.channels.policy == HessianPolicy::unit;
    const double total = node.totals->weight;
    for (size_t c = 0; c < candidates_.size(); ++c) {
        double weight = static_cast<double>(candidates_[c].n_side);
        if (!unit) {
            const float* const weights = workspace_.weights.data() + node.range.begin;
            weight = 0.0;
            const float* const flags = flags_.data() + c * n;
            for (int64_t i = 0; i < n; ++i) weight += double{flags[i]} * weights[i];
        }
        const double other = total - weight;
        if (std::min(weight, other) <= workspace_.dust() * total) continue;
        offer(node, candidates_[c], static_cast<float>(norms[c] * (1.0 / weight + 1.0 / other)),
              best);
    }
    candidates_.clear();
}

void CutSearch::offer(const SearchNode& node, const Candidate& candidate, float gain,
                      Split& best) const {
    if (gain < 0.0f || !best.beaten_by(gain, candidate.rank)) return;
    const int64_t n = node.range.size();
    best.gain = gain;
    best.rank = candidate.rank;
    best.feature = candidate.feature;
    best.is_categorical = false;
    best.left_code = candidate.left_max;
    best.threshold = candidate.threshold;
    // The flagged side is the left one, except where it holds the missing rows alone.
    best.n_left = candidate.takes_values ? candidate.n_side : n - candidate.n_side;
    best.missing_left = candidate.has_missing ? candidate.takes_values && candidate.takes_missing
                                              : 2 * best.n_left >= n;
}

}  // namespace ramify
