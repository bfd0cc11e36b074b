// Copies channels from where they come from into blocks of lanes, in the order of a node's rows.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "grow/constant_lanes.hpp"
#include "grow/workspace.hpp"

namespace polyleaf {

template <typename T>
void Workspace::load_values(const T* values, const NodeRange& range, int32_t block,
                            float* out) const {
    const int32_t first = block * lanes;
    const int width = std::min(lanes, channels.n_channels - first);
    const bool shared = channels.policy == HessianPolicy::shared && !channels.is_gradient;
    const bool weigh_entries = per_channel() && !channels.is_gradient;
    double shift[16] = {}, factor[16];
    for (int k = 0; k < width; ++k) {
        shift[k] = channels.shift ? channels.shift[first + k] : 0.0;
        factor[k] = channels.factor ? channels.factor[first + k] : 1.0;
    }
    const int32_t* const columns = channels.columns ? channels.columns + first : nullptr;
    const int32_t first_column = columns ? columns[0] : first;
    bool is_plain = width == lanes && !weigh_entries;  // neighbours, and one weight for all
    for (int k = 0; columns && k < width; ++k) is_plain &= columns[k] == first_column + k;
    if constexpr (std::is_same_v<T, float>) {
        if (!channels.shift && !channels.factor && !weigh_entries) {  // but for the weight, as is
            int32_t column[16];
            for (int k = 0; k < width; ++k) column[k] = columns ? columns[k] : first + k;
            with_lanes(lanes, [&](auto n) {
                constexpr int N = decltype(n)::value;
                for (int64_t i = range.begin; i < range.end; ++i, out += N) {
                    const float* const source = values + int64_t{rows[i]} * channels.n_columns;
                    if (is_plain) std::memcpy(out, source + first_column, N * sizeof(float));
                    for (int k = 0; !is_plain && k < N; ++k)
                        out[k] = k < width ? source[column[k]] : 0.0f;
                    for (int k = 0; shared && k < N; ++k) out[k] *= weights[i];
                }
            });
            return;
        }
    }
    for (int64_t i = 0; i < range.size(); ++i, out += lanes) {
        const int64_t row = rows[range.begin + i];
        const T* const source = values + row * channels.n_columns;
        const double weight = shared ? weights[range.begin + i] : 1.0;
        if (is_plain) {
            with_lanes(lanes, [&](auto n) {
                for (int k = 0; k < decltype(n)::value; ++k)
                    out[k] = static_cast<float>((source[first_column + k] - shift[k]) * factor[k] *
                                                weight);
            });
            continue;
        }
        for (int k = 0; k < width; ++k) {
            const double value = source[columns ? columns[k] : first + k];
            const double entry =
                weigh_entries ? channels.hessian[row * channels.n_channels + first + k] : weight;
            out[k] = static_cast<float>((value - shift[k]) * factor[k] * entry);
        }
        for (int k = width; k < lanes; ++k) out[k] = 0.0f;
    }
}

void Workspace::load_block(const NodeRange& range, int32_t block, bool hessian, float* out) const {
    if (!hessian) {
        if (channels.values_f32)
            load_values(channels.values_f32, range, block, out);
        else
            load_values(channels.values_f64, range, block, out);
        return;
    }
    const int32_t first = block * lanes;
    const int width = std::min(lanes, channels.n_channels - first);
    for (int64_t i = range.begin; i < range.end; ++i, out += lanes) {
        std::fill_n(out, lanes, 0.0f);
        std::copy_n(channels.hessian + int64_t{rows[i]} * channels.n_channels + first, width, out);
    }
}

bool Workspace::is_plain() const {
    if (!channels.values_f32 || channels.shift || channels.factor) return false;
    if (!channels.is_gradient && channels.policy != HessianPolicy::unit) return false;
    for (int32_t k = 1; channels.columns && k < channels.n_channels; ++k)
        if (channels.columns[k] != channels.columns[0] + k) return false;
    return true;
}

void Workspace::load_blocks(const NodeRange& range, const Blocks& out, int32_t first) const {
    constexpr int64_t kRowsAhead = 8;
    if (!is_plain() || out.n_blocks == 1) {
        for (int32_t block = 0; block < out.n_blocks; ++block)
            load_block(range, first + block, false, out.data + block * out.block_stride);
        return;
    }
    const float* const source =
        channels.values_f32 + (channels.columns ? channels.columns[0] : 0) + first * lanes;
    const int32_t n_values = std::min(out.n_blocks * lanes, channels.n_channels - first * lanes);
    const int32_t n_whole = n_values / lanes, n_rest = n_values % lanes;
    with_lanes(lanes, [&](auto width) {
        constexpr int N = decltype(width)::value;
        for (int64_t i = 0; i < range.size(); ++i) {
            const int64_t ahead = std::min(range.begin + i + kRowsAhead, range.end - 1);
            for (int32_t k = 0; k < n_values; k += 16)
                __builtin_prefetch(source + rows[ahead] * channels.n_columns + k);
            const float* const row = source + int64_t{rows[range.begin + i]} * channels.n_columns;
            float* to = out.data + i * N;
            for (int32_t block = 0; block < n_whole; ++block, to += out.block_stride)
                std::memcpy(to, row + block * N, N * sizeof(float));
            if (n_rest == 0) continue;
            for (int k = 0; k < N; ++k) to[k] = k < n_rest ? row[n_whole * N + k] : 0.0f;
        }
    });
}

void Workspace::load(const NodeRange& range, ChannelStore& store) const {
    store.range = range;
    const int64_t block_size = range.size() * lanes;
    store.gradient.resize(n_blocks * block_size);
    store.hessian.resize(per_channel() ? n_blocks * block_size : 0);
    interrupt.check();
    load_blocks(range, {store.gradient.data(), block_size, n_blocks}, 0);
    for (int32_t block = 0; per_channel() && block < n_blocks; ++block) {
        interrupt.check();
        load_block(range, block, true, store.hessian.data() + block * block_size);
    }
}

}  // namespace polyleaf
