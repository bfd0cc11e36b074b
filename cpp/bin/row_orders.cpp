#include "bin/row_orders.hpp"

#include "grow/list_search.hpp"
#include "kernels/kernels.hpp"

namespace polyleaf {

namespace {

// A block of channels up to this size is read in any order without much waiting.
constexpr int64_t kMostBlockBytes = int64_t{1} << 20;
// More blocks than this are read faster row by row, for a histogram.
constexpr int64_t kMostListBlocks = 2;

}  // namespace

bool can_order_rows(const BinnedView& binned) {
    return binned.codes_u8 && binned.n_rows <= kMostOrderedRows;
}

bool uses_whole_orders(int64_t n_rows, int32_t n_channels) {
    const int64_t lanes = block_lanes(n_channels);
    return n_channels <= kMostListBlocks * lanes &&
           n_rows * lanes * int64_t{sizeof(float)} <= kMostBlockBytes;
}

bool uses_row_orders(int64_t n_rows, int32_t n_channels) {
    return n_rows <= kMaxListRows || uses_whole_orders(n_rows, n_channels);
}

std::vector<uint32_t> order_rows(const BinnedView& binned, ThreadTeam& team) {
    const int64_t n = binned.n_rows;
    std::vector<int32_t> homes;
    for (int32_t home = 0; home < binned.n_dense; ++home)
        if (!binned.is_categorical[binned.dense_features[home]]) homes.push_back(home);
    std::vector<uint32_t> entries(homes.size() * n + kListReadAhead);
    team.parallel_for(static_cast<int64_t>(homes.size()), [&](int64_t f, int) {
        const uint8_t* const codes = binned.codes_u8 +
                                     (homes[f] / kTileFeatures * n) * kTileFeatures +
                                     homes[f] % kTileFeatures;
        int64_t starts[257] = {};
        for (int64_t row = 0; row < n; ++row) ++starts[codes[row * kTileFeatures] + 1];
        for (int code = 0; code < 256; ++code) starts[code + 1] += starts[code];
        uint32_t* const out = entries.data() + f * n;
        for (int64_t row = 0; row < n; ++row) {
            const uint32_t code = codes[row * kTileFeatures];
            out[starts[code]++] = list_entry(code == kMissingU8 ? kMissingEntryCode : code,
                                             static_cast<uint32_t>(row));
        }
    });
    return entries;
}

}  // namespace polyleaf
