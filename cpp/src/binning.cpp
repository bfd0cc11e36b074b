#include "ramify/binning.hpp"

#include <algorithm>

#include "ramify/data.hpp"

namespace ramify {

namespace {

constexpr int64_t kRowsPerBlock = 4096;

template <typename T, typename Code>
void encode_block(const EncodeTask<T, Code>& task, int64_t tile, int64_t begin, int64_t end) {
    for (int lane = 0; lane < kTileFeatures; ++lane) {
        const int64_t index = tile * kTileFeatures + lane;
        Code* out = task.codes + tile * task.n_rows * kTileFeatures + lane;
        if (index >= task.n_features) {
            for (int64_t i = begin; i < end; ++i) out[i * kTileFeatures] = 0;
            continue;
        }
        const int32_t feature = task.features[index];
        const double* high = task.bin_high + task.bin_offsets[feature];
        const int64_t n_bins = task.bin_offsets[feature + 1] - task.bin_offsets[feature];
        for (int64_t i = begin; i < end; ++i) {
            const double value = task.values[i * task.n_columns + feature];
            Code code = task.missing;
            if (value == value && n_bins > 0) {
                // Halving without branches: comparisons of random values cannot be predicted.
                const double* at = high;
                for (int64_t length = n_bins; length > 1; length -= length / 2)
                    at = at[length / 2 - 1] < value ? at + length / 2 : at;
                code = static_cast<Code>(std::min<int64_t>(at - high, n_bins - 1));
            }
            out[i * kTileFeatures] = code;
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

}  // namespace ramify
