#include "grow/fixed_rows.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.hpp"

namespace polyleaf {

namespace {

// Rows that one thread reads at a time: their channels stay in the second-level cache.
constexpr int64_t kChunkRows = 4096;
constexpr double kLargestNumber = 32767.0;
constexpr double kLargestSum = 2147483647.0;
// Channels of a block where there are many.
constexpr int kManyLanes = 16;

int64_t n_chunks(int64_t n_rows) { return (n_rows + kChunkRows - 1) / kChunkRows; }

// The largest power of two that is not above a positive number.
double power_of_two_below(double number) {
    int exponent = 0;
    std::frexp(number, &exponent);
    return std::ldexp(1.0, exponent - 1);
}

void reduce(Reducer* reducer, SumOf what, std::vector<double>& numbers, ReduceBy by) {
    if (!reducer) return;
    SumBlock block(what, numbers.data(), 1, static_cast<int64_t>(numbers.size()));
    block.by = by;
    reducer->reduce(block);
}

}  // namespace

ExactUnit::ExactUnit(double largest, int64_t n) {
    int exponent = 0;
    std::frexp(largest * static_cast<double>(std::max<int64_t>(n, 1)), &exponent);
    if (largest > 0.0) magic_ = std::ldexp(1.5, 52 + exponent - 51);
}

FixedLayout::FixedLayout(int32_t n_channels, HessianPolicy policy)
    : per_channel(policy == HessianPolicy::per_channel),
      has_weight(policy == HessianPolicy::shared) {
    // Channels that fill whole registers would need one more for the count alone.
    counts_apart = policy == HessianPolicy::unit && n_channels % kManyLanes == 0;
    const int n_head = has_weight ? 2 : counts_apart ? 0 : 1, per = per_channel ? 2 : 1;
    const int64_t n_sums = n_head + int64_t{n_channels} * per;
    lanes = n_sums <= kMostFixedLanes ? fixed_lanes(static_cast<int>(n_sums)) : kManyLanes;
    for (int32_t first = 0; first < n_channels;) {
        const int head = first == 0 ? n_head : 0;
        const int32_t n = std::min(n_channels - first, int32_t{(lanes - head) / per});
        blocks.push_back({head, first, n});
        first += n;
    }
}

// The channels and weights of rows, as floats.
class FixedRows::Source {
  public:
    Source(const BinnedView& binned, const ChannelsView& channels, const int32_t* rows,
           int64_t n_rows)
        : channels(channels), rows(rows), n_rows(n_rows) {
        are_all = n_rows == binned.n_rows;  // they ascend
        is_plain_ = channels.values_f32 && !channels.shift && !channels.factor &&
                    !channels.columns && channels.n_columns == channels.n_channels &&
                    (channels.is_gradient || channels.policy == HessianPolicy::unit);
    }

    // Gradients of the rows from begin to end, (end - begin, n_channels); maybe in `scratch`.
    const float* gradients(int64_t begin, int64_t end, std::vector<float>& scratch) const {
        const int32_t q = channels.n_channels;
        if (is_plain_ && are_all) return channels.values_f32 + begin * q;
        scratch.resize((end - begin) * q);
        if (is_plain_ && q == 1) {
            for (int64_t i = begin; i < end; ++i)
                scratch[i - begin] = channels.values_f32[rows[i]];
            return scratch.data();
        }
        for (int64_t i = begin; i < end; ++i) {
            float* const out = scratch.data() + (i - begin) * q;
            if (is_plain_)
                std::copy_n(channels.values_f32 + int64_t{rows[i]} * q, q, out);
            else if (channels.values_f32)
                load(channels.values_f32, rows[i], out);
            else
                load(channels.values_f64, rows[i], out);
        }
        return scratch.data();
    }
    // Weights of the same rows: one each, or one per channel.
    const float* weights(int64_t begin, int64_t end, std::vector<float>& scratch) const {
        const int64_t width = n_weights();
        if (are_all) return channels.hessian + begin * width;
        scratch.resize((end - begin) * width);
        for (int64_t i = begin; i < end; ++i)
            for (int64_t k = 0; k < width; ++k)
                scratch[(i - begin) * width + k] = channels.hessian[rows[i] * width + k];
        return scratch.data();
    }
    int64_t n_weights() const {
        return channels.policy == HessianPolicy::per_channel ? channels.n_channels : 1;
    }
    float row_weight(int64_t i) const { return channels.hessian[rows[i]]; }
    const float* entry_weights(int64_t i) const {
        return channels.hessian + int64_t{rows[i]} * channels.n_channels;
    }

    const ChannelsView& channels;
    const int32_t* rows;
    int64_t n_rows;
    bool are_all = false;  // of the data, in their order

  private:
    template <typename T>
    void load(const T* values, int64_t row, float* out) const {
        const bool weighs = channels.policy == HessianPolicy::shared && !channels.is_gradient;
        const bool weighs_entries =
            channels.policy == HessianPolicy::per_channel && !channels.is_gradient;
        const T* const source = values + row * channels.n_columns;
        const double weight = weighs ? channels.hessian[row] : 1.0;
        for (int32_t k = 0; k < channels.n_channels; ++k) {
            const double value = source[channels.columns ? channels.columns[k] : k];
            const double shift = channels.shift ? channels.shift[k] : 0.0;
            const double factor = channels.factor ? channels.factor[k] : 1.0;
            const double entry =
                weighs_entries ? channels.hessian[row * channels.n_channels + k] : weight;
            out[k] = static_cast<float>((value - shift) * factor * entry);
        }
    }

