// Looks at large arrays that bindings were given; they say what is wrong if something is.
#pragma once

#include <cstdint>

namespace ramify {

// Whether all values are in [low, high).
bool are_in_range(const int32_t* values, int64_t n, int64_t low, int64_t high);
template <typename T>
bool are_in_range(const T* values, int64_t n, int64_t low, int64_t high) {
    for (int64_t i = 0; i < n; ++i) {
        const int64_t value = static_cast<int64_t>(values[i]);
        if (value < low || value >= high) return false;
    }
    return true;
}

// Codes of sparse features by row (CSR), all slots in range.
struct ListedCodesView {
    int64_t n_rows = 0;
    const int64_t* indptr = nullptr;   // (n_rows + 1,)
    const int32_t* slots = nullptr;    // (n_listed,)
    const uint32_t* codes = nullptr;   // (n_listed,)
    const uint32_t* limits = nullptr;  // (n_slots,) number of bins
    const uint32_t* common = nullptr;  // (n_slots,) code of rows that are not listed
};

// Whether slots rise within rows, and codes are those of bins or missing, but never the common
// ones. Sets has_missing[slot] where a code is missing.
bool are_lists_sound(const ListedCodesView& lists, uint8_t* has_missing);

}  // namespace ramify
