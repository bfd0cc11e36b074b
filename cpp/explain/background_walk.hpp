// Interventional weights of one row against one background row, for trees too deep for tables.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "explain/paths.hpp"

namespace polyleaf {

// Goes down to the leaves that a mixture of the two rows can reach. Where they part on a feature,
// that feature is for one side (the row's) or against it (the background's) from there on.
class BackgroundWalk {
  public:
    void start(const PathTree& tree) {
        side_.assign(tree.most_features, kBoth);
        const int64_t m = tree.most_features + 1;
        if (static_cast<int64_t>(log_factorials_.size()) > m + 1) return;
        for (int64_t k = static_cast<int64_t>(log_factorials_.size()); k <= m + 1; ++k)
            log_factorials_.push_back(std::lgamma(k + 1.0));
    }

    // weights[e] += scale * weight of the e-th entry of all paths.
    template <typename T>
    void add(const PathTree& tree, const uint8_t* goes_left, const T* background, float scale,
             float* weights) {
        stack_.assign(1, Step{0, -1, kBoth, 0, 0});
        while (!stack_.empty()) {
            const Step step = stack_.back();
            stack_.pop_back();
            if (step.undo) {
                side_[step.slot] = kBoth;
                continue;
            }
            if (step.slot >= 0) side_[step.slot] = step.side;
            const int32_t node = step.node;
            if (tree.feature[node] < 0) {
                add_leaf(tree, tree.leaf_index[node], step.n_for, step.n_against, scale, weights);
                continue;
            }
            const bool by_row = goes_left[node];
            const bool by_background =
                tree.goes_left(node, static_cast<double>(background[tree.feature[node]]));
            const int32_t slot = tree.slot[node + 1];
            const uint8_t side = tree.previous[node + 1] == 0 ? kBoth : side_[slot];
            const int32_t row_child = by_row ? node + 1 : tree.right[node];
            const int32_t other_child = by_background ? node + 1 : tree.right[node];
            if (side == kFor || (side == kBoth && row_child == other_child)) {
                stack_.push_back({row_child, -1, kBoth, step.n_for, step.n_against});
            } else if (side == kAgainst) {
                stack_.push_back({other_child, -1, kBoth, step.n_for, step.n_against});
            } else {
                stack_.push_back({0, slot, kBoth, 0, 0, true});
                stack_.push_back({other_child, slot, kAgainst, step.n_for, step.n_against + 1});
                stack_.push_back({row_child, slot, kFor, step.n_for + 1, step.n_against});
            }
        }
    }

  private:
    static constexpr uint8_t kBoth = 0, kFor = 1, kAgainst = 2;
    struct Step {
        int32_t node, slot;
        uint8_t side;
        int32_t n_for, n_against;
        bool undo = false;
    };

    void add_leaf(const PathTree& tree, int64_t leaf, int32_t n_for, int32_t n_against,
                  float scale, float* weights) const {
        if (n_for + n_against == 0) return;
        const double all = log_factorials_[n_for + n_against];
        const float plus =
            n_for == 0 ? 0.0f
                       : scale * static_cast<float>(std::exp(log_factorials_[n_for - 1] +
                                                             log_factorials_[n_against] - all));
        const float minus =
            n_against == 0
                ? 0.0f
                : scale * static_cast<float>(std::exp(log_factorials_[n_for] +
                                                      log_factorials_[n_against - 1] - all));
        for (int64_t e = tree.path_offsets[leaf]; e < tree.path_offsets[leaf + 1]; ++e) {
            const uint8_t side = side_[e - tree.path_offsets[leaf]];
            if (side == kFor) weights[e] += plus;
            if (side == kAgainst) weights[e] -= minus;
        }
    }

    std::vector<uint8_t> side_;  // per slot of the path
    std::vector<double> log_factorials_;
    std::vector<Step> stack_;
};

}  // namespace polyleaf
