// The random cut of a numeric feature: uniform in value, at the edge of a bin.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/data.hpp"
#include "base/random.hpp"
#include "grow/split.hpp"

namespace polyleaf {

struct RandomCut {
    uint32_t left_code = 0;  // codes up to it go left
    double value = 0.0;

    // The drawn value where it parts the bins, else midway between them.
    double threshold(const BinnedView& binned, int32_t feature) const {
        const int64_t bin = binned.bin_offsets[feature] + left_code;
        const double high = binned.bin_high[bin], low = binned.bin_low[bin + 1];
        return value >= high && value < low ? value : midpoint(high, low);
    }
};

// Uniform between the smallest value of the first code and the largest of the last; may overflow.
// Rounded once, so that it is the same for all instruction sets.
inline double cut_value(const double* low, const double* high, double u, uint32_t first,
                        uint32_t last) {
    return std::fma(u, high[last] - low[first], low[first]);
}

// An endless range: uniform among the codes.
inline uint32_t left_code_of_endless(double u, uint32_t first, uint32_t last) {
    return first + static_cast<uint32_t>(u * (last - first));
}

// A cut inside a bin moves to the nearer of its ends: a bin lies left of a finite cut if its
// middle does not lie right of it.
inline double bin_middle(double low, double high) { return low / 2 + high / 2; }

// The threshold of a cut behind `left_code`, u being where it fell between two codes.
inline double random_threshold(const BinnedView& binned, int32_t feature, double u, uint32_t first,
                               uint32_t last, uint32_t left_code) {
    const int64_t offset = binned.bin_offsets[feature];
    const RandomCut cut{
        left_code, cut_value(binned.bin_low + offset, binned.bin_high + offset, u, first, last)};
    return cut.threshold(binned, feature);
}

// The cut at u, in [0, 1), between first < last: the smallest and the largest code in the node.
// Both sides get a code.
inline RandomCut find_random_cut(const BinnedView& binned, int32_t feature, double u,
                                 uint32_t first, uint32_t last) {
    const double* const low = binned.bin_low + binned.bin_offsets[feature];
    const double* const high = binned.bin_high + binned.bin_offsets[feature];
    RandomCut cut;
    cut.value = cut_value(low, high, u, first, last);
    if (!std::isfinite(cut.value)) {
        cut.left_code = left_code_of_endless(u, first, last);
        return cut;
    }
    uint32_t left = first;
    for (uint32_t length = last - first + 1; length > 1; length -= length / 2) {
        const uint32_t code = left + length / 2;
        left = bin_middle(low[code], high[code]) <= cut.value ? code : left;
    }
    cut.left_code = std::min(left, last - 1);
    return cut;
}

inline RandomCut draw_random_cut(const BinnedView& binned, int32_t feature, uint64_t seed,
                                 uint32_t first, uint32_t last) {
    return find_random_cut(binned, feature, cut_uniform(seed, feature), first, last);
}

// Cuts a taken split of a feature with two values between them.
inline void cut_flag(const BinnedView& binned, uint64_t seed, bool is_random, Split& split) {
    if (!is_random) return split.cut_between(binned, 0, 1);
    const RandomCut cut = draw_random_cut(binned, split.feature, seed, 0, 1);
    split.cut_at(0, cut.threshold(binned, split.feature));
}

}  // namespace polyleaf
