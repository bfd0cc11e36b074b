#include "grow/cut_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/bits.hpp"
#include "base/random.hpp"

namespace polyleaf {

namespace {

constexpr int64_t kRowsPerWord = 64;

// Bits of the last word that stand for rows.
uint64_t last_word(int64_t n_rows) {
    return ~uint64_t{0} >> (kRowsPerWord - 1 - (n_rows - 1) % kRowsPerWord);
}

}  // namespace

CutSearch::CutSearch(Workspace& workspace, const CutGuide& guide)
    : workspace_(workspace),
      kernels_(kernels_for(workspace.lanes)),
      codes_(*workspace.row_codes),
      guide_(guide),
      are_few_(workspace.params.max_features <= kFewSides),
      columns_((workspace.binned.n_dense + kCodeColumns - 1) / kCodeColumns),
      ranks_(workspace.binned.n_dense) {}

void CutSearch::search(const SearchNode& node, const int32_t* features, const uint64_t* ranks,
                       size_t n_features, Split& best) {
    const int64_t n = node.range.size();
    n_words_ = (n + kRowsPerWord - 1) / kRowsPerWord;
    range_ = node.range;
    chosen_.home = -1;
    search_groups(node, features, ranks, n_features, best);
    if (chosen_.home >= 0) finish(node, best);
}

void CutSearch::search_groups(const SearchNode& node, const int32_t* features,
                              const uint64_t* ranks, size_t n_features, Split& best) {
    group_numbers_.clear();
    has_ranks_ = ranks != nullptr;
    for (size_t i = 0; i < n_features; ++i) {
        const int32_t home = workspace_.feature_home[features[i]];
        if (ranks) ranks_[home] = ranks[i];
        uint64_t& columns = columns_[home / kCodeColumns];
        if (columns == 0) group_numbers_.push_back(home / kCodeColumns);
        columns |= uint64_t{1} << home % kCodeColumns;
    }
    for (const int32_t number : group_numbers_) {
        group_.begin = number * kCodeColumns;
        group_.columns = columns_[number];
        columns_[number] = 0;
        search_group(node, group_, best);
    }
}

void CutSearch::draw_cuts(const SearchNode& node, Group& group) const {
    uint8_t most[kCodeColumns], first[kCodeColumns], last[kCodeColumns];
    double shares[kCodeColumns];
    const uint8_t* const least = group.least;
    kernels_.code_ranges({codes_.codes.data() + group.begin, codes_.stride,
                          workspace_.rows.data() + node.range.begin, node.range.size(),
                          group.least, group.largest, most});
    group.cut = group.missing = 0;
    group.n_cuts = 0;
    for_each_bit(group.columns, [&](int c) {
        const bool has_values = least[c] != kMissingU8;
        group.missing |= uint64_t{has_values && most[c] == kMissingU8} << c;
        // Written in any case, and kept if there is something to cut.
        group.homes[group.n_cuts] = group.begin + c;
        first[group.n_cuts] = least[c];
        last[group.n_cuts] = group.largest[c];
        const bool is_cut = has_values && least[c] != group.largest[c];
        group.cut |= uint64_t{is_cut} << c;
        group.n_cuts += is_cut;
    });
    for (int i = 0; i < group.n_cuts; ++i)
        shares[i] = cut_uniform(node.seed, workspace_.binned.dense_features[group.homes[i]]);
    guide_.find(kernels_, group.n_cuts, group.homes, shares, first, last, group.limits);
}

void CutSearch::fill_masks(const SearchNode& node, int32_t begin, uint64_t columns,
                           const uint8_t* limits, Masks& masks) const {
    CodeMaskTask task;
    task.codes = codes_.codes.data() + begin;
    task.stride = codes_.stride;
    task.limits = limits;
    task.columns = columns;
    task.mask_stride = n_words_;
    task.counts = masks.counts;
    std::fill_n(masks.counts, kCodeColumns, 0);
    if (masks.words.size() < static_cast<size_t>(kCodeColumns * n_words_))
        masks.words.resize(kCodeColumns * n_words_);
    for (int64_t word = 0; word < n_words_; ++word) {
        const int64_t first = node.range.begin + word * kRowsPerWord;
        task.rows = workspace_.rows.data() + first;
        task.n_rows = std::min(kRowsPerWord, node.range.end - first);
        task.masks = masks.words.data() + word;
        kernels_.code_masks(task);
    }
}

void CutSearch::search_group(const SearchNode& node, Group& group, Split& best) {
    draw_cuts(node, group);
    if (group.n_cuts > 0) {
        uint8_t limits[kCodeColumns] = {};
        for (int i = 0; i < group.n_cuts; ++i)
            limits[group.homes[i] - group.begin] = group.limits[i];
        fill_masks(node, group.begin, group.cut, limits, below_);
    }
    if (group.missing) search_missing(node, group, best);
    for (int i = 0; i < group.n_cuts; ++i) {
        const int32_t home = group.homes[i];
        const bool has_missing = group.missing >> (home - group.begin) & 1;
        add(node, {home, Left::below, has_missing, group.limits[i], below_.counts[i]},
            below_.words.data() + i * n_words_, best);
    }
    if (n_waiting_ > 0) score(node, best);
}

// The values against the missing rows, and each cut with the missing rows on its left.
void CutSearch::search_missing(const SearchNode& node, const Group& group, Split& best) {
    const int64_t n = node.range.size();
    uint8_t limits[kCodeColumns];
    std::fill_n(limits, kCodeColumns, static_cast<uint8_t>(kMissingU8 - 1));
    fill_masks(node, group.begin, group.missing, limits, present_);
    below_or_missing_.resize(std::max(below_or_missing_.size(), present_.words.size()));
    uint64_t *present = present_.words.data(), *either = below_or_missing_.data();
    const uint64_t valid = last_word(n);
    int slot = 0, cut = 0;
    for_each_bit(group.missing, [&](int c) {
        const int32_t home = group.begin + c;
        const int32_t n_values = present_.counts[slot++];
        while (cut < group.n_cuts && group.homes[cut] < home) ++cut;
        if (cut < group.n_cuts && group.homes[cut] == home) {
            const uint64_t* const left = below_.words.data() + cut * n_words_;
            for (int64_t word = 0; word < n_words_; ++word)
                either[word] = left[word] | ~present[word];
            either[n_words_ - 1] &= valid;
            add(node,
                {home, Left::below_and_missing, true, group.limits[cut],
                 below_.counts[cut] + n - n_values},
                either, best);
        }
        add(node, {home, Left::values, true, group.largest[c], n_values}, present, best);
        present += n_words_;
        either += n_words_;
    });
    // The bits of both kinds are about to be reused.
    if (n_waiting_ > 0) score(node, best);
}

void CutSearch::add(const SearchNode& node, const Candidate& candidate, uint64_t* left,
                    Split& best) {
    const int64_t n = node.range.size(), least = workspace_.params.min_samples_leaf;
    const int64_t n_right = n - candidate.n_left;
    if (candidate.n_left < least || n_right < least) return;
    if (n_right < candidate.n_left) {
        for (int64_t word = 0; word < n_words_; ++word) left[word] = ~left[word];
        left[n_words_ - 1] &= last_word(n);
    }
    waiting_[n_waiting_] = candidate;
    sides_[n_waiting_++] = left;
    if (n_waiting_ == kMostSides) score(node, best);
}

void CutSearch::score(const SearchNode& node, Split& best) {
    const int64_t n = node.range.size();
    if (n * workspace_.channels.n_channels >= kAddsPerCheck) workspace_.interrupt.check();
    float norms[kMostSides] = {};
    kernels_.side_norms({workspace_.gradient_blocks(*node.store, node.range), sides_, n_waiting_,
                         n_words_, are_few_, norms});
    const bool unit = workspace_.channels.policy == HessianPolicy::unit;
    const NodeCriterion criterion = workspace_.criterion_of(*node.totals);
    const double total = criterion.weight;
    int kept = -1;
    for (int i = 0; i < n_waiting_; ++i) {
        const int64_t n_side = std::min(waiting_[i].n_left, n - waiting_[i].n_left);
        work_ += static_cast<uint64_t>(n_side) * workspace_.channels.n_channels;
        const double weight = unit ? static_cast<double>(n_side) : weight_of(node, sides_[i]);
        const double other = total - weight;
        if (criterion.is_dust(weight, other)) continue;
        const double factor = factor_of_total(total, weight, other);
        if (offer(node, waiting_[i], static_cast<float>(norms[i] * factor), best)) kept = i;
    }
    n_waiting_ = 0;
    if (kept < 0) return;
    if (chosen_rows_.size() < static_cast<size_t>(n_words_)) chosen_rows_.resize(n_words_);
    const uint64_t flip = n - chosen_.n_left < chosen_.n_left ? ~uint64_t{0} : 0;
    for (int64_t word = 0; word < n_words_; ++word) chosen_rows_[word] = sides_[kept][word] ^ flip;
    chosen_rows_[n_words_ - 1] &= last_word(n);
}

double CutSearch::weight_of(const SearchNode& node, const uint64_t* side) const {
    const float* weights = workspace_.weights.data() + node.range.begin;
    double sum = 0.0;
    for (int64_t word = 0; word < n_words_; ++word, weights += kRowsPerWord)
        for_each_bit(side[word], [&](int row) { sum += weights[row]; });
    return sum;
}

bool CutSearch::offer(const SearchNode& node, const Candidate& candidate, float gain,
                      Split& best) {
    if (gain < 0.0f || gain < best.least_rival()) return false;
    const int32_t feature = workspace_.binned.dense_features[candidate.home];
    const uint64_t rank = has_ranks_ ? ranks_[candidate.home] : feature_rank(node.seed, feature);
    if (!best.beaten_by(gain, rank)) return false;
    const int64_t n_left = candidate.n_left;
    best.take(gain, rank, feature, n_left,
              candidate.has_missing ? candidate.left == Left::below_and_missing
                                    : 2 * n_left >= node.range.size());
    chosen_ = candidate;
    chosen_first_ = group_.least[candidate.home - group_.begin];
    chosen_last_ = group_.largest[candidate.home - group_.begin];
    return true;
}

void CutSearch::finish(const SearchNode& node, Split& best) const {
    if (chosen_.left == Left::values)
        best.cut_off_missing(chosen_.limit);
    else
        best.cut_later(node.seed, chosen_first_, chosen_last_, chosen_.limit);
}

}  // namespace polyleaf
