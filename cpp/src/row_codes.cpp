#include "row_codes.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "random_cut.hpp"

namespace ramify {

namespace {

// Rows whose codes are turned together stay in the first-level cache.
constexpr int64_t kRowsAtOnce = 128;

}  // namespace

RowCodes::RowCodes(const Workspace& workspace) {
    const BinnedView& binned = workspace.binned;
    const int64_t n_tiles = (binned.n_dense + kTileFeatures - 1) / kTileFeatures;
    stride = n_tiles * kTileFeatures;
    codes.resize(binned.n_rows * stride + kCodeColumns);
    std::fill_n(codes.end() - kCodeColumns, kCodeColumns, uint8_t{0});
    for (int64_t begin = 0; begin < binned.n_rows; begin += kRowsAtOnce) {
        if (begin % (kRowsAtOnce << 6) == 0) workspace.interrupt.check();
        const int64_t end = std::min(binned.n_rows, begin + kRowsAtOnce);
        for (int64_t tile = 0; tile < n_tiles; ++tile) {
            const uint8_t* const source = binned.codes_u8 + tile * binned.n_rows * kTileFeatures;
            for (int64_t row = begin; row < end; ++row)
                std::memcpy(codes.data() + row * stride + tile * kTileFeatures,
                            source + row * kTileFeatures, kTileFeatures);
        }
    }
}

CutGuide::CutGuide(const Workspace& workspace) {
    const BinnedView& binned = workspace.binned;
    const int64_t n_bins = binned.bin_offsets[binned.n_features];
    middle_.resize(n_bins + 1);
    for (int64_t bin = 0; bin < n_bins; ++bin)
        middle_[bin] = bin_middle(binned.bin_low[bin], binned.bin_high[bin]);
    offsets_.resize(binned.n_dense);
    base_.resize(binned.n_dense);
    scale_.resize(binned.n_dense);
    before_.resize(static_cast<size_t>(binned.n_dense) * (CutTables::kCells + 1));
    for (int32_t home = 0; home < binned.n_dense; ++home) add_feature(binned, home);
    tables_ = {binned.dense_features, offsets_.data(), binned.bin_low, binned.bin_high,
               middle_.data(),        base_.data(),    scale_.data(),  before_.data()};
}

void CutGuide::add_feature(const BinnedView& binned, int32_t home) {
    const int32_t feature = binned.dense_features[home];
    const int64_t n_bins = binned.n_bins(feature);
    offsets_[home] = binned.bin_offsets[feature];
    if (n_bins == 0 || binned.is_categorical[feature]) return;
    const double* const middle = middle_.data() + offsets_[home];
    const double scale = CutTables::kCells / (middle[n_bins - 1] - middle[0]);
    // An endless range, or none: one cell for all.
    if (std::isfinite(scale) && scale > 0.0) base_[home] = middle[0], scale_[home] = scale;
    // The cell of a value never falls as the value rises, so that a middle in an earlier cell is a
    // smaller value.
    auto cell_of = [&](double value) {
        if (scale_[home] == 0.0) return 0;
        return static_cast<int>(
            std::clamp((value - base_[home]) * scale, 0.0, CutTables::kCells - 1.0));
    };
    uint8_t* const before = before_.data() + static_cast<size_t>(home) * (CutTables::kCells + 1);
    int cell = 0;
    for (int64_t code = 0; code < n_bins; ++code)
        for (const int last = cell_of(middle[code]); cell <= last; ++cell)
            before[cell] = static_cast<uint8_t>(std::max<int64_t>(code - 1, 0));
    for (; cell <= CutTables::kCells; ++cell) before[cell] = static_cast<uint8_t>(n_bins - 1);
}

}  // namespace ramify
