#include "workspace.hpp"

#include <algorithm>
#include <cstring>

#include "split.hpp"

namespace ramify {

namespace {

// Copies (n, q) row-major values into blocks, rows in the given order.
void to_blocks(const float* values, int32_t n_channels, const std::vector<int32_t>& rows,
               int lanes, int32_t n_blocks, AlignedVector<float>& blocks) {
    const int64_t n = static_cast<int64_t>(rows.size());
    blocks.assign(static_cast<size_t>(n_blocks) * n * lanes, 0.0f);
    for (int32_t block = 0; block < n_blocks; ++block) {
        const int32_t first = block * lanes;
        const size_t width = std::min(lanes, n_channels - first) * sizeof(float);
        float* out = blocks.data() + int64_t{block} * n * lanes;
        for (int64_t i = 0; i < n; ++i)
            std::memcpy(out + i * lanes, values + int64_t{rows[i]} * n_channels + first, width);
    }
}

// Moves items of `width` values: left ones forward in place, right ones behind them, both stable.
template <typename T>
void partition_items(T* items, int64_t n, int width, const std::vector<uint8_t>& left,
                     std::vector<T>& spill) {
    spill.resize(n * width);
    T* kept = items;
    T* spilt = spill.data();
    for (int64_t i = 0; i < n; ++i) {
        T*& out = left[i] ? kept : spilt;
        std::memmove(out, items + i * width, width * sizeof(T));
        out += width;
    }
    std::memcpy(kept, spill.data(), (spilt - spill.data()) * sizeof(T));
}

}  // namespace

Workspace::Workspace(const BinnedView& binned_, const ChannelsView& channels_,
                     const int32_t* rows_, int64_t n_rows_, const GrowParams& params_)
    : binned(binned_),
      channels(channels_),
      params(params_),
      lanes(block_lanes(channels_.n_channels)),
      n_blocks(channels_.is_sparse() ? 0 : (channels_.n_channels + lanes - 1) / lanes),
      n_rows(n_rows_),
      rows(rows_, rows_ + n_rows_),
      products(n_rows_),
      feature_home(binned_.n_features) {
    for (int32_t i = 0; i < binned.n_dense; ++i) feature_home[binned.dense_features[i]] = i;
    for (int32_t i = 0; i < binned.n_sparse; ++i) feature_home[binned.sparse_features[i]] = ~i;
    if (!channels.is_sparse())
        to_blocks(channels.gradient, channels.n_channels, rows, lanes, n_blocks, gradient);
    if (per_channel()) {
        to_blocks(channels.hessian, channels.n_channels, rows, lanes, n_blocks, hessian);
    } else if (channels.policy == HessianPolicy::shared) {
        hessian.resize(n_rows);
        for (int64_t i = 0; i < n_rows; ++i) hessian[i] = channels.hessian[rows[i]];
    }
}

Blocks Workspace::gradient_blocks(const NodeRange& range) {
    return {gradient.data() + range.begin * lanes, n_rows * lanes, n_blocks};
}

Blocks Workspace::hessian_blocks(const NodeRange& range) {
    return {hessian.data() + range.begin * lanes, n_rows * lanes, n_blocks};
}

NodeTotals Workspace::summarise(const NodeRange& range, bool centre, bool need_products,
                                std::vector<double>& label_sums) {
    NodeTotals totals;
    totals.n_rows = range.size();
    if (channels.is_sparse()) {
        summarise_sparse(range, totals, label_sums);
        return totals;
    }
    if (per_channel())
        summarise_per_channel(range, totals);
    else
        summarise_dense(range, totals);
    if (centre && params.l2_regularization == 0.0)
        centre_channels(range, totals);
    else if (need_products && !per_channel())
        fill_products(range, totals);
    return totals;
}

void Workspace::summarise_dense(const NodeRange& range, NodeTotals& totals) {
    const int64_t n = range.size();
    const bool unit = channels.policy == HessianPolicy::unit;
    if (unit) {
        totals.weight = static_cast<double>(n);
    } else {
        for (int64_t i = range.begin; i < range.end; ++i) totals.weight += hessian[i];
    }
    const size_t width = static_cast<size_t>(n_blocks) * lanes;
    totals.gradient.resize(width);
    totals.mean.assign(width, 0.0f);
    const Blocks g = gradient_blocks(range);
    double sum[16], square[16];
    for (int32_t block = 0; block < n_blocks; ++block) {
        std::fill_n(sum, lanes, 0.0);
        std::fill_n(square, lanes, 0.0);
        const float* values = g.data + block * g.block_stride;
        for (int64_t i = 0; i < n; ++i) {
            const double inverse = unit ? 1.0 : 1.0 / hessian[range.begin + i];
            for (int k = 0; k < lanes; ++k) {
                const double value = values[i * lanes + k];
                sum[k] += value;
                square[k] += value * value * inverse;
            }
        }
        for (int k = 0; k < lanes; ++k) {
            totals.gradient[block * lanes + k] = static_cast<float>(sum[k]);
            totals.norm += sum[k] * sum[k];
            totals.impurity += std::max(0.0, square[k] - sum[k] * sum[k] / totals.weight);
            if (params.l2_regularization == 0.0)
                totals.mean[block * lanes + k] = static_cast<float>(sum[k] / totals.weight);
        }
    }
    totals.base_score = totals.norm / (totals.weight + params.l2_regularization);
}

void Workspace::summarise_per_channel(const NodeRange& range, NodeTotals& totals) {
    const int64_t n = range.size();
    const size_t width = static_cast<size_t>(n_blocks) * lanes;
    totals.gradient.resize(width);
    totals.hessian.resize(width);
    totals.mean.assign(width, 0.0f);
    const Blocks g = gradient_blocks(range), h = hessian_blocks(range);
    double sum[16], weight[16], square[16], all_weights = 0.0;
    for (int32_t block = 0; block < n_blocks; ++block) {
        std::fill_n(sum, lanes, 0.0);
        std::fill_n(weight, lanes, 0.0);
        std::fill_n(square, lanes, 0.0);
        const float* gv = g.data + block * g.block_stride;
        const float* hv = h.data + block * h.block_stride;
        for (int64_t i = 0; i < n * lanes; i += lanes) {
            for (int k = 0; k < lanes; ++k) {
                const double a = gv[i + k], b = hv[i + k];
                sum[k] += a;
                weight[k] += b;
                square[k] += b > 0.0 ? a * a / b : 0.0;
            }
        }
        for (int k = 0; k < lanes; ++k) {
            const size_t at = static_cast<size_t>(block) * lanes + k;
            totals.gradient[at] = static_cast<float>(sum[k]);
            totals.hessian[at] = static_cast<float>(weight[k]);
            all_weights += weight[k];
            if (weight[k] <= 0.0) continue;
            totals.impurity += std::max(0.0, square[k] - sum[k] * sum[k] / weight[k]);
            if (params.l2_regularization == 0.0)
                totals.mean[at] = static_cast<float>(sum[k] / weight[k]);
            totals.base_score += sum[k] * sum[k] / (weight[k] + params.l2_regularization);
        }
    }
    totals.weight = all_weights / channels.n_channels;
}

void Workspace::summarise_sparse(const NodeRange& range, NodeTotals& totals,
                                 std::vector<double>& label_sums) {
    double square = 0.0;
    for (int64_t i = range.begin; i < range.end; ++i) {
        const double weight = row_weight(i);
        totals.weight += weight;
        for (int64_t e = channels.indptr[rows[i]]; e < channels.indptr[rows[i] + 1]; ++e) {
            label_sums[channels.indices[e]] += weight * channels.data[e];
            square += weight * channels.data[e] * channels.data[e];
        }
    }
    for (int64_t i = range.begin; i < range.end; ++i) {
        double product = 0.0;
        for (int64_t e = channels.indptr[rows[i]]; e < channels.indptr[rows[i] + 1]; ++e)
            product += label_sums[channels.indices[e]] * channels.data[e];
        products[i] = row_weight(i) * product;
        totals.norm += products[i];
    }
    for (int64_t i = range.begin; i < range.end; ++i)
        for (int64_t e = channels.indptr[rows[i]]; e < channels.indptr[rows[i] + 1]; ++e)
            label_sums[channels.indices[e]] = 0.0;
    totals.impurity = std::max(0.0, square - totals.norm / totals.weight);
    totals.base_score = totals.norm / (totals.weight + params.l2_regularization);
}

void Workspace::centre_channels(const NodeRange& range, NodeTotals& totals) {
    const Blocks g = gradient_blocks(range);
    const Blocks h = per_channel() ? hessian_blocks(range) : Blocks{};
    const bool shared = channels.policy == HessianPolicy::shared;
    for (int32_t block = 0; block < n_blocks; ++block) {
        float* values = g.data + block * g.block_stride;
        const float* mean = totals.mean.data() + block * lanes;
        for (int64_t i = 0; i < range.size(); ++i) {
            const float* weights =
                per_channel() ? h.data + block * h.block_stride + i * lanes : nullptr;
            const float weight = shared ? hessian[range.begin + i] : 1.0f;
            for (int k = 0; k < lanes; ++k)
                values[i * lanes + k] -= (weights ? weights[k] : weight) * mean[k];
        }
    }
    totals.centred = true;
    std::fill(totals.gradient.begin(), totals.gradient.end(), 0.0f);
    std::fill(totals.mean.begin(), totals.mean.end(), 0.0f);
    totals.norm = totals.base_score = 0.0;
}

void Workspace::fill_products(const NodeRange& range, const NodeTotals& totals) {
    const Blocks g = gradient_blocks(range);
    for (int64_t i = 0; i < range.size(); ++i) {
        double product = 0.0;
        for (int32_t block = 0; block < n_blocks; ++block)
            for (int k = 0; k < lanes; ++k)
                product += double{g.data[block * g.block_stride + i * lanes + k]} *
                           totals.gradient[block * lanes + k];
        products[range.begin + i] = product;
    }
}

void Workspace::decide_sides(const NodeRange& range, const Split& split,
                             std::vector<uint8_t>& left) {
    left.resize(range.size());
    auto side = [&](uint32_t code, uint32_t missing) -> uint8_t {
        if (code == missing) return split.missing_left;
        if (split.is_categorical) return split.category_words[code >> 5] >> (code & 31) & 1;
        return code <= split.left_code;
    };
    const int32_t home = feature_home[split.feature];
    if (home >= 0) {
        const int64_t base = dense_base(home);
        for (int64_t i = 0; i < range.size(); ++i) {
            const int64_t at = base + int64_t{rows[range.begin + i]} * kTileFeatures;
            left[i] = binned.codes_u8 ? side(binned.codes_u8[at], kMissingU8)
                                      : side(binned.codes_u32[at], kMissingU32);
        }
        return;
    }
    const int32_t slot = ~home;
    const uint8_t default_side = side(binned.sparse_default[slot], kMissingU32);
    for (int64_t i = 0; i < range.size(); ++i) {
        const int32_t row = rows[range.begin + i];
        const int32_t* const first = binned.sparse_slot + binned.sparse_indptr[row];
        const int32_t* const last = binned.sparse_slot + binned.sparse_indptr[row + 1];
        const int32_t* const entry = std::lower_bound(first, last, slot);
        left[i] = entry != last && *entry == slot
                      ? side(binned.sparse_code[entry - binned.sparse_slot], kMissingU32)
                      : default_side;
    }
}

int64_t Workspace::partition(const NodeRange& range, const Split& split,
                             std::vector<uint8_t>& left) {
    thread_local std::vector<float> spill;
    thread_local std::vector<int32_t> spill_rows;
    decide_sides(range, split, left);
    const int64_t n = range.size();
    const int64_t n_left = std::count(left.begin(), left.begin() + n, uint8_t{1});
    partition_items(rows.data() + range.begin, n, 1, left, spill_rows);
    for (int32_t block = 0; block < n_blocks; ++block) {
        partition_items(gradient.data() + (block * n_rows + range.begin) * lanes, n, lanes, left,
                        spill);
        if (per_channel())
            partition_items(hessian.data() + (block * n_rows + range.begin) * lanes, n, lanes,
                            left, spill);
    }
    if (channels.policy == HessianPolicy::shared)
        partition_items(hessian.data() + range.begin, n, 1, left, spill);
    return range.begin + n_left;
}

}  // namespace ramify