    bool is_plain_ = false;
};

// Numbers of some rows, before they go to their places.
struct FixedRows::Scratch {
    std::vector<int16_t> records, weights;
};

void FixedRows::find_sizes(const Source& source, ThreadTeam& team, Reducer* reducer,
                           std::vector<double>& largest, std::vector<double>& sizes) const {
    const int32_t q = source.channels.n_channels;
    // Gradients, Hessians, weight.
    const size_t width = 2 * static_cast<size_t>(q) + 1;
    largest.assign(width, 0.0);
    sizes.assign(width, 0.0);
    const Kernels& kernels = kernels_for(16);
    std::vector<std::vector<float>> most(team.size(), std::vector<float>(width, 0.0f));
    std::vector<std::vector<double>> parts(team.size(), std::vector<double>(width, 0.0));
    std::vector<double> magic(width, 0.0);
    std::vector<std::vector<float>> scratch(team.size());
    auto measure = [&](bool is_sum) {
        team.parallel_for(n_chunks(source.n_rows), [&](int64_t chunk, int thread) {
            const int64_t begin = chunk * kChunkRows;
            const int64_t end = std::min(source.n_rows, begin + kChunkRows);
            auto add = [&](const float* values, int64_t n_rows, int64_t n_columns, size_t at) {
                SizesTask task{values, n_rows, n_columns, nullptr, nullptr, nullptr};
                if (is_sum) {
                    task.magic = magic.data() + at;
                    task.sums = parts[thread].data() + at;
                } else {
                    task.largest = most[thread].data() + at;
                }
                kernels.measure_sizes(task);
            };
            add(source.gradients(begin, end, scratch[thread]), end - begin, q, 0);
            if (layout.per_channel || layout.has_weight)
                add(source.weights(begin, end, scratch[thread]), end - begin, source.n_weights(),
                    layout.per_channel ? q : 2 * q);
        });
    };
    measure(false);
    for (const auto& of_thread : most)
        for (size_t k = 0; k < width; ++k) largest[k] = std::max(largest[k], double{of_thread[k]});
    reduce(reducer, SumOf::largest, largest, ReduceBy::maximum);
    for (size_t k = 0; k < width; ++k) magic[k] = ExactUnit(largest[k], n_all).magic();
    measure(true);
    for (const auto& of_thread : parts)
        for (size_t k = 0; k < width; ++k) sizes[k] += of_thread[k];
    reduce(reducer, SumOf::sizes, sizes, ReduceBy::sum);
}

void FixedRows::choose_units(const std::vector<double>& largest,
                             const std::vector<double>& sizes) {
    // Each number is off by half a unit at most.
    const double room = kLargestSum - 1024.0 - static_cast<double>(n_all);
    auto unit_of = [&](size_t at) {
        if (!(largest[at] > 0.0)) return 1.0;
        // Beyond that, float32 has no such scale.
        const double most = std::min(kLargestNumber / largest[at], 0x1.0p120);
        return 1.0 / power_of_two_below(std::min(most, room / sizes[at]));
    };
    units.assign(static_cast<size_t>(layout.n_blocks()) * layout.lanes, 0.0);
    const size_t q = (largest.size() - 1) / 2;
    for (int b = 0; b < layout.n_blocks(); ++b) {
        double* const of_block = units.data() + b * layout.lanes;
        const FixedLayout::Block& block = layout.blocks[b];
        if (block.n_head > 0) of_block[0] = 1.0;
        if (block.n_head > 1) of_block[1] = unit_of(2 * q);
        for (int k = 0; k < block.n_channels; ++k) {
            of_block[layout.gradient_lane(b, k)] = unit_of(block.first_channel + k);
            if (layout.per_channel)
                of_block[layout.hessian_lane(b, k)] = unit_of(q + block.first_channel + k);
        }
    }
}

// Rows that are the same differ by one unit at most.
double FixedRows::rounding_of(int64_t n, double weight) const {
    double squares = 0.0;
    for (int b = 0; b < layout.n_blocks(); ++b)
        for (int k = 0; k < layout.blocks[b].n_channels; ++k) {
            const double unit = units[b * layout.lanes + layout.gradient_lane(b, k)];
            squares += unit * unit;
        }
    return weight > 0.0 ? squares * static_cast<double>(n) * static_cast<double>(n) / weight : 0.0;
}

void FixedRows::find_squares(const Source& source, ThreadTeam& team, Reducer* reducer) {
    const int32_t q = source.channels.n_channels;
    squares.resize(n_source_rows_);
    std::vector<std::vector<float>> scratch(team.size());
    std::vector<double> most(team.size(), 0.0);
    auto for_each_row = [&](auto&& body) {
        team.parallel_for(n_chunks(source.n_rows), [&](int64_t chunk, int thread) {
            const int64_t begin = chunk * kChunkRows;
            const int64_t end = std::min(source.n_rows, begin + kChunkRows);
            body(begin, end, thread);
        });
    };
    for_each_row([&](int64_t begin, int64_t end, int thread) {
        const float* g = source.gradients(begin, end, scratch[thread]);
        for (int64_t i = begin; i < end; ++i, g += q) {
            double square = 0.0;
            for (int32_t k = 0; k < q; ++k) {
                double weight = 1.0;
                if (layout.has_weight) weight = source.row_weight(i);
                if (layout.per_channel) weight = source.entry_weights(i)[k];
                if (weight > 0.0) square += double{g[k]} * g[k] / weight;
            }
            squares[source.rows[i]] = square;
            most[thread] = std::max(most[thread], square);
        }
    });
    std::vector<double> largest{*std::max_element(most.begin(), most.end())};
    reduce(reducer, SumOf::largest, largest, ReduceBy::maximum);
    const ExactUnit unit(largest[0], n_all);
    for_each_row([&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i)
            squares[source.rows[i]] = unit.rounded(squares[source.rows[i]]);
    });
}

