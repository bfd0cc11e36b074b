#include "bin/byte_rows.hpp"

#include <algorithm>
#include <vector>

namespace polyleaf {

namespace {

// Rows whose codes are turned together stay in the first-level cache.
constexpr int64_t kRowsAtOnce = 256;
// Up to here, a row lies within half a cache line; longer ones start at a multiple of 16 bytes.
constexpr int64_t kShortRow = 32, kLongRowUnit = 16;

int64_t stride_of(int64_t n_features) {
    if (n_features <= kShortRow) {
        int64_t stride = 4;
        while (stride < n_features) stride *= 2;
        return stride;
    }
    return (n_features + kLongRowUnit - 1) / kLongRowUnit * kLongRowUnit;
}

}  // namespace

bool can_be_bytes(const BinnedView& binned) {
    if (binned.n_dense > 0 && !binned.codes_u8) return false;
    for (int32_t feature = 0; feature < binned.n_features; ++feature)
        if (binned.n_bins(feature) > int64_t{kMissingU8}) return false;
    return true;
}

ByteRows::ByteRows(const BinnedView& binned, ThreadTeam& team)
    : stride(stride_of(binned.n_features)) {
    codes.resize(binned.n_rows * stride);
    std::vector<uint8_t> missing(binned.n_features), usual(binned.n_features, 0);
    for (int32_t feature = 0; feature < binned.n_features; ++feature)
        missing[feature] = static_cast<uint8_t>(binned.n_bins(feature));
    auto byte_of = [&](int32_t feature, uint32_t code) {
        return code == kMissingU32 ? missing[feature] : static_cast<uint8_t>(code);
    };
    for (int32_t slot = 0; slot < binned.n_sparse; ++slot) {
        const int32_t feature = binned.sparse_features[slot];
        usual[feature] = byte_of(feature, binned.sparse_default[slot]);
    }
    const int64_t n_blocks = (binned.n_rows + kRowsAtOnce - 1) / kRowsAtOnce;
    team.parallel_for(n_blocks, [&](int64_t block, int) {
        const int64_t begin = block * kRowsAtOnce;
        const int64_t end = std::min(binned.n_rows, begin + kRowsAtOnce);
        for (int64_t row = begin; binned.n_sparse > 0 && row < end; ++row) {
            uint8_t* const out = codes.data() + row * stride;
            std::copy(usual.begin(), usual.end(), out);
            for (int64_t e = binned.sparse_indptr[row]; e < binned.sparse_indptr[row + 1]; ++e) {
                const int32_t feature = binned.sparse_features[binned.sparse_slot[e]];
                out[feature] = byte_of(feature, binned.listed_code(e));
            }
        }
        for (int32_t home = 0; home < binned.n_dense; ++home) {
            const int32_t feature = binned.dense_features[home];
            const uint8_t* const tile = binned.codes_u8 +
                                        home / kTileFeatures * binned.n_rows * kTileFeatures +
                                        home % kTileFeatures;
            for (int64_t row = begin; row < end; ++row) {
                const uint8_t code = tile[row * kTileFeatures];
                codes[row * stride + feature] = code == kMissingU8 ? missing[feature] : code;
            }
        }
    });
}

}  // namespace polyleaf
