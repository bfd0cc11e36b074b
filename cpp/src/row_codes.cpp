#include "row_codes.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ramify/shared_cuts.hpp"
#include "random_cut.hpp"

namespace ramify {

namespace {

// Rows whose codes are turned together stay in the first-level cache.
constexpr int64_t kRowsAtOnce = 128;
// Middles of neighbouring bins that are nearer than this are not told apart well enough.
constexpr uint32_t kLeastGap = 1024;

}  // namespace

RowCodes::RowCodes(const BinnedView& binned, Interrupt& interrupt) {
    const int64_t n_tiles = (binned.n_dense + kTileFeatures - 1) / kTileFeatures;
    stride = n_tiles * kTileFeatures;
    codes.resize(binned.n_rows * stride + kCodeColumns);
    std::fill_n(codes.end() - kCodeColumns, kCodeColumns, uint8_t{0});
    for (int64_t begin = 0; begin < binned.n_rows; begin += kRowsAtOnce) {
        if (begin % (kRowsAtOnce << 6) == 0) interrupt.check();
        const int64_t end = std::min(binned.n_rows, begin + kRowsAtOnce);
        for (int64_t tile = 0; tile < n_tiles; ++tile) {
            const uint8_t* const source = binned.codes_u8 + tile * binned.n_rows * kTileFeatures;
            for (int64_t row = begin; row < end; ++row)
                std::memcpy(codes.data() + row * stride + tile * kTileFeatures,
                            source + row * kTileFeatures, kTileFeatures);
        }
    }
}

CutGuide::CutGuide(const BinnedView& binned) : binned_(binned) {
    const size_t n_dense = binned.n_dense;
    places_.resize(2 * n_dense * CutTables::kBins);
    middles_.resize(n_dense * CutTables::kBins + 1);
    before_.resize(n_dense * CutTables::kBefore);
    is_irregular_.resize(n_dense);
    for (int32_t home = 0; home < binned.n_dense; ++home) {
        is_irregular_[home] = !add_feature(home);
        has_irregular_ |= is_irregular_[home] != 0;
    }
    tables_ = {binned.dense_features, places_.data(), middles_.data(), before_.data()};
}

// False if the places of the feature's bins cannot be told apart.
bool CutGuide::add_feature(int32_t home) {
    const int32_t feature = binned_.dense_features[home];
    const int64_t n_bins = binned_.n_bins(feature);
    if (n_bins == 0 || n_bins > CutTables::kBins || binned_.is_categorical[feature]) return false;
    const double* const low = binned_.bin_low + binned_.bin_offsets[feature];
    const double* const high = binned_.bin_high + binned_.bin_offsets[feature];
    const double range = high[n_bins - 1] - low[0];
    if (!std::isfinite(range)) return false;
    uint32_t* const places = places_.data() + size_t{2} * home * CutTables::kBins;
    auto place = [&](double value) {
        const double share = range > 0.0 ? (value - low[0]) / range : 0.0;
        return static_cast<uint32_t>(share * 4294967295.0);
    };
    uint32_t* const middle = middles_.data() + static_cast<size_t>(home) * CutTables::kBins;
    for (int64_t code = 0; code < n_bins; ++code) {
        places[2 * code] = place(low[code]);
        places[2 * code + 1] = place(high[code]);
        middle[code] = places[2 * code] / 2 + places[2 * code + 1] / 2;
        if (code > 0 && middle[code] - middle[code - 1] < kLeastGap) return false;
    }
    uint8_t* const before = before_.data() + static_cast<size_t>(home) * CutTables::kBefore;
    int cell = 0;
    for (int64_t code = 0; code < n_bins; ++code)
        for (const int last = middle[code] >> CutTables::kCellShift; cell <= last; ++cell)
            before[cell] = static_cast<uint8_t>(std::max<int64_t>(code - 1, 0));
    for (; cell < CutTables::kBefore; ++cell) before[cell] = static_cast<uint8_t>(n_bins - 1);
    return true;
}

void CutGuide::draw(const Kernels& kernels, uint64_t seed, int n_cuts, const int32_t* homes,
                    const uint8_t* first, const uint8_t* last, uint8_t* limits) const {
    kernels.draw_cuts({tables_, seed, n_cuts, homes, first, last, limits});
    for (int i = 0; has_irregular_ && i < n_cuts; ++i) {
        if (!is_irregular_[homes[i]]) continue;
        const int32_t feature = binned_.dense_features[homes[i]];
        limits[i] = static_cast<uint8_t>(
            draw_random_cut(binned_, feature, seed, first[i], last[i]).left_code);
    }
}

SharedCuts::SharedCuts() = default;
SharedCuts::~SharedCuts() = default;

const CutData& SharedCuts::get(const BinnedView& binned, Interrupt& interrupt) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!data_) data_ = std::make_unique<CutData>(binned, interrupt);
    return *data_;
}

}  // namespace ramify
