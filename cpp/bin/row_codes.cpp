#include "bin/row_codes.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "bin/shared_cuts.hpp"
#include "grow/random_cut.hpp"

namespace polyleaf {

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
    tables_ = {places_.data(), middles_.data(), before_.data()};
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

void CutGuide::find(const Kernels& kernels, int n_cuts, const int32_t* homes, const double* shares,
                    const uint8_t* first, const uint8_t* last, uint8_t* limits) const {
    kernels.draw_cuts({tables_, n_cuts, homes, shares, first, last, limits});
    for (int i = 0; has_irregular_ && i < n_cuts; ++i) {
        if (!is_irregular_[homes[i]]) continue;
        const int32_t feature = binned_.dense_features[homes[i]];
        limits[i] = static_cast<uint8_t>(
            find_random_cut(binned_, feature, shares[i], first[i], last[i]).left_code);
    }
}

bool CutGuide::is_left(int32_t home, double share, uint8_t first, uint8_t last,
                       uint8_t code) const {
    if (is_irregular_[home])
        return code <= find_random_cut(binned_, binned_.dense_features[home], share, first, last)
                           .left_code;
    const size_t base = static_cast<size_t>(home) * CutTables::kBins;
    const uint32_t low = places_[2 * (base + first)], high = places_[2 * (base + last) + 1];
    const uint64_t units = static_cast<uint32_t>(share * 0x1.0p32);
    return middles_[base + code] <= low + static_cast<uint32_t>((high - low) * units >> 32);
}

void CutGuide::find_limits(const Kernels& kernels, const std::vector<int32_t>& feature_home,
                           TreeNode* const* nodes, int n_nodes) const {
    TreeNode* later[kCodeColumns];
    int32_t homes[kCodeColumns] = {};
    double shares[kCodeColumns] = {};
    uint8_t first[kCodeColumns] = {}, last[kCodeColumns] = {}, limits[kCodeColumns] = {};
    int n_later = 0;
    for (int i = 0; i < n_nodes; ++i) {
        // Written in any case, and kept if it was left for later.
        later[n_later] = nodes[i];
        homes[n_later] = feature_home[nodes[i]->feature];
        shares[n_later] = nodes[i]->threshold;
        first[n_later] = nodes[i]->cut_first;
        last[n_later] = nodes[i]->cut_last;
        n_later += nodes[i]->cut_limit == kLimitLater;
    }
    find(kernels, n_later, homes, shares, first, last, limits);
    for (int i = 0; i < n_later; ++i) later[i]->cut_limit = limits[i];
}

void CutGuide::finish_some(const Kernels& kernels, const std::vector<int32_t>& feature_home,
                           TreeNode* const* nodes, int n_nodes) const {
    find_limits(kernels, feature_home, nodes, n_nodes);
    for (int i = 0; i < n_nodes; ++i) {
        TreeNode& node = *nodes[i];
        node.threshold = random_threshold(binned_, node.feature, node.threshold, node.cut_first,
                                          node.cut_last, node.cut_limit);
    }
}

// Many nodes at once, so that the look-ups of one do not wait for those of another.
void CutGuide::finish(const Kernels& kernels, const std::vector<int32_t>& feature_home,
                      std::vector<TreeNode>& nodes) const {
    TreeNode* cut[kCodeColumns];
    int n_cut = 0;
    for (TreeNode& node : nodes) {
        cut[n_cut] = &node;
        n_cut += node.cut_first < node.cut_last;
        if (n_cut < kCodeColumns) continue;
        finish_some(kernels, feature_home, cut, n_cut);
        n_cut = 0;
    }
    finish_some(kernels, feature_home, cut, n_cut);
}

SharedCuts::SharedCuts() = default;
SharedCuts::~SharedCuts() = default;

const CutData& SharedCuts::get(const BinnedView& binned, Interrupt& interrupt) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!data_) data_ = std::make_unique<CutData>(binned, interrupt);
    return *data_;
}

}  // namespace polyleaf
