#include "grow/subset_gains.hpp"

#include <algorithm>

namespace polyleaf {

// A division and its mirror image have the same gain, so that half of the subsets will do.
void SubsetGains::tabulate(const SearchNode& node) {
    const int n = static_cast<int>(node.range.size());
    const int64_t least = workspace_.params.min_samples_leaf;
    const uint32_t all = (1u << n) - 1, n_subsets = 1u << (n - 1);
    const NodeCriterion criterion = workspace_.criterion_of(*node.totals);
    gains_.resize(size_t{1} << n);
    gains_[0] = gains_[all] = -1.0f;
    norms_.assign(n_subsets, 0.0f);
    kernels_.subset_norms({workspace_.gradient_blocks(*node.store, node.range), n, norms_.data()});
    work += uint64_t{n_subsets} * workspace_.channels.n_channels;
    for (uint32_t subset = 1; subset < n_subsets; ++subset) {
        const int64_t n_side = __builtin_popcount(subset);
        double weight = static_cast<double>(n_side);
        if (workspace_.channels.policy != HessianPolicy::unit) {
            weight = 0.0;
            for (int row = 0; row < n; ++row)
                if (subset >> row & 1) weight += workspace_.weights[node.range.begin + row];
        }
        const double other = criterion.weight - weight;
        gains_[subset] = gains_[all ^ subset] =
            criterion.is_dust(weight, other) || n_side < least || n - n_side < least
                ? -1.0f
                : static_cast<float>(norms_[subset] *
                                     factor_of_inverses(1.0 / weight, 1.0 / other));
    }
}

}  // namespace polyleaf
