// Tasks of kernels that sum and scan in fixed point. Sums are int32, so that they do not depend on
// the order in which rows are added. A record of `lanes` sums belongs to each bin.
#pragma once

#include <cstdint>

namespace polyleaf {

// A record has 2, 4, 8, 16, 24 or 32 lanes.
inline int fixed_lanes(int n_sums) {
    if (n_sums <= 2) return 2;
    if (n_sums <= 4) return 4;
    return (n_sums + 7) / 8 * 8;
}
constexpr int kMostFixedLanes = 32;

// sums[offsets[f] + code * lanes + k] += values[row][k] for all rows and some features.
struct FixedBuildTask {
    const uint8_t* codes = nullptr;  // IN code f of row r: codes[r * stride + f]
    int64_t stride = 0;
    const int32_t* rows = nullptr;  // IN (n_rows,); null: the rows from `first` on
    int64_t first = 0, n_rows = 0;
    const int16_t* values = nullptr;   // IN [row][lanes]
    const int32_t* offsets = nullptr;  // IN (n_features,) where the sums of a feature begin
    int32_t first_feature = 0, last_feature = 0;
    int lanes = 0;
    int32_t* sums = nullptr;  // IN OUT
    // counts[count_offsets[f] + code] += 1, too, unless null.
    int32_t* counts = nullptr;               // IN OUT
    const int32_t* count_offsets = nullptr;  // IN (n_features,)
};

// The same for listed features: a row has entries, slot << 8 | code, for some of them, and the
// usual code in all others, whose sums are what the others leave of the sum of all rows.
struct FixedListTask {
    const int64_t* starts = nullptr;    // IN entries of row r: from starts[r] to starts[r + 1]
    const uint32_t* entries = nullptr;  // IN readable for 8 entries beyond the last
    const int32_t* rows = nullptr;      // IN (n_rows,); null: the rows from `first` on
    int64_t first = 0, n_rows = 0;
    const int16_t* values = nullptr;  // IN [row][lanes]
    int32_t n_slots = 0;
    const uint8_t* usual = nullptr;    // IN (n_slots,)
    const int32_t* n_codes = nullptr;  // IN (n_slots,)
    const int32_t* offsets = nullptr;  // IN (n_slots,) where the sums of a slot begin
    int lanes = 0;
    int32_t* sums = nullptr;                 // IN OUT zeros before
    int32_t* counts = nullptr;               // IN OUT as above, or null
    const int32_t* count_offsets = nullptr;  // IN (n_slots,)
};

// With A the prefix sum up to a bin, in units: norms[bin] += |A - weights[bin] mean|^2, and
// products[bin] += A . total.
struct FixedScanTask {
    const int32_t* sums = nullptr;  // IN [n_bins][lanes]
    int64_t n_bins = 0;
    int lanes = 0;
    const int32_t* initial = nullptr;  // IN (lanes,) or null: what every prefix contains
    const double* units = nullptr;     // IN (lanes,) 0: not a gradient
    const double* mean = nullptr;      // IN (lanes,)
    const double* total = nullptr;     // IN (lanes,) or null: products are not needed
    const double* weights = nullptr;   // IN (n_bins,) of the prefixes
    double* norms = nullptr;           // IN OUT (n_bins,)
    double* products = nullptr;        // IN OUT (n_bins,)
};

// As above with one weight per channel: scores[bin] += sum over channels of
// A^2 / (HA + lambda) + (G - A)^2 / (H - HA + lambda), 0 where a side has no weight.
struct FixedWeightedScanTask {
    const int32_t* sums = nullptr;  // IN [n_bins][lanes]
    int64_t n_bins = 0;
    int lanes = 0;
    const int32_t* initial = nullptr;  // IN (lanes,) or null
    // Channel k has its gradient in lane first + k and its weight in lane first + n_channels + k.
    int first = 0, n_channels = 0;
    const double* units = nullptr;  // IN (lanes,)
    const double* total = nullptr;  // IN (lanes,) in units
    const double* least = nullptr;  // IN (lanes,) a weight of no more than this is none
    double l2_regularization = 0.0;
    double* scores = nullptr;  // IN OUT (n_bins,)
};

// Sizes (absolute values) of the columns of a matrix without gaps, (n_rows, n_columns).
struct SizesTask {
    const float* values = nullptr;  // IN
    int64_t n_rows = 0;
    int64_t n_columns = 0;
    float* largest = nullptr;       // IN OUT (n_columns,); or null
    const double* magic = nullptr;  // IN (n_columns,) of the sums; see ExactUnit
    double* sums = nullptr;         // IN OUT (n_columns,); or null
};

// numbers[k] = values[k] * scales[k], to the nearest integer, of some neighbouring rows.
struct QuantiseTask {
    const float* values = nullptr;  // IN a row every `value_stride`
    const float* scales = nullptr;  // IN (n_values,)
    int64_t n_rows = 0, value_stride = 0;
    int n_values = 0;
    int16_t* numbers = nullptr;  // OUT a record every `lanes`
    // What every record begins with: 1 if it counts rows. Lanes behind the values become 0.
    int n_head = 0;
    int lanes = 0;
};

}  // namespace polyleaf
