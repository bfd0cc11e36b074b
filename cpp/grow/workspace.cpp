#include "grow/workspace.hpp"

#include <algorithm>

#include "bin/row_codes.hpp"
#include "grow/constant_lanes.hpp"
#include "grow/reducer.hpp"
#include "grow/split.hpp"

namespace polyleaf {

namespace {

// Sums are made of partial sums over this many rows, which keeps their rounding errors few.
constexpr int64_t kChunk = 256;

bool are_all_rows(const BinnedView& binned, const int32_t* rows, int64_t n_rows) {
    if (n_rows != binned.n_rows) return false;
    for (int64_t i = 0; i < n_rows; ++i)
        if (rows[i] != i) return false;
    return true;
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
                     Interrupt& interrupt_, Reducer* reducer_)
    : binned(binned_),
      channels(channels_),
      params(params_),
      interrupt(interrupt_),
      reducer(reducer_),
      lanes(block_lanes(channels_.n_channels)),
      n_blocks(channels_.is_sparse() ? 0 : (channels_.n_channels + lanes - 1) / lanes),
      n_rows(n_rows_),
      plan(facts_of(binned_, channels_, n_rows_, are_all_rows(binned_, rows_, n_rows_)), params_),
      rows(rows_, rows_ + n_rows_),
      products(plan.is_incremental ? 0 : n_rows_),
      feature_home(binned_.n_features),
      kernels_(kernels_for(lanes)) {
    for (int32_t i = 0; i < binned.n_dense; ++i) feature_home[binned.dense_features[i]] = i;
    for (int32_t i = 0; i < binned.n_sparse; ++i) feature_home[binned.sparse_features[i]] = ~i;
    if (channels.policy == HessianPolicy::shared) {
        weights.resize(n_rows);
        for (int64_t i = 0; i < n_rows; ++i) weights[i] = channels.hessian[rows[i]];
    }
    if (plan.is_incremental) {
        position.resize(binned.n_rows, -1);
        for (int64_t i = 0; i < n_rows; ++i) position[rows[i]] = static_cast<int32_t>(i);
    }
}

Workspace::~Workspace() = default;

Blocks Workspace::gradient_blocks(ChannelStore& store, const NodeRange& range) const {
    return {store.gradient.data() + (range.begin - store.range.begin) * lanes,
            store.range.size() * lanes, n_blocks};
}

Blocks Workspace::hessian_blocks(ChannelStore& store, const NodeRange& range) const {
    return {store.hessian.data() + (range.begin - store.range.begin) * lanes,
            store.range.size() * lanes, n_blocks};
}

NodeTotals Workspace::summarise(const NodeRange& range, ChannelStore* store, bool centre,
                                bool need_sums, bool need_products, ThreadTeam* team) {
    NodeTotals totals;
    totals.n_rows = range.size();
    // Sums in float64 need no help, and keep their last digits without it.
    const bool centres =
        centre && store && !reducer && params.l2_regularization == 0.0 && !params.double_precision;
    if (per_channel()) {
        summarise_per_channel(range, *store, totals);
    } else if (centres) {
        summarise_centred(range, *store, need_sums, totals);
        return totals;
    } else {
        summarise_dense(range, store, team, totals);
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

void Workspace::summarise_dense(const NodeRange& range, ChannelStore* store, ThreadTeam* team,
                                NodeTotals& totals) const {
    const int64_t n = range.size();
    const bool unit = channels.policy == HessianPolicy::unit;
    totals.weight = weight_of(range);
    const size_t width = static_cast<size_t>(n_blocks) * lanes;
    totals.gradient.resize(width);
    totals.mean.assign(width, 0.0f);
    const Blocks g = store ? gradient_blocks(*store, range) : Blocks{};
    std::vector<double> squares(width);
    auto sum_block = [&](int64_t block, int) {
        if (n * channels.n_channels >= kAddsPerCheck) interrupt.check();
        float chunk[kChunk * 16];
        double sum[16] = {}, square[16] = {};
        for (int64_t begin = 0; begin < n; begin += kChunk) {
            const int64_t end = std::min(n, begin + kChunk);
            const float* values = chunk;
            if (store)
                values = g.data + block * g.block_stride + begin * lanes;
            else
                load_block({range.begin + begin, range.begin + end}, static_cast<int32_t>(block),
                           false, chunk);
            const float* const row_weights = unit ? nullptr : weights.data() + range.begin + begin;
            with_lanes(lanes, [&](auto width) {
                add_moments<decltype(width)::value>(values, row_weights, end - begin, sum, square);
            });
        }
        std::copy_n(sum, lanes, totals.gradient.data() + block * lanes);
        std::copy_n(square, lanes, squares.data() + block * lanes);
    };
    if (team)
        team->parallel_for(n_blocks, sum_block);
    else
        for (int32_t block = 0; block < n_blocks; ++block) sum_block(block, 0);
    reduce_sums(totals, squares);
    for (size_t k = 0; k < width; ++k) {
        const double sum = totals.gradient[k];
        totals.norm += sum * sum;
        totals.impurity += deviations(squares[k], sum * sum / totals.weight);
        if (params.l2_regularization == 0.0)
            totals.mean[k] = static_cast<float>(sum / totals.weight);
    }
    totals.base_score = score(totals.norm, totals.weight, params.l2_regularization);
}

void Workspace::summarise_per_channel(const NodeRange& range, ChannelStore& store,
                                      NodeTotals& totals) const {
    const int64_t n = range.size();
    const size_t width = static_cast<size_t>(n_blocks) * lanes;
    totals.gradient.assign(width, 0.0);
    totals.hessian.assign(width, 0.0);
    totals.mean.assign(width, 0.0f);
    std::vector<double> squares(width);
    const Blocks g = gradient_blocks(store, range), h = hessian_blocks(store, range);
    for (int32_t block = 0; block < n_blocks; ++block) {
        if (n * channels.n_channels >= kAddsPerCheck) interrupt.check();
        double* const sum = totals.gradient.data() + block * lanes;
        double* const weight = totals.hessian.data() + block * lanes;
        double* const square = squares.data() + block * lanes;
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
    }
    reduce_sums(totals, squares);
    double all_weights = 0.0;
    for (size_t k = 0; k < width; ++k) {
        const double sum = totals.gradient[k], weight = totals.hessian[k];
        all_weights += weight;
        if (weight <= 0.0) continue;
        totals.impurity += deviations(squares[k], sum * sum / weight);
        if (params.l2_regularization == 0.0) totals.mean[k] = static_cast<float>(sum / weight);
        totals.base_score += score(sum * sum, weight, params.l2_regularization);
    }
    totals.weight = all_weights / channels.n_channels;
}

void Workspace::reduce_sums(NodeTotals& totals, std::vector<double>& squares) const {
    if (!reducer) return;
    reducer->reduce({SumOf::node_rows, &totals.n_rows, 1});
    std::vector<double> sums{totals.weight};
    std::vector<double>* const parts[] = {&totals.gradient, &totals.hessian, &squares};
    for (const auto* part : parts) sums.insert(sums.end(), part->begin(), part->end());
    reducer->reduce({SumOf::node_sums, sums.data(), 1, static_cast<int64_t>(sums.size())});
    totals.weight = sums[0];
    auto next = sums.begin() + 1;
    for (auto* part : parts) {
        std::copy_n(next, part->size(), part->begin());
        next += static_cast<int64_t>(part->size());
    }
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
    base_score = score(norm, weight, l2_regularization);
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
    double parts[16] = {};  // lane by lane, so that lanes are multiplied at once
    with_lanes(lanes, [&](auto width) {
        constexpr int N = decltype(width)::value;
        for (int32_t block = 0; block < n_blocks; ++block) {
            const float* const values = g.data + block * g.block_stride;
            const double* const sums = totals.gradient.data() + block * N;
            for (int k = 0; k < N; ++k) parts[k] += double{values[k]} * sums[k];
        }
    });
    for (double part : parts) product += part;
    return product;
}

}  // namespace polyleaf
