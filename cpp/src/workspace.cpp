#include "workspace.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "row_codes.hpp"
#include "split.hpp"

namespace ramify {

namespace {

// Sums are made of partial sums over this many rows, which keeps their rounding errors few.
constexpr int64_t kChunk = 256;

// More sparse features than this to a dense one: what the dense ones cost is of no account.
constexpr int64_t kSparsePerDense = 8;

// Whether nodes are searched by IncrementalSearch.
bool chooses_incremental(const BinnedView& binned, const ChannelsView& channels) {
    if (channels.is_sparse()) return true;
    return channels.policy != HessianPolicy::per_channel && binned.n_sparse > 0 &&
           binned.n_sparse >= kSparsePerDense * binned.n_dense;
}

// body(constant) with the number of lanes as a constant, so that loops over lanes are unrolled.
template <typename Body>
void with_lanes(int lanes, Body&& body) {
    if (lanes == 4)
        body(std::integral_constant<int, 4>{});
    else if (lanes == 8)
        body(std::integral_constant<int, 8>{});
    else
        body(std::integral_constant<int, 16>{});
}

// Adds up values and weighted squares of n rows.
template <int N>
void add_moments(const float* values, const float* weights, int64_t n, double* sum,
                 double* square) {
    double part[N] = {}, part_square[N] = {};
    for (int64_t i = 0; i < n; ++i, values += N) {
        const double inverse = weights ? 1.0 / weights[i] : 1.0;
        for (int k = 0; k < N; ++k) {
            const double value = values[k];
            part[k] += value;
            part_square[k] += value * value * inverse;
        }
    }
    for (int k = 0; k < N; ++k) sum[k] += part[k], square[k] += part_square[k];
}

}  // namespace

Workspace::Workspace(const BinnedView& binned_, const ChannelsView& channels_,
                     const int32_t* rows_, int64_t n_rows_, const GrowParams& params_,
                     Interrupt& interrupt_)
    : binned(binned_),
      channels(channels_),
      params(params_),
      interrupt(interrupt_),
      lanes(block_lanes(channels_.n_channels)),
      n_blocks(channels_.is_sparse() ? 0 : (channels_.n_channels + lanes - 1) / lanes),
      n_rows(n_rows_),
      is_incremental(chooses_incremental(binned_, channels_)),
      rows(rows_, rows_ + n_rows_),
      products(is_incremental ? 0 : n_rows_),
      feature_home(binned_.n_features),
      kernels_(kernels_for(lanes)) {
    for (int32_t i = 0; i < binned.n_dense; ++i) feature_home[binned.dense_features[i]] = i;
    for (int32_t i = 0; i < binned.n_sparse; ++i) feature_home[binned.sparse_features[i]] = ~i;
    if (channels.policy == HessianPolicy::shared) {
        weights.resize(n_rows);
        for (int64_t i = 0; i < n_rows; ++i) weights[i] = channels.hessian[rows[i]];
    }
    are_all_rows_ = n_rows == binned.n_rows;
    for (int64_t i = 0; are_all_rows_ && i < n_rows; ++i) are_all_rows_ = rows[i] == i;
    if (is_incremental) {
        position.resize(binned.n_rows, -1);
        for (int64_t i = 0; i < n_rows; ++i) position[rows[i]] = static_cast<int32_t>(i);
    }
}

Workspace::~Workspace() = default;

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

void Workspace::load(const NodeRange& range, ChannelStore& store) const {
    store.range = range;
    const int64_t block_size = range.size() * lanes;
    store.gradient.resize(n_blocks * block_size);
    store.hessian.resize(per_channel() ? n_blocks * block_size : 0);
    for (int32_t block = 0; block < n_blocks; ++block) {
        interrupt.check();
        load_block(range, block, false, store.gradient.data() + block * block_size);
        if (per_channel())
            load_block(range, block, true, store.hessian.data() + block * block_size);
    }
}

Blocks Workspace::gradient_blocks(ChannelStore& store, const NodeRange& range) const {
    return {store.gradient.data() + (range.begin - store.range.begin) * lanes,
            store.range.size() * lanes, n_blocks};
}

Blocks Workspace::hessian_blocks(ChannelStore& store, const NodeRange& range) const {
    return {store.hessian.data() + (range.begin - store.range.begin) * lanes,
            store.range.size() * lanes, n_blocks};
}

NodeTotals Workspace::summarise(const NodeRange& range, ChannelStore* store, bool centre,
                                bool need_sums, bool need_products) {
    NodeTotals totals;
    totals.n_rows = range.size();
    // Sums in float64 need no help, and keep their last digits without it.
    const bool centres =
        centre && store && params.l2_regularization == 0.0 && !params.double_precision;
    if (per_channel()) {
        summarise_per_channel(range, *store, totals);
    } else if (centres) {
        summarise_centred(range, *store, need_sums, totals);
        return totals;
    } else {
        summarise_dense(range, store, totals);
    }
    if (centres)
        centre_channels(range, *store, totals);
    else if (need_products && store && !per_channel())
        fill_products(range, *store, totals);
    return totals;
}

double Workspace::weight_of(const NodeRange& range) const {
    if (channels.policy == HessianPolicy::unit) return static_cast<double>(range.size());
    double weight = 0.0;
    for (int64_t i = range.begin; i < range.end; ++i) weight += weights[i];
    return weight;
}

void Workspace::summarise_centred(const NodeRange& range, ChannelStore& store, bool need_sums,
                                  NodeTotals& totals) const {
    totals.weight = weight_of(range);
    totals.centred = true;
    if (need_sums) {
        totals.gradient.assign(static_cast<size_t>(n_blocks) * lanes, 0.0);
        totals.mean.assign(static_cast<size_t>(n_blocks) * lanes, 0.0f);
    }
    if (range.size() == 1) return;  // a leaf without deviations
    if (range.size() * channels.n_channels >= kAddsPerCheck) interrupt.check();
    totals.impurity = kernels_.centre(
        {gradient_blocks(store, range),
         channels.policy == HessianPolicy::shared ? weights.data() + range.begin : nullptr,
         range.size(), totals.weight, kRoundingShare});
}

void Workspace::summarise_dense(const NodeRange& range, ChannelStore* store,
                                NodeTotals& totals) const {
    const int64_t n = range.size();
    const bool unit = channels.policy == HessianPolicy::unit;
    totals.weight = weight_of(range);
    const size_t width = static_cast<size_t>(n_blocks) * lanes;
    totals.gradient.resize(width);
    totals.mean.assign(width, 0.0f);
    const Blocks g = store ? gradient_blocks(*store, range) : Blocks{};
    float chunk[kChunk * 16];
    double sum[16], square[16];
    for (int32_t block = 0; block < n_blocks; ++block) {
        if (n * channels.n_channels >= kAddsPerCheck) interrupt.check();
        std::fill_n(sum, 16, 0.0);
        std::fill_n(square, 16, 0.0);
        for (int64_t begin = 0; begin < n; begin += kChunk) {
            const int64_t end = std::min(n, begin + kChunk);
            const float* values = chunk;
            if (store)
                values = g.data + block * g.block_stride + begin * lanes;
            else
                load_block({range.begin + begin, range.begin + end}, block, false, chunk);
            const float* const row_weights = unit ? nullptr : weights.data() + range.begin + begin;
            with_lanes(lanes, [&](auto width) {
                add_moments<decltype(width)::value>(values, row_weights, end - begin, sum, square);
            });
        }
        for (int k = 0; k < lanes; ++k) {
            totals.gradient[block * lanes + k] = sum[k];
            totals.norm += sum[k] * sum[k];
            totals.impurity += deviations(square[k], sum[k] * sum[k] / totals.weight);
            if (params.l2_regularization == 0.0)
                totals.mean[block * lanes + k] = static_cast<float>(sum[k] / totals.weight);
        }
    }
    totals.base_score = totals.norm / (totals.weight + params.l2_regularization);
}

void Workspace::summarise_per_channel(const NodeRange& range, ChannelStore& store,
                                      NodeTotals& totals) const {
    const int64_t n = range.size();
    const size_t width = static_cast<size_t>(n_blocks) * lanes;
    totals.gradient.resize(width);
    totals.hessian.resize(width);
    totals.mean.assign(width, 0.0f);
    const Blocks g = gradient_blocks(store, range), h = hessian_blocks(store, range);
    double sum[16], weight[16], square[16], all_weights = 0.0;
    for (int32_t block = 0; block < n_blocks; ++block) {
        if (n * channels.n_channels >= kAddsPerCheck) interrupt.check();
        std::fill_n(sum, lanes, 0.0);
        std::fill_n(weight, lanes, 0.0);
        std::fill_n(square, lanes, 0.0);
        const float* gv = g.data + block * g.block_stride;
        const float* hv = h.data + block * h.block_stride;
        for (int64_t begin = 0; begin < n; begin += kChunk) {
            double part[16] = {}, part_weight[16] = {}, part_square[16] = {};
            for (int64_t i = begin * lanes; i < std::min(n, begin + kChunk) * lanes; i += lanes) {
                for (int k = 0; k < lanes; ++k) {
                    const double a = gv[i + k], b = hv[i + k];
                    part[k] += a;
                    part_weight[k] += b;
                    part_square[k] += b > 0.0 ? a * a / b : 0.0;
                }
            }
            for (int k = 0; k < lanes; ++k) {
                sum[k] += part[k];
                weight[k] += part_weight[k];
                square[k] += part_square[k];
            }
        }
        for (int k = 0; k < lanes; ++k) {
            const size_t at = static_cast<size_t>(block) * lanes + k;
            totals.gradient[at] = sum[k];
            totals.hessian[at] = weight[k];
            all_weights += weight[k];
            if (weight[k] <= 0.0) continue;
            totals.impurity += deviations(square[k], sum[k] * sum[k] / weight[k]);
            if (params.l2_regularization == 0.0)
                totals.mean[at] = static_cast<float>(sum[k] / weight[k]);
            totals.base_score += sum[k] * sum[k] / (weight[k] + params.l2_regularization);
        }
    }
    totals.weight = all_weights / channels.n_channels;
}

void Workspace::centre_channels(const NodeRange& range, ChannelStore& store,
                                NodeTotals& totals) const {
    const Blocks g = gradient_blocks(store, range), h = hessian_blocks(store, range);
    for (int32_t block = 0; block < n_blocks; ++block) {
        float* const values = g.data + block * g.block_stride;
        const float* const entries = h.data + block * h.block_stride;
        const float* const mean = totals.mean.data() + block * lanes;
        with_lanes(lanes, [&](auto width) {
            constexpr int N = decltype(width)::value;
            for (int64_t i = 0; i < range.size(); ++i)
                for (int k = 0; k < N; ++k) values[i * N + k] -= entries[i * N + k] * mean[k];
        });
    }
    totals.centred = true;
    std::fill(totals.gradient.begin(), totals.gradient.end(), 0.0);
    std::fill(totals.mean.begin(), totals.mean.end(), 0.0f);
    totals.norm = totals.base_score = 0.0;
}

void Workspace::fill_products(const NodeRange& range, ChannelStore& store,
                              const NodeTotals& totals) {
    const Blocks g = gradient_blocks(store, range);
    for (int64_t i = 0; i < range.size(); ++i) {
        if (i % kRowsPerCheck == 0) interrupt.check();
        double product = 0.0;
        for (int32_t block = 0; block < n_blocks; ++block)
            for (int k = 0; k < lanes; ++k)
                product += double{g.data[block * g.block_stride + i * lanes + k]} *
                           totals.gradient[block * lanes + k];
        products[range.begin + i] = product;
    }
}

void NodeTotals::set(const NodeRange& range, double weight_sum, double square_sum,
                     double norm_of_sum, double l2_regularization) {
    n_rows = range.size();
    weight = weight_sum;
    square = square_sum;
    norm = norm_of_sum;
    impurity = deviations(square, norm / weight);
    base_score = norm / (weight + l2_regularization);
}

void Workspace::sum_channels(const NodeRange& range, ChannelStore& store,
                             std::vector<double>& sums, NodeTotals& totals) const {
    const bool unit = channels.policy == HessianPolicy::unit;
    double weight = unit ? static_cast<double>(range.size()) : 0.0, square = 0.0, norm = 0.0;
    for (int64_t i = range.begin; !unit && i < range.end; ++i) weight += weights[i];
    sums.resize(static_cast<size_t>(n_blocks) * lanes);
    const Blocks g = gradient_blocks(store, range);
    for (int32_t block = 0; block < n_blocks; ++block) {
        double sum[16] = {}, squares[16] = {};
        for (int64_t begin = 0; begin < range.size(); begin += kChunk) {
            if (begin % kRowsPerCheck == kRowsPerCheck - kChunk) interrupt.check();
            with_lanes(lanes, [&](auto width) {
                add_moments<decltype(width)::value>(
                    g.data + block * g.block_stride + begin * lanes,
                    unit ? nullptr : weights.data() + range.begin + begin,
                    std::min(kChunk, range.size() - begin), sum, squares);
            });
        }
        for (int k = 0; k < lanes; ++k) {
            sums[block * lanes + k] = sum[k];
            norm += sum[k] * sum[k];
            square += squares[k];
        }
    }
    totals.set(range, weight, square, norm, params.l2_regularization);
}

double Workspace::product_of(int64_t at, ChannelStore* store, const NodeTotals& totals,
                             const double* label_totals) const {
    double product = 0.0;
    if (channels.is_sparse()) {
        for (int64_t e = channels.indptr[rows[at]]; e < channels.indptr[rows[at] + 1]; ++e)
            product += channels.data[e] * label_totals[channels.indices[e]];
        return product * row_weight(at);
    }
    const Blocks g = gradient_blocks(*store, {at, at + 1});
    for (int32_t block = 0; block < n_blocks; ++block)
        for (int k = 0; k < lanes; ++k)
            product +=
                double{g.data[block * g.block_stride + k]} * totals.gradient[block * lanes + k];
    return product;
}

}  // namespace ramify
