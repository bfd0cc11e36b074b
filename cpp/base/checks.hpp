// Looks at large arrays that bindings were given; they say what is wrong if something is.
#pragma once

#include <cstdint>

namespace polyleaf {

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

// Whether every value is above the one before.
bool do_rise(const int32_t* values, int64_t n);

// Whether indices rise from entry to entry of every row (CSR).
bool rise_within_rows(const int64_t* indptr, int64_t n_rows, const int32_t* indices);

// Whether a CSR matrix has offsets that fit its indices, all of them in range, which rise within
// rows.
template <typename Index>
bool is_canonical(const Index* indptr, int64_t n_rows, const Index* indices, int64_t n_indices,
                  int64_t n_columns);

// The sum of values[indices[i]].
int64_t sum_at(const int8_t* values, const int32_t* indices, int64_t n);

// The largest code of each of the four features of a tile, (n_rows, 4), and one above the largest
// that is not missing: 0 where all are, as a feature without bins has it.
template <typename Code>
void largest_codes(const Code* tile, int64_t n_rows, Code missing, Code* largest, Code* known_end);

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

}  // namespace polyleaf
