#include "grow/row_subsets.hpp"

namespace polyleaf {

namespace {

// Where every row weighs 1.
struct UnitWeights {
    double weights[RowSubsets::kSubsets] = {}, inverses[RowSubsets::kSubsets] = {};
    UnitWeights() {
        for (int subset = 1; subset < RowSubsets::kSubsets; ++subset) {
            weights[subset] = count_bits(subset);
            inverses[subset] = 1.0 / weights[subset];
        }
    }
};
const UnitWeights kUnit;

}  // namespace

RowSubsets::RowSubsets(const Workspace& workspace)
    : workspace_(workspace),
      kernels_(kernels_for(workspace.lanes)),
      least_rows_(
          static_cast<int>(std::clamp<int64_t>(workspace.params.min_samples_leaf, 1, kMostRows))),
      dust_(workspace.dust()),
      weights_(workspace.channels.policy == HessianPolicy::unit ? kUnit.weights : own_weights_),
      places_(workspace.channels.is_sparse() ? workspace.channels.n_channels : 0, -1) {}

void RowSubsets::tabulate(const NodeRange& range, ChannelStore* store) {
    const int n = static_cast<int>(range.size());
    if (workspace_.channels.is_sparse())
        multiply_labels(range, n);
    else
        kernels_.row_products({workspace_.gradient_blocks(*store, range), n, products_});
    work += static_cast<uint64_t>(n * (n + 1) / 2) * workspace_.channels.n_channels;
    for (int i = 0; i < n; ++i)
        squares_[i] = products_[i * kMostRows + i] / workspace_.row_weight(range.begin + i);
    const bool unit = workspace_.channels.policy == HessianPolicy::unit;
    if (!unit) tabulate_weights(range);
    kernels_.norms_of_products({products_, n, unit ? kUnit.inverses : inverses_, scores_});
}

void RowSubsets::tabulate_weights(const NodeRange& range) {
    const int n = static_cast<int>(range.size());
    // Norms come in eights, whatever is left of them.
    std::fill_n(inverses_, 8, 0.0);
    own_weights_[0] = inverses_[0] = 0.0;
    for (int i = 0; i < n; ++i) {
        const double weight = workspace_.row_weight(range.begin + i);
        for (int rest = 0; rest < 1 << i; ++rest)
            own_weights_[rest | 1 << i] = own_weights_[rest] + weight;
    }
    for (int subset = 1; subset < 1 << n; ++subset) inverses_[subset] = 1.0 / own_weights_[subset];
}

double RowSubsets::impurity(uint32_t rows) const {
    double square = 0.0;
    for_each_bit(rows, [&](int i) { square += squares_[i]; });
    return deviations(square, scores_[rows]);
}

void RowSubsets::multiply_labels(const NodeRange& range, int n) {
    const ChannelsView& labels = workspace_.channels;
    labels_.clear();
    for (int i = 0; i < n; ++i) {
        const int32_t row = workspace_.rows[range.begin + i];
        const double weight = workspace_.row_weight(range.begin + i);
        for (int64_t e = labels.indptr[row]; e < labels.indptr[row + 1]; ++e) {
            int32_t& place = places_[labels.indices[e]];
            if (place < 0) {
                place = static_cast<int32_t>(labels_.size());
                labels_.push_back({labels.indices[e], 0, {}});
            }
            Label& label = labels_[place];
            label.rows |= 1u << i;
            label.values[i] = weight * labels.data[e];
        }
    }
    std::fill_n(products_, kMostRows * kMostRows, 0.0);
    for (const Label& label : labels_) {
        places_[label.label] = -1;
        for_each_bit(label.rows, [&](int i) {
            for_each_bit(label.rows & ((2u << i) - 1), [&](int j) {
                products_[i * kMostRows + j] += label.values[i] * label.values[j];
            });
        });
    }
}

}  // namespace polyleaf
