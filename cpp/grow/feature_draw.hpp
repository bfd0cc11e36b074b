// Features of a node drawn without replacement: a function of its seed and nothing else.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.hpp"

namespace polyleaf {

class FeatureDraw {
  public:
    // n_features: to draw from.
    explicit FeatureDraw(int64_t n_features) : permutation_(n_features), swaps_(n_features) {
        std::iota(permutation_.begin(), permutation_.end(), 0);
    }

    // body(feature, i) with the i-th feature drawn for this seed, i in [begin, end), as long as it
    // returns true.
    template <typename Body>
    void for_each(uint64_t seed, int64_t begin, int64_t end, Body&& body) {
        const int64_t p = static_cast<int64_t>(permutation_.size());
        bool goes_on = true;
        int64_t i = 0;
        for (; i < end && goes_on; ++i) {
            const int64_t j = i + draw_below(seed, i, p - i);
            std::swap(permutation_[i], permutation_[j]);
            swaps_[i] = j;
            if (i >= begin) goes_on = body(permutation_[i], i);
        }
        while (--i >= 0) std::swap(permutation_[i], permutation_[swaps_[i]]);
    }

  private:
    std::vector<int32_t> permutation_;  // identity between draws
    std::vector<int64_t> swaps_;        // what was done to it
};

}  // namespace polyleaf
