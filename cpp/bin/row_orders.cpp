#include "bin/row_orders.hpp"

#include "kernels/kernels.hpp"

namespace polyleaf {

bool can_order_rows(const BinnedView& binned) {
    return binned.codes_u8 && binned.n_rows <= kMostOrderedRows;
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
