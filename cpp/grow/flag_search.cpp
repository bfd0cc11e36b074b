#include "grow/flag_search.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"
#include "grow/label_totals.hpp"
#include "grow/random_cut.hpp"

namespace polyleaf {

void FlagSearch::search(const SearchNode& node, const int32_t* features, const uint64_t* ranks,
                        size_t n, const SparseEntries& entries, std::vector<double>& side,
                        Split& best) {
    choose_columns(node, features, ranks, n, entries);
    if (columns_.empty()) return;
    if (workspace_.channels.is_sparse())
        sum_sparse_labels(node, side);
    else
        sum_channels(node);
    const NodeCriterion criterion = workspace_.criterion_of(*node.totals);
    for (size_t column = 0; column < columns_.size(); ++column) {
        const double gain = criterion.gain(norms_[column], products_[column], weights_[column]);
        if (best.beaten_by(gain, ranks_[column]))
            keep(node, features_[column], ranks_[column], columns_[column].n_rows, gain, best);
    }
}

void FlagSearch::search_listed(const SearchNode& node, Split& best) {
    const FlagSums& listed = *node.listed;
    const BinnedView& binned = workspace_.binned;
    norms_.resize(binned.n_sparse);
    products_.resize(binned.n_sparse);
    kernels_.norms_of_sums({listed.sums(), node.totals->gradient.data(), binned.n_sparse,
                            norms_.data(), products_.data()});
    const NodeCriterion criterion = workspace_.criterion_of(*node.totals);
    const int64_t least = std::max<int64_t>(1, workspace_.params.min_samples_leaf);
    const int64_t most = node.range.size() - least;
    for (int32_t slot = 0; slot < binned.n_sparse; ++slot) {
        const int64_t count = listed.count(slot);
        if (count < least || count > most) continue;
        work += static_cast<uint64_t>(count) * workspace_.channels.n_channels;
        const double gain = criterion.gain(norms_[slot], products_[slot], listed.weight(slot));
        if (std::isnan(gain)) continue;
        const int32_t feature = binned.sparse_features[slot];
        const uint64_t rank = feature_rank(node.seed, feature);
        if (best.beaten_by(gain, rank)) keep(node, feature, rank, count, gain, best);
    }
}

void FlagSearch::choose_columns(const SearchNode& node, const int32_t* features,
                                const uint64_t* ranks, size_t n, const SparseEntries& entries) {
    columns_.clear();
    features_.clear();
    ranks_.clear();
    const int64_t least = std::max<int64_t>(1, workspace_.params.min_samples_leaf);
    const int64_t most = node.range.size() - least;
    for (size_t i = 0; i < n; ++i) {
        const int32_t slot = ~workspace_.feature_home[features[i]];
        const int64_t count = entries.count(slot);
        if (count < least || count > most) continue;
        columns_.push_back({entries.rows(slot), count});
        features_.push_back(features[i]);
        ranks_.push_back(ranks[i]);
    }
    weights_.resize(columns_.size());
    norms_.resize(columns_.size());
    products_.resize(columns_.size());
}

void FlagSearch::sum_channels(const SearchNode& node) {
    ColumnsTask task;
    task.gradient = workspace_.gradient_blocks(*node.store, node.range);
    task.total = node.totals->gradient.data();
    task.columns = columns_.data();
    task.n_columns = static_cast<int64_t>(columns_.size());
    task.norms = norms_.data();
    task.products = products_.data();
    kernels_.sum_columns(task);
    const bool unit = workspace_.channels.policy == HessianPolicy::unit;
    for (size_t column = 0; column < columns_.size(); ++column) {
        const RowList& list = columns_[column];
        work += static_cast<uint64_t>(list.n_rows) * workspace_.channels.n_channels;
        double weight = unit ? static_cast<double>(list.n_rows) : 0.0;
        for (int64_t i = 0; !unit && i < list.n_rows; ++i)
            weight += workspace_.weights[node.range.begin + list.rows[i]];
        weights_[column] = weight;
    }
}

void FlagSearch::sum_sparse_labels(const SearchNode& node, std::vector<double>& side) {
    for (size_t column = 0; column < columns_.size(); ++column) {
        const RowList& list = columns_[column];
        const LabelSums sums =
            sum_labels(workspace_, node.range, list.rows, list.n_rows, node.label_totals, side);
        weights_[column] = sums.weight;
        norms_[column] = sums.norm;
        products_[column] = sums.product;
        work += sums.n_labels;
    }
}

void FlagSearch::keep(const SearchNode& node, int32_t feature, uint64_t rank, int64_t n_listed,
                      double gain, Split& best) const {
    const BinnedView& binned = workspace_.binned;
    const int64_t n = node.range.size();
    const bool lists_left = binned.sparse_default[~workspace_.feature_home[feature]] == 1;
    const int64_t n_left = lists_left ? n_listed : n - n_listed;
    best.take(gain, rank, feature, n_left, 2 * n_left >= n);
    if (binned.is_categorical[feature])
        best.choose_categories(1, 1);  // code 0 goes left, code 1 right
    else
        cut_flag(binned, node.seed, workspace_.params.random_cuts, best);
}

}  // namespace polyleaf
