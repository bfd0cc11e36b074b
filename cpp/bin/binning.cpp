#include "bin/binning.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/data.hpp"
#include "kernels/kernels.hpp"

namespace polyleaf {

namespace {

// The four lanes of a tile read the same cache lines of X: a block of them stays in the cache.
constexpr int64_t kRowsPerBlock = 1024;

// The largest float that is not above a number.
float float_below(double number) {
    const float nearest = static_cast<float>(number);
    if (!(nearest > number)) return nearest;
    return std::nextafter(nearest, -std::numeric_limits<float>::infinity());
}

// A column of floats, between whose values and the limits no double lies.
void encode_floats(const EncodeTask<float, uint8_t>& task, int32_t feature, int64_t begin,
                   int64_t end, uint8_t* codes) {
    const double* const high = task.bin_high + task.bin_offsets[feature];
    const int64_t n_bins = task.bin_offsets[feature + 1] - task.bin_offsets[feature];
    float limits[kPaddedBins], pivots[16];
    std::fill_n(limits, kPaddedBins, std::numeric_limits<float>::infinity());
    for (int64_t bin = 0; bin < n_bins; ++bin) limits[bin] = float_below(high[bin]);
    for (int k = 0; k < 16; ++k) pivots[k] = limits[16 * k + 15];
    EncodeFloatsTask encode;
    encode.values = task.values + begin * task.n_columns + feature;
    encode.n_rows = end - begin;
    encode.value_stride = task.n_columns;
    encode.limits = limits;
    encode.pivots = pivots;
    encode.n_bins = static_cast<int32_t>(n_bins);
    encode.missing = task.missing;
    encode.codes = codes + begin * kTileFeatures;
    encode.code_stride = kTileFeatures;
    kernels_for(16).encode_floats(encode);
}

template <typename T, typename Code>
void encode_block(const EncodeTask<T, Code>& task, int64_t tile, int64_t begin, int64_t end) {
    const Kernels& kernels = kernels_for(16);
    for (int lane = 0; lane < kTileFeatures; ++lane) {
        const int64_t index = tile * kTileFeatures + lane;
        Code* out = task.codes + tile * task.n_rows * kTileFeatures + lane;
        if (index >= task.n_features) {
            for (int64_t i = begin; i < end; ++i) out[i * kTileFeatures] = 0;
            continue;
        }
        const int32_t feature = task.features[index];
        const double* high = task.bin_high + task.bin_offsets[feature];
        const int32_t n_bins =
            static_cast<int32_t>(task.bin_offsets[feature + 1] - task.bin_offsets[feature]);
        if constexpr (std::is_same_v<T, float> && std::is_same_v<Code, uint8_t>) {
            if (n_bins > 0 && n_bins < kPaddedBins) {
                encode_floats(task, feature, begin, end, out);
                continue;
            }
        }
        double values[kFindTogether] = {};
        int32_t bins[kFindTogether] = {};
        FindBinsTask find;
        find.values = values;
        find.high = high;
        find.n_bins = n_bins;
        find.bins = bins;
        double padded[kPaddedBins], pivots[16];
        if (n_bins <= kPaddedBins) {
            std::fill(std::copy_n(high, n_bins, padded), padded + kPaddedBins,
                      std::numeric_limits<double>::infinity());
            for (int k = 0; k < 16; ++k) pivots[k] = padded[16 * k + 15];
            find.high = padded;
            find.pivots = pivots;
        }
        for (int64_t i = begin; i < end; i += kFindTogether) {
            const int n = static_cast<int>(std::min<int64_t>(kFindTogether, end - i));
            for (int k = 0; k < n; ++k)
                values[k] = task.values[(i + k) * task.n_columns + feature];
            if (n_bins > 0) kernels.find_bins(find);
            for (int k = 0; k < n; ++k)
                out[(i + k) * kTileFeatures] = values[k] == values[k] && n_bins > 0
                                                   ? static_cast<Code>(bins[k])
                                                   : task.missing;
        }
    }
}

}  // namespace

template <typename T, typename Code>
void encode_columns(const EncodeTask<T, Code>& task, ThreadTeam& team) {
    const int64_t n_tiles = (task.n_features + kTileFeatures - 1) / kTileFeatures;
    const int64_t n_chunks = (task.n_rows + kRowsPerBlock - 1) / kRowsPerBlock;
    team.parallel_for(n_tiles * n_chunks, [&](int64_t block, int) {
        // Tile after tile of the same rows, which stay in the cache.
        const int64_t chunk = block / n_tiles;
        encode_block(task, block % n_tiles, chunk * kRowsPerBlock,
                     std::min(task.n_rows, (chunk + 1) * kRowsPerBlock));
    });
}

template void encode_columns(const EncodeTask<float, uint8_t>&, ThreadTeam&);
template void encode_columns(const EncodeTask<double, uint8_t>&, ThreadTeam&);
template void encode_columns(const EncodeTask<float, uint32_t>&, ThreadTeam&);
template void encode_columns(const EncodeTask<double, uint32_t>&, ThreadTeam&);

}  // namespace polyleaf
