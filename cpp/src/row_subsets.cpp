#include "row_subsets.hpp"

namespace ramify {

namespace {

// One over the number of rows of every subset.
struct Inverses {
    double of_subset[1 << RowSubsets::kMostRows] = {};
    Inverses() {
        for (int subset = 1; subset < 1 << RowSubsets::kMostRows; ++subset)
            of_subset[subset] = 1.0 / count_bits(subset);
    }
    double operator[](int subset) const { return of_subset[subset]; }
};
const Inverses kInverses;

}  // namespace

RowSubsets::RowSubsets(const Workspace& workspace)
    : workspace_(workspace),
      kernels_(kernels_for(workspace.lanes)),
      least_rows_(
          static_cast<int>(std::clamp<int64_t>(workspace.params.min_samples_leaf, 1, kMostRows))),
      dust_(workspace.dust()),
      places_(workspace.channels.is_sparse() ? workspace.channels.n_channels : 0, -1) {}

void RowSubsets::tabulate(const NodeRange& range, ChannelStore* store) {
    const int n = static_cast<int>(range.size());
    if (workspace_.channels.is_sparse())
        multiply_labels(range, n);
    else
        kernels_.row_products({workspace_.gradient_blocks(*store, range), n, products_});
    work += static_cast<uint64_t>(n * (n + 1) / 2) * workspace_.channels.n_channels;
    // Every subset is a smaller one plus its highest row; scores_ holds norms at first.
    double
        shared[1 << (kMostRows - 1)];  // product of row i with the sum of a subset of those before
    weights_[0] = scores_[0] = shared[0] = 0.0;
    for (int i = 0; i < n; ++i) {
        const double* const products = products_ + i * kMostRows;
        for (int j = 0; j < i; ++j)
            for (int rest = 0; rest < 1 << j; ++rest)
                shared[rest | 1 << j] = shared[rest] + products[j];
        const double weight = workspace_.row_weight(range.begin + i);
        for (int rest = 0; rest < 1 << i; ++rest) {
            weights_[rest | 1 << i] = weights_[rest] + weight;
            scores_[rest | 1 << i] = scores_[rest] + 2.0 * shared[rest] + products[i];
        }
        squares_[i] = products[i] / weight;
    }
    if (workspace_.channels.policy == HessianPolicy::unit)
        for (int subset = 1; subset < 1 << n; ++subset) scores_[subset] *= kInverses[subset];
    else
        for (int subset = 1; subset < 1 << n; ++subset) scores_[subset] /= weights_[subset];
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

}  // namespace ramify
