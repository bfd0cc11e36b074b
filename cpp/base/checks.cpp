#include "base/checks.hpp"

#include <algorithm>

#include "base/data.hpp"

namespace polyleaf {

bool are_in_range(const int32_t* values, int64_t n, int64_t low, int64_t high) {
    if (high <= low) return n == 0;
    const int32_t least = static_cast<int32_t>(std::clamp<int64_t>(low, INT32_MIN, INT32_MAX));
    const int32_t most = static_cast<int32_t>(std::clamp<int64_t>(high - 1, least, INT32_MAX));
    int32_t is_any_out = low > INT32_MAX || high <= INT32_MIN;
    for (int64_t i = 0; i < n; ++i) is_any_out |= (values[i] < least) | (values[i] > most);
    return n == 0 || is_any_out == 0;
}

bool do_rise(const int32_t* values, int64_t n) {
    int32_t is_any_wrong = 0;
    for (int64_t i = 1; i < n; ++i) is_any_wrong |= values[i] <= values[i - 1];
    return is_any_wrong == 0;
}

namespace {

template <typename Offset, typename Index>
bool do_rise(const Offset* indptr, int64_t n_rows, const Index* indices) {
    int32_t is_any_wrong = 0;
    for (int64_t row = 0; row < n_rows; ++row)
        for (int64_t e = indptr[row] + 1; e < indptr[row + 1]; ++e)
            is_any_wrong |= indices[e] <= indices[e - 1];
    return is_any_wrong == 0;
}

}  // namespace

bool rise_within_rows(const int64_t* indptr, int64_t n_rows, const int32_t* indices) {
    return do_rise(indptr, n_rows, indices);
}

template <typename Index>
bool is_canonical(const Index* indptr, int64_t n_rows, const Index* indices, int64_t n_indices,
                  int64_t n_columns) {
    if (indptr[0] != 0 || indptr[n_rows] != n_indices) return false;
    for (int64_t row = 0; row < n_rows; ++row)
        if (indptr[row] > indptr[row + 1]) return false;
    return are_in_range(indices, n_indices, 0, n_columns) && do_rise(indptr, n_rows, indices);
}

template bool is_canonical(const int32_t*, int64_t, const int32_t*, int64_t, int64_t);
template bool is_canonical(const int64_t*, int64_t, const int64_t*, int64_t, int64_t);

template <typename Code>
void largest_codes(const Code* tile, int64_t n_rows, Code missing, Code* largest,
                   Code* known_end) {
    constexpr int kLanes = 64;  // some rows at once
    static_assert(kLanes % kTileFeatures == 0);
    Code most[kLanes] = {}, most_known[kLanes] = {};
    auto note = [&](const Code* codes, int n) {
        for (int k = 0; k < n; ++k) {
            const Code code = codes[k],
                       end = code == missing ? Code{0} : static_cast<Code>(code + 1);
            most[k] = code > most[k] ? code : most[k];
            most_known[k] = end > most_known[k] ? end : most_known[k];
        }
    };
    const int64_t n = n_rows * kTileFeatures, whole = n / kLanes * kLanes;
    for (int64_t i = 0; i < whole; i += kLanes) note(tile + i, kLanes);
    note(tile + whole, static_cast<int>(n - whole));
    for (int lane = 0; lane < kTileFeatures; ++lane) {
        largest[lane] = known_end[lane] = 0;
        for (int k = lane; k < kLanes; k += kTileFeatures) {
            largest[lane] = std::max(largest[lane], most[k]);
            known_end[lane] = std::max(known_end[lane], most_known[k]);
        }
    }
}

template void largest_codes(const uint8_t*, int64_t, uint8_t, uint8_t*, uint8_t*);
template void largest_codes(const uint32_t*, int64_t, uint32_t, uint32_t*, uint32_t*);

int64_t sum_at(const int8_t* values, const int32_t* indices, int64_t n) {
    int64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += values[indices[i]];
    return sum;
}

bool are_lists_sound(const ListedCodesView& lists, uint8_t* has_missing) {
    const int64_t n = lists.indptr[lists.n_rows];
    uint32_t largest = 0;
    for (int64_t e = 0; e < n; ++e) largest = std::max(largest, lists.codes[e]);
    bool is_any_wrong = !rise_within_rows(lists.indptr, lists.n_rows, lists.slots);
    if (largest < kMissingU32) {
        for (int64_t e = 0; e < n; ++e) {
            const int32_t slot = lists.slots[e];
            const uint32_t code = lists.codes[e];
            is_any_wrong |= (code == lists.common[slot]) | (code >= lists.limits[slot]);
        }
        return !is_any_wrong;
    }
    for (int64_t e = 0; e < n; ++e) {
        const int32_t slot = lists.slots[e];
        const uint32_t code = lists.codes[e];
        const bool is_missing = code == kMissingU32;
        is_any_wrong |=
            (code == lists.common[slot]) | ((code >= lists.limits[slot]) & !is_missing);
        has_missing[slot] |= is_missing;
    }
    return !is_any_wrong;
}

}  // namespace polyleaf
