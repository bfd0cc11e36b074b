// A candidate split, and the rule by which one candidate beats another.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "ramify/grower.hpp"

namespace ramify {

struct Split {
    double gain = -std::numeric_limits<double>::infinity();
    uint64_t rank = ~uint64_t{0};  // ties go to the lower rank: a random order of the features
    int32_t feature = kNoFeature;
    bool is_categorical = false;
    bool missing_left = false;
    uint32_t left_code = 0;  // numeric: codes <= left_code go left
    double threshold = 0.0;
    std::vector<uint32_t> category_words;  // categorical: bit set = left
    int64_t n_left = 0;

    bool found() const { return feature != kNoFeature; }
    bool beaten_by(double other_gain, uint64_t other_rank) const {
        return other_gain > gain || (other_gain == gain && other_rank < rank);
    }
};

// Between two values, so that a <= result < b even when rounding or infinities interfere.
inline double midpoint(double a, double b) {
    const double middle = a / 2 + b / 2;
    return middle >= a && middle < b ? middle : a;
}

}  // namespace ramify
