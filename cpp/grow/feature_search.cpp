#include "grow/feature_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.hpp"
#include "grow/random_cut.hpp"

namespace polyleaf {

FeatureSearch::FeatureSearch(Workspace& workspace)
    : label_sums(workspace.channels.is_sparse() ? workspace.channels.n_channels : 0, 0.0),
      workspace_(workspace),
      kernels_(kernels_for(workspace.lanes)) {}

void FeatureSearch::search_dense(const SearchNode& node, int32_t feature, uint64_t rank,
                                 Split& best) {
    read_dense(workspace_, node.range, workspace_.feature_home[feature], column_, scratch_);
    search(node, feature, rank, best);
}

void FeatureSearch::search_sparse(const SearchNode& node, int32_t feature, uint64_t rank,
                                  const SparseEntries& entries, Split& best) {
    const int32_t slot = ~workspace_.feature_home[feature];
    if (entries.count(slot) == 0) return;
    read_sparse(workspace_, node.range, slot, entries, column_, scratch_);
    search(node, feature, rank, best);
}

void FeatureSearch::search(const SearchNode& node, int32_t feature, uint64_t rank, Split& best) {
    if (column_.n_distinct() == 0) return;
    // The plan sends a feature here to be walked, wherever the node stands.
    NodeQuestion question;
    question.n_rows = node.range.size();
    question.n_categories = static_cast<int64_t>(column_.n_distinct());
    const Finder finder = workspace_.plan.finder(NodeKind::remaining,
                                                 workspace_.binned.is_categorical[feature]
                                                     ? FeatureKind::category
                                                     : FeatureKind::sparse_numeric,
                                                 question);
    used.add(finder);
    category_credit_ = 1.0;
    search_missing(node, feature, rank, best);
    if (column_.n_distinct() < 2) return;
    if (finder == Finder::walk_cut) return search_random_cut(node, feature, rank, best);
    if (finder == Finder::random_categories)
        return search_random_subset(node, feature, rank, best);
    if (finder == Finder::greedy_categories || finder == Finder::ordered_categories) {
        if (!workspace_.channels.is_sparse()) sum_categories(node);
        category_credit_ = credit_categories(node);
        if (category_credit_ <= 0.0) return;
    }
    if (finder == Finder::greedy_categories)
        return search_greedy_subset(node, feature, rank, best);
    if (finder == Finder::ordered_categories) order_categories(node);
    search_ordered(node, feature, rank, best);
}

void FeatureSearch::search_ordered(const SearchNode& node, int32_t feature, uint64_t rank,
                                   Split& best) {
    const bool categorical = workspace_.binned.is_categorical[feature];
    const Column& column = column_;
    const int64_t n = node.range.size(), n_missing = column.missing.size();
    const size_t n_groups = column.n_groups();
    // first_right: the first listed group that goes right; the default rows go with it from below.
    auto keep = [&](size_t first_right, bool default_left, int64_t n_left, bool with_missing,
                    bool from_below, double gain) {
        if (!best.beaten_by(category_credit_ * gain, rank)) return;
        const bool missing_left = n_missing == 0 ? 2 * n_left >= n : with_missing == from_below;
        if (categorical) {
            category_codes_.assign(column.codes.begin(), column.codes.begin() + first_right);
            if (default_left && column.n_default > 0)
                category_codes_.push_back(column.default_code);
            keep_subset(feature, rank, gain, category_codes_, n_left, missing_left, best);
            return;
        }
        const bool at_default = column.n_default > 0 && first_right == column.n_below;
        const uint32_t left_code =
            at_default && default_left ? column.default_code : column.codes[first_right - 1];
        const uint32_t right_code =
            at_default && !default_left ? column.default_code : column.codes[first_right];
        best.take(gain, rank, feature, n_left, missing_left);
        best.cut_between(workspace_.binned, left_code, right_code);
    };
    const bool nothing_above = column.n_below == n_groups && column.n_default == 0;
    const size_t n_up = column.n_below - (nothing_above ? 1 : 0);
    for (int with_missing = 0; with_missing <= (n_missing > 0); ++with_missing) {
        walk_groups(node, column.order.data(), column.ends.data(), n_up, with_missing,
                    [&](size_t j, const Side& side, double gain) {
                        keep(j + 1, false, side.n_rows, with_missing, true, gain);
                    });
    }
    const size_t n_down = n_groups - column.n_below;
    if (n_down == 0) return;
    reversed_.clear();
    reversed_ends_.clear();
    for (size_t group = n_groups; group-- > column.n_below;) {
        reversed_.insert(reversed_.end(), column.order.begin() + column.begin_of(group),
                         column.order.begin() + column.ends[group]);
        reversed_ends_.push_back(static_cast<uint32_t>(reversed_.size()));
    }
    for (int with_missing = 0; with_missing <= (n_missing > 0); ++with_missing) {
        walk_groups(node, reversed_.data(), reversed_ends_.data(), n_down, with_missing,
                    [&](size_t j, const Side& side, double gain) {
                        keep(n_groups - 1 - j, true, n - side.n_rows, with_missing, false, gain);
                    });
    }
}

void FeatureSearch::search_missing(const SearchNode& node, int32_t feature, uint64_t rank,
                                   Split& best) {
    if (column_.missing.empty()) return;
    const uint32_t end = static_cast<uint32_t>(column_.missing.size());
    walk_groups(node, column_.missing.data(), &end, 1, false,
                [&](size_t, const Side& side, double gain) {
                    if (!best.beaten_by(gain, rank)) return;
                    const int64_t n_left = node.range.size() - side.n_rows;
                    if (workspace_.binned.is_categorical[feature]) {
                        category_codes_ = column_.codes;
                        if (column_.n_default > 0) category_codes_.push_back(column_.default_code);
                        keep_subset(feature, rank, gain, category_codes_, n_left, false, best);
                        return;
                    }
                    best.take(gain, rank, feature, n_left, false);
                    best.cut_off_missing(column_.max_code());
                });
}

void FeatureSearch::search_random_cut(const SearchNode& node, int32_t feature, uint64_t rank,
                                      Split& best) {
    const RandomCut cut = draw_random_cut(workspace_.binned, feature, node.seed,
                                          column_.min_code(), column_.max_code());
    const uint32_t left_code = cut.left_code;
    const auto split_at = std::upper_bound(column_.codes.begin(), column_.codes.end(), left_code);
    const size_t first_right = split_at - column_.codes.begin();
    const bool default_left = column_.n_default > 0 && column_.default_code <= left_code;
    const uint32_t begin = default_left ? column_.begin_of(first_right) : 0;
    const uint32_t stop =
        default_left ? static_cast<uint32_t>(column_.order.size()) : column_.begin_of(first_right);
    const uint32_t length = stop - begin;
    const int64_t n = node.range.size();
    for (int with_missing = 0; with_missing <= !column_.missing.empty(); ++with_missing) {
        walk_groups(node, column_.order.data() + begin, &length, 1, with_missing,
                    [&](size_t, const Side& side, double gain) {
                        if (!best.beaten_by(gain, rank)) return;
                        const int64_t n_left = default_left ? n - side.n_rows : side.n_rows;
                        const bool missing_left = column_.missing.empty()
                                                      ? 2 * n_left >= n
                                                      : with_missing != default_left;
                        best.take(gain, rank, feature, n_left, missing_left);
                        best.cut_at(left_code, cut.threshold(workspace_.binned, feature));
                    });
    }
}

void FeatureSearch::search_random_subset(const SearchNode& node, int32_t feature, uint64_t rank,
                                         Split& best) {
    std::vector<uint32_t> present = column_.codes;
    if (column_.n_default > 0) present.push_back(column_.default_code);
    const uint64_t seed = mix(node.seed ^ kSubsetSalt) + static_cast<uint64_t>(feature);
    std::vector<uint8_t> left(present.size());
    // All or none is no split: drawn again, so that all other subsets stay equally likely. Two
    // categories need it every second time; 64 times in a row never happens.
    for (uint64_t attempt = 0; attempt < 64; ++attempt) {
        const uint64_t own_seed = attempt == 0 ? seed : mix(seed ^ attempt);
        for (size_t i = 0; i < present.size(); ++i)
            left[i] = draw_bits(own_seed, present[i]) >> 63;
        const size_t n_chosen = std::count(left.begin(), left.end(), uint8_t{1});
        if (n_chosen != 0 && n_chosen != present.size()) break;
    }
    // A is the side without the default rows.
    const bool a_is_left = column_.n_default == 0 || !left.back();
    reversed_.clear();
    category_codes_.clear();
    for (size_t i = 0; i < present.size(); ++i) {
        if (left[i]) category_codes_.push_back(present[i]);
        if (i < column_.n_groups() && (left[i] != 0) == a_is_left)
            reversed_.insert(reversed_.end(), column_.order.begin() + column_.begin_of(i),
                             column_.order.begin() + column_.ends[i]);
    }
    const uint32_t length = static_cast<uint32_t>(reversed_.size());
    const int64_t n = node.range.size();
    for (int with_missing = 0; with_missing <= !column_.missing.empty(); ++with_missing) {
        walk_groups(
            node, reversed_.data(), &length, 1, with_missing,
            [&](size_t, const Side& side, double gain) {
                if (!best.beaten_by(gain, rank)) return;
                const int64_t n_left = a_is_left ? side.n_rows : n - side.n_rows;
                const bool missing_left =
                    column_.missing.empty() ? 2 * n_left >= n : (with_missing != 0) == a_is_left;
                keep_subset(feature, rank, gain, category_codes_, n_left, missing_left, best);
            });
    }
}

template <typename Accept>
void FeatureSearch::walk_groups(const SearchNode& node, const uint32_t* order,
                                const uint32_t* ends, size_t n_groups, bool with_missing,
                                Accept&& accept) {
    if (n_groups == 0) return;
    norms_.resize(n_groups);
    const bool has_labels = workspace_.channels.is_sparse();
    if (has_labels)
        walk_labels(node, order, ends, n_groups, with_missing);
    else
        walk_norms(node, order, ends, n_groups, with_missing);
    Side side;
    if (with_missing)
        side = side_of(node, column_.missing.data(), column_.missing.size(), !has_labels);
    uint32_t begin = 0;
    const bool counts_suffice =
        workspace_.channels.policy == HessianPolicy::unit && node.totals->centred;
    for (size_t j = 0; j < n_groups; begin = ends[j++]) {
        if (counts_suffice) {
            side.n_rows += ends[j] - begin;
            side.weight = static_cast<double>(side.n_rows);
        } else {
            const Side group = side_of(node, order + begin, ends[j] - begin, !has_labels);
            side.n_rows += group.n_rows;
            side.weight += group.weight;
            side.product = has_labels ? label_products_[j] : side.product + group.product;
        }
        if (large_enough(node, side.n_rows)) accept(j, side, gain_of(node, side, norms_[j]));
    }
}

void FeatureSearch::walk_norms(const SearchNode& node, const uint32_t* order, const uint32_t* ends,
                               size_t n_groups, bool with_missing) {
    WalkTask task;
    task.gradient = workspace_.gradient_blocks(*node.store, node.range);
    task.order = order;
    task.ends = ends;
    task.n_groups = static_cast<int64_t>(n_groups);
    if (with_missing) {
        task.initial = column_.missing.data();
        task.n_initial = static_cast<int64_t>(column_.missing.size());
    }
    if (partial_.size() < n_groups * workspace_.lanes)
        partial_.resize(n_groups * workspace_.lanes);
    task.partial = partial_.data();
    task.norms = norms_.data();
    work += (uint64_t{ends[n_groups - 1]} + task.n_initial) * workspace_.channels.n_channels;
    const bool exact = workspace_.params.double_precision || workspace_.plan.is_incremental;
    if (!workspace_.per_channel()) {
        (exact ? kernels_.walk_double : kernels_.walk)(task);
        return;
    }
    WeightedWalkTask weighted;
    weighted.walk = task;
    weighted.hessian = workspace_.hessian_blocks(*node.store, node.range);
    weighted.gradient_total = node.totals->gradient.data();
    weighted.hessian_total = node.totals->hessian.data();
    weighted.l2_regularization = static_cast<float>(workspace_.params.l2_regularization);
    (exact ? kernels_.walk_weighted_double : kernels_.walk_weighted)(weighted);
}

// |A|^2 grows by 2 a A_l + a^2 when row value a joins label l: the cost is the number of labels
// that are set, not the number there are.
void FeatureSearch::walk_labels(const SearchNode& node, const uint32_t* order,
                                const uint32_t* ends, size_t n_groups, bool with_missing) {
    const ChannelsView& labels = workspace_.channels;
    label_products_.resize(n_groups);
    double norm = 0.0, product = 0.0;
    auto add = [&](uint32_t position) {
        const int64_t at = node.range.begin + position;
        const double weight = workspace_.row_weight(at);
        const int32_t row = workspace_.rows[at];
        work += labels.indptr[row + 1] - labels.indptr[row];
        for (int64_t e = labels.indptr[row]; e < labels.indptr[row + 1]; ++e) {
            const double value = weight * labels.data[e];
            double& sum = label_sums[labels.indices[e]];
            norm += value * (2.0 * sum + value);
            sum += value;
            product += value * node.label_totals[labels.indices[e]];
        }
    };
    auto clear = [&](uint32_t position) {
        const int32_t row = workspace_.rows[node.range.begin + position];
        for (int64_t e = labels.indptr[row]; e < labels.indptr[row + 1]; ++e)
            label_sums[labels.indices[e]] = 0.0;
    };
    if (with_missing)
        for (uint32_t position : column_.missing) add(position);
    uint32_t i = 0;
    for (size_t j = 0; j < n_groups; ++j) {
        for (; i < ends[j]; ++i) add(order[i]);
        norms_[j] = norm;
        label_products_[j] = product;
    }
    if (with_missing)
        for (uint32_t position : column_.missing) clear(position);
    for (i = 0; i < ends[n_groups - 1]; ++i) clear(order[i]);
}

FeatureSearch::Side FeatureSearch::side_of(const SearchNode& node, const uint32_t* rows, size_t n,
                                           bool with_product) const {
    Side side;
    side.n_rows = static_cast<int64_t>(n);
    if (workspace_.per_channel()) return side;
    if (workspace_.channels.policy == HessianPolicy::unit) {
        side.weight = static_cast<double>(n);
    } else {
        for (size_t i = 0; i < n; ++i)
            side.weight += workspace_.weights[node.range.begin + rows[i]];
    }
    if (!with_product || node.totals->centred) return side;
    for (size_t i = 0; i < n; ++i) {
        const int64_t at = node.range.begin + rows[i];
        side.product +=
            workspace_.plan.is_incremental
                ? workspace_.product_of(at, node.store, *node.totals, node.label_totals)
                : workspace_.products[at];
    }
    return side;
}

double FeatureSearch::gain_of(const SearchNode& node, const Side& side, double norm) const {
    if (workspace_.per_channel()) return norm - node.totals->base_score;
    return workspace_.criterion_of(*node.totals).gain(norm, side.product, side.weight);
}

bool FeatureSearch::large_enough(const SearchNode& node, int64_t n_side) const {
    const int64_t least = workspace_.params.min_samples_leaf;
    return n_side >= least && node.range.size() - n_side >= least;
}

void FeatureSearch::keep_subset(int32_t feature, uint64_t rank, double gain,
                                const std::vector<uint32_t>& left_codes, int64_t n_left,
                                bool missing_left, Split& best) const {
    best.take(category_credit_ * gain, rank, feature, n_left, missing_left);
    best.discount = gain - best.gain;
    // Categories that the node has not seen go the way of the missing values.
    const size_t n_words = (workspace_.binned.n_bins(feature) + 31) / 32;
    std::vector<uint32_t>& words =
        best.choose_categories(n_words, missing_left ? ~uint32_t{0} : 0);
    auto put = [&](uint32_t code, bool left) {
        uint32_t& word = words[code >> 5];
        word = left ? word | uint32_t{1} << (code & 31) : word & ~(uint32_t{1} << (code & 31));
    };
    for (uint32_t code : column_.codes) put(code, false);
    if (column_.n_default > 0) put(column_.default_code, false);
    for (uint32_t code : left_codes) put(code, true);
}

}  // namespace polyleaf