void FixedRows::quantise(const Source& source, int b, int64_t begin, int64_t end,
                         const float* gradients, const float* weights, const float* scales,
                         Scratch& scratch) {
    const Kernels& kernels = kernels_for(16);
    const FixedLayout::Block& block = layout.blocks[b];
    const int lanes = layout.lanes;
    const int32_t q = source.channels.n_channels;
    int16_t* const first = values.data() + b * n_source_rows_ * lanes;
    QuantiseTask task;
    task.scales = scales + block.n_head;
    task.value_stride = q;
    task.n_values = block.n_channels;
    task.n_head = block.n_head;
    task.lanes = lanes;
    if (source.are_all && !layout.has_weight && !layout.per_channel) {
        task.values = gradients + block.first_channel;
        task.n_rows = end - begin;
        task.numbers = first + begin * lanes;
        return kernels.quantise(task);
    }
    scratch.records.resize((end - begin) * lanes);
    task.values = gradients + block.first_channel;
    task.n_rows = end - begin;
    task.numbers = scratch.records.data();
    kernels.quantise(task);
    // A weight stands behind the count, those of channels behind the gradients.
    const int n_weights = layout.per_channel ? block.n_channels : block.n_head - 1;
    if (layout.per_channel || block.n_head > 1) {
        const int lane = layout.per_channel ? layout.hessian_lane(b, 0) : 1;
        scratch.weights.resize((end - begin) * n_weights);
        task.values = weights + (layout.per_channel ? block.first_channel : 0);
        task.scales = scales + lane;
        task.value_stride = source.n_weights();
        task.n_values = task.lanes = n_weights;
        task.n_head = 0;
        task.numbers = scratch.weights.data();
        kernels.quantise(task);
        for (int64_t i = 0; i < end - begin; ++i)
            std::copy_n(scratch.weights.data() + i * n_weights, n_weights,
                        scratch.records.data() + i * lanes + lane);
    }
    for (int64_t i = begin; i < end; ++i)
        std::copy_n(scratch.records.data() + (i - begin) * lanes, lanes,
                    first + int64_t{source.rows[i]} * lanes);
}

void FixedRows::fill(const BinnedView& binned, const ChannelsView& channels, const int32_t* rows,
                     int64_t n_rows, bool measures_impurity, ThreadTeam& team, Reducer* reducer) {
    const Source source(binned, channels, rows, n_rows);
    layout = FixedLayout(channels.n_channels, channels.policy);
    n_source_rows_ = binned.n_rows;
    n_all = n_rows;
    if (reducer) reducer->reduce({SumOf::tree_rows, &n_all, 1});
    std::vector<double> largest, sizes;
    find_sizes(source, team, reducer, largest, sizes);
    choose_units(largest, sizes);
    const int lanes = layout.lanes;
    values.resize(static_cast<size_t>(layout.n_blocks()) * n_source_rows_ * lanes);
    std::vector<float> scales(units.size(), 0.0f);
    for (size_t k = 0; k < units.size(); ++k)
        if (units[k] > 0.0) scales[k] = static_cast<float>(1.0 / units[k]);
    const bool weighs = layout.has_weight || layout.per_channel;
    std::vector<Scratch> scratch(team.size());
    std::vector<std::vector<float>> gradients(team.size()), weights(team.size());
    team.parallel_for(n_chunks(n_rows), [&](int64_t chunk, int thread) {
        const int64_t begin = chunk * kChunkRows, end = std::min(n_rows, begin + kChunkRows);
        const float* const all = source.gradients(begin, end, gradients[thread]);
        const float* const by = weighs ? source.weights(begin, end, weights[thread]) : nullptr;
        for (int b = 0; b < layout.n_blocks(); ++b)
            quantise(source, b, begin, end, all, by, scales.data() + b * layout.lanes,
                     scratch[thread]);
    });
    squares.clear();
    if (measures_impurity) find_squares(source, team, reducer);
}

}  // namespace polyleaf
