// The random cut of a numeric feature: uniform in value, at the edge of a bin.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ramify/data.hpp"
#include "ramify/random.hpp"
#include "split.hpp"

namespace ramify {

// Draws of one node for different purposes must not meet.
constexpr uint64_t kCutSalt = 0x5ca1ab1eULL;

struct RandomCut {
    uint32_t left_code = 0;  // codes up to it go left
    double value = 0.0;

    // The drawn value where it parts the codes, else midway between them.
    double threshold_between(const BinnedView& binned, int32_t feature, uint32_t left_max,
                             uint32_t right_min) const {
        const double high = binned.bin_high[binned.bin_offsets[feature] + left_max];
        const double low = binned.bin_low[binned.bin_offsets[feature] + right_min];
        return value >= high && value < low ? value : midpoint(high, low);
    }
};

// Whether a code lies left of a finite cut: a cut inside a bin moves to the nearer of its ends.
inline bool is_left_of(double value, double low, double high) {
    return low <= value && !(value < high && value - low < high - value);
}

// Uniform between the smallest value of the first code and the largest of the last; may overflow.
inline double draw_cut_value(const double* low, const double* high, int32_t feature, uint64_t seed,
                             uint32_t first, uint32_t last) {
    return low[first] + draw_uniform(seed ^ kCutSalt, feature) * (high[last] - low[first]);
}

// first < last: the smallest and the largest code in the node. Both sides get a code.
inline RandomCut draw_random_cut(const BinnedView& binned, int32_t feature, uint64_t seed,
                                 uint32_t first, uint32_t last) {
    const double* const low = binned.bin_low + binned.bin_offsets[feature];
    const double* const high = binned.bin_high + binned.bin_offsets[feature];
    RandomCut cut;
    cut.value = draw_cut_value(low, high, feature, seed, first, last);
    if (!std::isfinite(cut.value)) {
        // An infinite range: uniform among the codes.
        const double u = draw_uniform(seed ^ kCutSalt, feature);
        cut.left_code = first + static_cast<uint32_t>(u * (last - first));
        return cut;
    }
    // The last code whose bin starts at or before the cut.
    uint32_t left = first;
    for (uint32_t length = last - first + 1; length > 1; length -= length / 2)
        left += low[left + length / 2] <= cut.value ? length / 2 : 0;
    if (!is_left_of(cut.value, low[left], high[left]) && left > first) --left;
    cut.left_code = std::min(left, last - 1);
    return cut;
}

}  // namespace ramify
