#include "ramify/checks.hpp"

#include "ramify/data.hpp"

namespace ramify {

bool are_in_range(const int32_t* values, int64_t n, int64_t low, int64_t high) {
    bool is_any_out = false;
    for (int64_t i = 0; i < n; ++i) is_any_out |= (values[i] < low) | (values[i] >= high);
    return !is_any_out;
}

bool are_lists_sound(const ListedCodesView& lists, uint8_t* has_missing) {
    bool is_any_wrong = false;
    for (int64_t row = 0; row < lists.n_rows; ++row) {
        int32_t last = -1;
        for (int64_t e = lists.indptr[row]; e < lists.indptr[row + 1]; ++e) {
            const int32_t slot = lists.slots[e];
            const uint32_t code = lists.codes[e];
            const bool is_missing = code == kMissingU32;
            is_any_wrong |= (slot <= last) | (code == lists.common[slot]) |
                            ((code >= lists.limits[slot]) & !is_missing);
            has_missing[slot] |= is_missing;
            last = slot;
        }
    }
    return !is_any_wrong;
}

}  // namespace ramify
