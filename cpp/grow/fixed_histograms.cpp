#include "grow/fixed_histograms.hpp"

#include <algorithm>

namespace polyleaf {

namespace {

// The sums that one pass over rows writes to stay in the second-level cache.
constexpr int64_t kPassBytes = int64_t{768} << 10;
// Fewer rows are not worth sums of their own.
constexpr int64_t kLeastPartRows = 16384;
// Features lie this much apart: at a distance of a power of two, the same bin of all of them would
// fall into one set of the first-level cache.
constexpr int64_t kPadding = 64 / sizeof(int32_t);

int32_t channels_of(const FixedLayout& layout) {
    return layout.blocks.back().first_channel + layout.blocks.back().n_channels;
}

}  // namespace

FixedShape::FixedShape(const BinnedView& binned, const FixedLayout& layout)
    : offsets(binned.n_features), lanes(layout.lanes), n_bins_(binned.n_features) {
    for (int32_t feature = 0; feature < binned.n_features; ++feature) {
        n_bins_[feature] = binned.n_bins(feature);
        offsets[feature] = static_cast<int32_t>(block_size_);
        n_records_ += n_bins_[feature] + 1;
        block_size_ += (n_bins_[feature] + 1) * lanes + kPadding;
    }
    block_size_ = (block_size_ + kPadding - 1) / kPadding * kPadding;
    size_ = block_size_ * layout.n_blocks();
}

FixedHistograms::FixedHistograms(const BinnedView& binned, const FixedRows& rows,
                                 const ByteRows& codes, ThreadTeam& team, Reducer* reducer)
    : shape(binned, rows.layout),
      rows_(rows),
      codes_(codes),
      team_(team),
      reducer_(reducer),
      kernels_(kernels_for(16)),
      n_channels_(channels_of(rows.layout)) {}

void FixedHistograms::build(const std::vector<Job>& jobs, const int32_t* order,
                            bool are_all_rows) {
    std::vector<Job> parts = divided(jobs);
    const int32_t p = shape.n_features();
    const int n_blocks = rows_.layout.n_blocks();
    const int64_t block_bytes = shape.block_size() * int64_t{sizeof(int32_t)};
    const int64_t n_fitting = (block_bytes + kPassBytes - 1) / kPassBytes;
    const int64_t n_alone = static_cast<int64_t>(parts.size()) * n_blocks;
    // As few passes as possible, but one for each thread.
    const int64_t n_groups = std::min<int64_t>(
        p, std::max(n_fitting, n_alone >= team_.size() ? 1 : int64_t{team_.size()}));
    team_.parallel_for(n_alone * n_groups, [&](int64_t piece, int) {
        const Job& job = parts[piece / (n_blocks * n_groups)];
        const int block = static_cast<int>(piece / n_groups % n_blocks);
        const int64_t group = piece % n_groups;
        FixedBuildTask task;
        task.codes = codes_.codes.data();
        task.stride = codes_.stride;
        task.rows = are_all_rows ? nullptr : order + job.range.begin;
        task.first = job.range.begin;
        task.n_rows = job.range.size();
        task.values = rows_.block(block);
        task.offsets = shape.offsets.data();
        task.first_feature = static_cast<int32_t>(p * group / n_groups);
        task.last_feature = static_cast<int32_t>(p * (group + 1) / n_groups);
        task.lanes = shape.lanes;
        task.sums = job.sums->data() + block * shape.block_size();
        const int64_t begin = shape.offsets[task.first_feature];
        const int64_t end =
            task.last_feature == p ? shape.block_size() : shape.offsets[task.last_feature];
        std::fill(task.sums + begin, task.sums + end, 0);
        kernels_.build_fixed(task);
    });
    for (size_t i = jobs.size(); i < parts.size(); ++i) add(*parts[i].sums, *parts[i].whole);
    for (const Job& job : jobs) work += static_cast<uint64_t>(job.range.size()) * p * n_channels_;
    if (reducer_) reduce(jobs);
}

// Cuts the rows of large nodes into parts with sums of their own, one for each thread.
std::vector<FixedHistograms::Job> FixedHistograms::divided(const std::vector<Job>& jobs) {
    std::vector<Job> parts = jobs;
    int64_t n_rows = 0;
    for (const Job& job : jobs) n_rows += job.range.size();
    const int64_t share = std::max(n_rows / team_.size(), kLeastPartRows);
    size_t n_used = 0;
    for (size_t i = 0; i < jobs.size() && team_.size() > 1; ++i) {
        const NodeRange range = jobs[i].range;
        const int64_t n_parts = std::max<int64_t>(1, (range.size() + share / 2) / share);
        parts[i].range.end = range.begin + range.size() / n_parts;
        for (int64_t part = 1; part < n_parts; ++part) {
            if (n_used == spare_.size())
                spare_.push_back(std::make_unique<FixedSums>(static_cast<size_t>(shape.size())));
            parts.push_back({{range.begin + range.size() * part / n_parts,
                              range.begin + range.size() * (part + 1) / n_parts},
                             spare_[n_used++].get(),
                             jobs[i].sums});
        }
    }
    return parts;
}

void FixedHistograms::add(const FixedSums& part, FixedSums& whole) const {
    const int32_t* const __restrict from = part.data();
    int32_t* const __restrict to = whole.data();
    for (int64_t i = 0; i < shape.size(); ++i) to[i] += from[i];
}

void FixedHistograms::reduce(const std::vector<Job>& jobs) {
    int64_t width = 0;
    for (int block = 0; block < rows_.layout.n_blocks(); ++block)
        width += rows_.layout.width(block);
    const int64_t n_records = shape.n_records() * static_cast<int64_t>(jobs.size());
    packed_.resize(n_records * width);
    auto for_each_record = [&](auto&& body) {
        int32_t* packed = packed_.data();
        for (const Job& job : jobs)
            for (int32_t feature = 0; feature < shape.n_features(); ++feature)
                for (int64_t bin = 0; bin <= shape.n_bins(feature); ++bin)
                    for (int block = 0; block < rows_.layout.n_blocks(); ++block) {
                        int32_t* const record = job.sums->data() + block * shape.block_size() +
                                                shape.offsets[feature] + bin * shape.lanes;
                        const int used = rows_.layout.width(block);
                        body(record, packed, used);
                        packed += used;
                    }
    };
    for_each_record(
        [](int32_t* record, int32_t* packed, int used) { std::copy_n(record, used, packed); });
    reducer_->reduce({SumOf::bin_sums, packed_.data(), n_records, width});
    for_each_record(
        [](int32_t* record, int32_t* packed, int used) { std::copy_n(packed, used, record); });
}

void FixedHistograms::subtract(const FixedSums& part, FixedSums& parent) const {
    const int32_t* const __restrict from = part.data();
    int32_t* const __restrict to = parent.data();
    for (int64_t i = 0; i < shape.size(); ++i) to[i] -= from[i];
}

std::vector<int32_t> FixedHistograms::totals_of(const FixedSums& sums) const {
    return totals_of(sums, 0, std::vector<uint8_t>(shape.n_bins(0) + 1, 1));
}

std::vector<int32_t> FixedHistograms::totals_of(const FixedSums& sums, int32_t feature,
                                                const std::vector<uint8_t>& is_left) const {
    const int n_blocks = rows_.layout.n_blocks();
    std::vector<int32_t> totals(static_cast<size_t>(n_blocks) * shape.lanes, 0);
    for (int block = 0; block < n_blocks; ++block) {
        const int32_t* const records =
            sums.data() + block * shape.block_size() + shape.offsets[feature];
        int32_t* const out = totals.data() + block * shape.lanes;
        for (int64_t bin = 0; bin <= shape.n_bins(feature); ++bin)
            for (int k = 0; is_left[bin] && k < shape.lanes; ++k)
                out[k] += records[bin * shape.lanes + k];
    }
    return totals;
}

}  // namespace polyleaf
