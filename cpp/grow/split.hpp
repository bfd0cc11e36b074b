// A candidate split, and the rule by which one candidate beats another.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "base/random.hpp"
#include "grow/grower.hpp"

namespace polyleaf {

struct Split {
    double gain = -std::numeric_limits<double>::infinity();
    double discount = 0.0;         // taken off the gain, since chance would give it to categories
    uint64_t rank = ~uint64_t{0};  // ties go to the lower rank: a random order of the features
    int32_t feature = kNoFeature;
    bool is_categorical = false;
    bool missing_left = false;
    uint32_t left_code = 0;  // numeric: codes <= left_code go left
    double threshold = 0.0;
    uint8_t cut_first = 0, cut_last = 0;   // as in TreeNode; the limit is left_code
    std::vector<uint32_t> category_words;  // categorical: bit set = left
    int64_t n_left = 0;

    // Whether gains come from sums in double precision, and are compared to more digits. Never to
    // all: two features that divide the rows alike, or the other way round, differ by rounding,
    // which must not choose between them.
    bool is_exact = false;

    // The one way to fill a split: take it, and then say where it is.
    void take(double new_gain, uint64_t new_rank, int32_t new_feature, int64_t left_rows,
              bool sends_missing_left) {
        gain = new_gain;
        discount = 0.0;
        rank = new_rank;
        feature = new_feature;
        n_left = left_rows;
        missing_left = sends_missing_left;
        is_categorical = false;
        left_code = 0;
        threshold = 0.0;
        cut_first = cut_last = 0;
    }
    // Behind a code, at a value.
    void cut_at(uint32_t code, double value) {
        left_code = code;
        threshold = value;
    }
    // Midway between two codes that follow each other in the node.
    void cut_between(const BinnedView& binned, uint32_t left, uint32_t right);
    // All values, up to this code, against the missing ones.
    void cut_off_missing(uint32_t last_code) {
        cut_at(last_code, std::numeric_limits<double>::infinity());
    }
    // A random cut of the node with this seed, whose threshold is made when the tree is grown.
    void cut_later(uint64_t seed, uint8_t first, uint8_t last, uint8_t limit) {
        cut_at(limit, cut_uniform(seed, feature));
        cut_first = first;
        cut_last = last;
    }
    // Categories: bits of those that go left, to be filled in.
    std::vector<uint32_t>& choose_categories(size_t n_words, uint32_t fill) {
        is_categorical = true;
        category_words.assign(n_words, fill);
        return category_words;
    }

    // Whether a row with this code of the split's feature goes left.
    bool sends_left(uint32_t code, uint32_t missing_code) const {
        if (code == missing_code) return missing_left;
        if (is_categorical) return category_words[code >> 5] >> (code & 31) & 1;
        return code <= left_code;
    }
    bool found() const { return feature != kNoFeature; }
    bool beaten_by(double other_gain, uint64_t other_rank) const {
        const double other_key = key_of(other_gain), key = key_of(gain);
        if (other_key != key) return other_key > key;
        return other_rank < rank || (other_rank == rank && other_gain > gain);
    }

    // No gain below this beats the split, whatever the ranks.
    double least_rival() const { return key_of(gain); }

  private:
    // The gain to sixteen bits, or to thirty-two, cut off rather than rounded.
    double key_of(double value) const {
        uint64_t bits;
        std::memcpy(&bits, &value, sizeof(bits));
        bits &= ~((uint64_t{1} << (is_exact ? 20 : 36)) - 1);
        std::memcpy(&value, &bits, sizeof(value));
        return value;
    }
};

// Between two values, so that a <= result < b even when rounding or infinities interfere.
inline double midpoint(double a, double b) {
    const double middle = a / 2 + b / 2;
    return middle >= a && middle < b ? middle : a;
}

inline void Split::cut_between(const BinnedView& binned, uint32_t left, uint32_t right) {
    const int64_t offset = binned.bin_offsets[feature];
    cut_at(left, midpoint(binned.bin_high[offset + left], binned.bin_low[offset + right]));
}

}  // namespace polyleaf
