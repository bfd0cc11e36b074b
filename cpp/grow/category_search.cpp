// Subsets of categories: a greedy forward selection, and an order along the main axis.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "grow/feature_search.hpp"

namespace polyleaf {

// One item per category of the node, then the default rows' category, then the missing rows.
void FeatureSearch::sum_categories(const SearchNode& node) {
    const size_t width = static_cast<size_t>(workspace_.n_blocks) * workspace_.lanes;
    const bool per_channel = workspace_.per_channel();
    const size_t n_listed = column_.n_groups();
    const size_t n_items =
        n_listed + (column_.n_default > 0 ? 1 : 0) + (column_.missing.empty() ? 0 : 1);
    category_sums_.assign(n_items * width, 0.0);
    category_hessians_.assign(per_channel ? n_items * width : 0, 0.0);
    category_squares_.assign(per_channel ? n_items * width : 0, 0.0);
    category_sides_.assign(n_items, Side{});
    const Blocks g = workspace_.gradient_blocks(*node.store, node.range);
    const Blocks h = per_channel ? workspace_.hessian_blocks(*node.store, node.range) : Blocks{};
    const int lanes = workspace_.lanes;
    auto add_rows = [&](size_t item, const uint32_t* rows, size_t n) {
        category_sides_[item] = side_of(node, rows, n);
        for (int32_t block = 0; block < workspace_.n_blocks; ++block) {
            double* sums = category_sums_.data() + item * width + block * lanes;
            const float* values = g.data + block * g.block_stride;
            for (size_t i = 0; i < n; ++i)
                for (int k = 0; k < lanes; ++k) sums[k] += values[int64_t{rows[i]} * lanes + k];
            if (!per_channel) continue;
            double* weights = category_hessians_.data() + item * width + block * lanes;
            double* squares = category_squares_.data() + item * width + block * lanes;
            const float* hv = h.data + block * h.block_stride;
            for (size_t i = 0; i < n; ++i)
                for (int k = 0; k < lanes; ++k) {
                    const double weight = hv[int64_t{rows[i]} * lanes + k];
                    weights[k] += weight;
                    squares[k] += weight * weight;
                }
        }
        work += n * workspace_.channels.n_channels;
    };
    for (size_t item = 0; item < n_listed; ++item)
        add_rows(item, column_.order.data() + column_.begin_of(item),
                 column_.ends[item] - column_.begin_of(item));
    if (!column_.missing.empty())
        add_rows(n_items - 1, column_.missing.data(), column_.missing.size());
    if (column_.n_default == 0) return;
    // The default rows are what the others leave of the node.
    Side rest{node.range.size(), node.totals->weight, node.totals->norm};
    std::vector<double> sums(node.totals->gradient.begin(), node.totals->gradient.end());
    std::vector<double> weights(node.totals->hessian.begin(), node.totals->hessian.end());
    for (size_t item = 0; item < n_items; ++item) {
        if (item == n_listed) continue;
        rest.n_rows -= category_sides_[item].n_rows;
        rest.weight -= category_sides_[item].weight;
        rest.product -= category_sides_[item].product;
        for (size_t k = 0; k < width; ++k) sums[k] -= category_sums_[item * width + k];
        if (per_channel)
            for (size_t k = 0; k < width; ++k) weights[k] -= category_hessians_[item * width + k];
    }
    category_sides_[n_listed] = rest;
    std::copy(sums.begin(), sums.end(), category_sums_.begin() + n_listed * width);
    if (!per_channel) return;
    std::copy(weights.begin(), weights.end(), category_hessians_.begin() + n_listed * width);
    double* rest_squares = category_squares_.data() + n_listed * width;
    for (size_t k = 0; k < width; ++k) {
        const float* hv = h.data + k / lanes * h.block_stride + k % lanes;
        for (int64_t i = 0; i < node.range.size(); ++i)
            rest_squares[k] += double{hv[i * lanes]} * hv[i * lanes];
        for (size_t item = 0; item < n_items; ++item)
            if (item != n_listed) rest_squares[k] -= category_squares_[item * width + k];
    }
}

// Subsets that are chosen among many explain a part of any node, be its rows shuffled: c
// categories of n rows are then expected to have (c - 1) / n of its impurity between them. A few
// such shares are free, since the best cut of a number has them, too. The credit is the share of
// what the categories explain that is left without the others; what a subset gains is multiplied
// by it. Where none is left, no subset is looked for.
double FeatureSearch::credit_categories(const SearchNode& node) {
    const double penalty = workspace_.params.category_penalty;
    if (penalty == 0.0 || static_cast<double>(column_.n_distinct()) <= kFreeCategories) return 1.0;
    const double expected = penalty * chance_share(node) * node.totals->impurity;
    if (!(expected > 0.0)) return 1.0;
    const double between = workspace_.channels.is_sparse() ? between_categories_of_labels(node)
                                                           : between_categories(node);
    return between > expected ? 1.0 - expected / between : 0.0;
}

// The share of the impurity that chance puts between the categories, but for what is free. A
// row of weight w counts as w^2: the second copy of a row in a bootstrap sample tells nothing new.
double FeatureSearch::chance_share(const SearchNode& node) const {
    const double n_free = kFreeCategories + (column_.missing.empty() ? 0.0 : 1.0);
    if (workspace_.per_channel()) return chance_share_per_channel(node, n_free);
    if (workspace_.channels.policy == HessianPolicy::unit)
        return (static_cast<double>(column_.n_distinct()) - kFreeCategories) / node.range.size();
    double all = 0.0, listed = 0.0, listed_weight = 0.0, share = 0.0;
    for (int64_t i = node.range.begin; i < node.range.end; ++i) all += square_of_weight(i);
    auto add_rows = [&](const uint32_t* rows, size_t n_rows) {
        double weight = 0.0, squares = 0.0;
        for (size_t i = 0; i < n_rows; ++i) {
            weight += workspace_.weights[node.range.begin + rows[i]];
            squares += square_of_weight(node.range.begin + rows[i]);
        }
        listed += squares;
        listed_weight += weight;
        if (weight > 0.0) share += squares / weight;
    };
    for (size_t group = 0; group < column_.n_groups(); ++group)
        add_rows(column_.order.data() + column_.begin_of(group),
                 column_.ends[group] - column_.begin_of(group));
    add_rows(column_.missing.data(), column_.missing.size());
    const double weight = node.totals->weight;
    if (column_.n_default > 0 && weight > listed_weight)
        share += (all - listed) / (weight - listed_weight);
    return (share - n_free * all / weight) / weight;
}

// The mean over channels, each by its weight: only the impurity of all of them is known.
double FeatureSearch::chance_share_per_channel(const SearchNode& node, double n_free) const {
    const size_t width = static_cast<size_t>(workspace_.n_blocks) * workspace_.lanes;
    double share = 0.0, weight = 0.0;
    for (size_t k = 0; k < width; ++k) {
        const double total = node.totals->hessian[k], dust = kDustDouble * total;
        if (!(total > 0.0)) continue;
        double squares = 0.0;
        for (size_t item = 0; item < category_sides_.size(); ++item) {
            const double own = category_hessians_[item * width + k];
            if (!(own > dust)) continue;
            share += category_squares_[item * width + k] / own;
            squares += category_squares_[item * width + k];
        }
        share -= n_free * squares / total;
        weight += total;
    }
    return weight > 0.0 ? share / weight : 0.0;
}

double FeatureSearch::square_of_weight(int64_t position) const {
    const double weight = workspace_.weights[position];
    return weight * weight;
}

// What the categories explain of the node's impurity; the missing rows are one more of them.
double FeatureSearch::between_categories(const SearchNode& node) const {
    const size_t width = static_cast<size_t>(workspace_.n_blocks) * workspace_.lanes;
    const size_t n_items = category_sides_.size();
    double between = 0.0;
    if (!workspace_.per_channel()) {
        for (size_t item = 0; item < n_items; ++item) {
            const double* const sums = category_sums_.data() + item * width;
            if (category_sides_[item].weight > 0.0)
                between += std::inner_product(sums, sums + width, sums, 0.0) /
                           category_sides_[item].weight;
        }
        return between - node.totals->norm / node.totals->weight;
    }
    for (size_t k = 0; k < width; ++k) {
        const double dust = kDustDouble * node.totals->hessian[k];
        for (size_t item = 0; item < n_items; ++item)
            between += channel_score(category_sums_[item * width + k],
                                     category_hessians_[item * width + k], 0.0, dust);
        between -= channel_score(node.totals->gradient[k], node.totals->hessian[k], 0.0, dust);
    }
    return between;
}

// The same for sparse labels, whose sums are not kept: |G|^2 of one category after the other.
double FeatureSearch::between_categories_of_labels(const SearchNode& node) {
    const uint32_t* const order = column_.order.data();
    Side rest{node.range.size(), node.totals->weight, 0.0};
    double between = 0.0;
    auto add_rows = [&](const uint32_t* rows, size_t n) {
        if (n == 0) return;
        const uint32_t end = static_cast<uint32_t>(n);
        norms_.resize(1);
        walk_labels(node, rows, &end, 1, false);
        const double weight = side_of(node, rows, n, false).weight;
        rest.weight -= weight;
        if (weight > 0.0) between += norms_[0] / weight;
    };
    for (size_t group = 0; group < column_.n_groups(); ++group)
        add_rows(order + column_.begin_of(group), column_.ends[group] - column_.begin_of(group));
    add_rows(column_.missing.data(), column_.missing.size());
    if (column_.n_default > 0 && rest.weight > 0.0) {
        // |G - A|^2, where A is the sum of all rows but the default ones.
        norms_.assign(column_.n_groups(), 0.0);
        const bool has_missing = !column_.missing.empty();
        walk_labels(node, order, column_.ends.data(), column_.n_groups(), has_missing);
        const double norm =
            node.totals->norm - 2.0 * label_products_.back() + norms_[column_.n_groups() - 1];
        between += norm / rest.weight;
    }
    return between - node.totals->norm / node.totals->weight;
}

// Forward selection (Breskvar et al. 2018): the side grows by the item that raises the criterion
// most, as long as it rises. The missing rows are an item like the others.
void FeatureSearch::search_greedy_subset(const SearchNode& node, int32_t feature, uint64_t rank,
                                         Split& best) {
    const size_t width = static_cast<size_t>(workspace_.n_blocks) * workspace_.lanes;
    const size_t n_items = category_sides_.size();
    const bool per_channel = workspace_.per_channel();
    std::vector<double> gram(per_channel ? 0 : n_items * n_items);
    if (!per_channel) {
        for (size_t i = 0; i < n_items; ++i)
            for (size_t j = 0; j <= i; ++j)
                gram[i * n_items + j] = gram[j * n_items + i] = std::inner_product(
                    category_sums_.begin() + i * width, category_sums_.begin() + (i + 1) * width,
                    category_sums_.begin() + j * width, 0.0);
    }
    std::vector<double> sum(width, 0.0), weight(per_channel ? width : 0, 0.0);
    std::vector<double> cross(n_items, 0.0);  // A . item
    std::vector<uint8_t> chosen(n_items, 0);
    Side side;
    double norm = 0.0, current = -std::numeric_limits<double>::infinity();

    auto gain_with = [&](size_t item) {
        const Side& extra = category_sides_[item];
        if (!per_channel) {
            const Side joined{side.n_rows + extra.n_rows, side.weight + extra.weight,
                              side.product + extra.product};
            return gain_of(node, joined, norm + 2.0 * cross[item] + gram[item * n_items + item]);
        }
        const double lambda = workspace_.params.l2_regularization;
        double both = 0.0;  // of both sides
        for (size_t k = 0; k < width; ++k) {
            const double a = sum[k] + category_sums_[item * width + k];
            const double ha = weight[k] + category_hessians_[item * width + k];
            const double b = node.totals->gradient[k] - a, hb = node.totals->hessian[k] - ha;
            const double dust = kDustDouble * node.totals->hessian[k];
            both += channel_score(a, ha, lambda, dust);
            both += channel_score(b, hb, lambda, dust);
        }
        return gain_of(node, side, both);
    };
    auto keep = [&](double gain) {
        if (!large_enough(node, side.n_rows) || !best.beaten_by(category_credit_ * gain, rank))
            return;
        category_codes_.clear();
        for (size_t i = 0; i < column_.n_groups(); ++i)
            if (chosen[i]) category_codes_.push_back(column_.codes[i]);
        if (column_.n_default > 0 && chosen[column_.n_groups()])
            category_codes_.push_back(column_.default_code);
        const bool missing_left = column_.missing.empty() ? 2 * side.n_rows >= node.range.size()
                                                          : chosen[n_items - 1] != 0;
        keep_subset(feature, rank, gain, category_codes_, side.n_rows, missing_left, best);
    };
    for (size_t step = 0; step + 1 < n_items; ++step) {
        size_t next = n_items;
        double next_gain = -std::numeric_limits<double>::infinity();
        for (size_t item = 0; item < n_items; ++item) {
            if (chosen[item]) continue;
            const double gain = gain_with(item);
            // A side of next to no weight has no gain; any other is better.
            if (next == n_items || gain > next_gain || std::isnan(next_gain))
                next = item, next_gain = gain;
        }
        // min_samples_leaf may ask for more items than the criterion alone would take.
        const bool still_small = side.n_rows < workspace_.params.min_samples_leaf;
        if (next_gain < current && !still_small) return;
        current = next_gain;
        chosen[next] = 1;
        side.n_rows += category_sides_[next].n_rows;
        side.weight += category_sides_[next].weight;
        side.product += category_sides_[next].product;
        if (per_channel) {
            for (size_t k = 0; k < width; ++k) {
                sum[k] += category_sums_[next * width + k];
                weight[k] += category_hessians_[next * width + k];
            }
        } else {
            norm += 2.0 * cross[next] + gram[next * n_items + next];
            for (size_t item = 0; item < n_items; ++item)
                cross[item] += gram[next * n_items + item];
        }
        keep(current);
    }
}

std::vector<double> principal_scores(std::vector<double> means, const std::vector<double>& weights,
                                     size_t width) {
    const size_t n = weights.size();
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<double> centre(width, 0.0), axis(width, 0.0), scores(n, 0.0);
    for (size_t i = 0; i < n; ++i)
        for (size_t k = 0; k < width; ++k) centre[k] += weights[i] / total * means[i * width + k];
    double largest = -1.0;
    for (size_t i = 0; i < n; ++i) {
        double norm = 0.0;
        for (size_t k = 0; k < width; ++k) {
            means[i * width + k] -= centre[k];
            norm += means[i * width + k] * means[i * width + k];
        }
        if (norm * weights[i] > largest) {
            largest = norm * weights[i];
            std::copy_n(means.begin() + i * width, width, axis.begin());
        }
    }
    constexpr int kIterations = 12;
    for (int iteration = 0; iteration < kIterations; ++iteration) {
        for (size_t i = 0; i < n; ++i)
            scores[i] =
                std::inner_product(axis.begin(), axis.end(), means.begin() + i * width, 0.0);
        std::fill(axis.begin(), axis.end(), 0.0);
        for (size_t i = 0; i < n; ++i)
            for (size_t k = 0; k < width; ++k)
                axis[k] += weights[i] * scores[i] * means[i * width + k];
        const double norm =
            std::sqrt(std::inner_product(axis.begin(), axis.end(), axis.begin(), 0.0));
        if (norm == 0.0) break;
        for (double& value : axis) value /= norm;
    }
    for (size_t i = 0; i < n; ++i)
        scores[i] = std::inner_product(axis.begin(), axis.end(), means.begin() + i * width, 0.0);
    return scores;
}

// Reorders the column's groups, and the place of the default rows among them, by score.
void FeatureSearch::order_categories(const SearchNode& node) {
    const size_t n_listed = column_.n_groups(), n_categories = column_.n_distinct();
    std::vector<double> scores(n_categories);
    if (workspace_.channels.is_sparse()) {
        // Along the node's own mean: products are G . y.
        Side rest{node.range.size(), node.totals->weight, node.totals->norm};
        const Side missing = side_of(node, column_.missing.data(), column_.missing.size());
        rest.weight -= missing.weight;
        rest.product -= missing.product;
        for (size_t i = 0; i < n_listed; ++i) {
            const Side side = side_of(node, column_.order.data() + column_.begin_of(i),
                                      column_.ends[i] - column_.begin_of(i));
            scores[i] = side.product / side.weight;
            rest.weight -= side.weight;
            rest.product -= side.product;
        }
        if (n_categories > n_listed) scores[n_listed] = rest.product / rest.weight;
    } else {
        const size_t width = static_cast<size_t>(workspace_.n_blocks) * workspace_.lanes;
        std::vector<double> weights(n_categories), means(n_categories * width, 0.0);
        for (size_t i = 0; i < n_categories; ++i) {
            weights[i] = static_cast<double>(category_sides_[i].n_rows);
            for (size_t k = 0; k < width; ++k) {
                const double weight = workspace_.per_channel() ? category_hessians_[i * width + k]
                                                               : category_sides_[i].weight;
                if (weight > 0.0) means[i * width + k] = category_sums_[i * width + k] / weight;
            }
        }
        scores = principal_scores(std::move(means), weights, width);
    }
    for (double& score : scores)
        if (std::isnan(score)) score = 0.0;  // not to be sorted
    std::vector<size_t> sequence(n_listed);
    std::iota(sequence.begin(), sequence.end(), size_t{0});
    std::stable_sort(sequence.begin(), sequence.end(),
                     [&](size_t a, size_t b) { return scores[a] < scores[b]; });
    reversed_.clear();
    reversed_ends_.clear();
    category_codes_.clear();
    size_t n_below = 0;
    for (size_t group : sequence) {
        reversed_.insert(reversed_.end(), column_.order.begin() + column_.begin_of(group),
                         column_.order.begin() + column_.ends[group]);
        reversed_ends_.push_back(static_cast<uint32_t>(reversed_.size()));
        category_codes_.push_back(column_.codes[group]);
        if (n_categories == n_listed || scores[group] < scores[n_listed]) ++n_below;
    }
    column_.order.swap(reversed_);
    column_.ends.swap(reversed_ends_);
    column_.codes.swap(category_codes_);
    column_.n_below = n_below;
}

}  // namespace polyleaf
