#include "bin/binning.hpp"

#include <algorithm>
#include <limits>

#include "base/data.hpp"
#include "kernels/kernels.hpp"

namespace polyleaf {

namespace {

// The four lanes of a tile read the same cache lines of X: a block of them stays in the cache.
constexpr int64_t kRowsPerBlock = 1024;
constexpr int kPaddedBins = 256;

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
        const int64_t chunk = block % n_chunks;
        encode_block(task, block / n_chunks, chunk * kRowsPerBlock,
                     std::min(task.n_rows, (chunk + 1) * kRowsPerBlock));
    });
}

template void encode_columns(const EncodeTask<float, uint8_t>&, ThreadTeam&);
template void encode_columns(const EncodeTask<double, uint8_t>&, ThreadTeam&);
template void encode_columns(const EncodeTask<float, uint32_t>&, ThreadTeam&);
template void encode_columns(const EncodeTask<double, uint32_t>&, ThreadTeam&);

}  // namespace polyleaf
