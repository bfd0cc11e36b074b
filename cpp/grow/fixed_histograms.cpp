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

// a + sign * b. Sums fit; between features lies padding that nobody has set, where this may wrap.
inline int32_t wrapped(int32_t a, int32_t b, int sign) {
    const auto from = static_cast<uint32_t>(a), part = static_cast<uint32_t>(b);
    return static_cast<int32_t>(sign > 0 ? from + part : from - part);
}

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
    counts_at_ = size_ = block_size_ * layout.n_blocks();
    for (int32_t feature = 0; layout.counts_apart && feature < binned.n_features; ++feature) {
        count_offsets.push_back(static_cast<int32_t>(size_ - counts_at_));
        size_ += n_bins_[feature] + 1 + kPadding;
    }
}

FixedHistograms::FixedHistograms(const BinnedView& binned, const FixedRows& rows,
                                 const ByteRows& codes, ThreadTeam& team, Reducer* reducer)
    : shape(binned, rows.layout),
      rows_(rows),
      codes_(codes),
      team_(team),
      reducer_(reducer),
      kernels_(kernels_for(16)),
      n_channels_(channels_of(rows.layout)),
      full_(places_of(codes.full)),
      listed_(places_of(codes.listed.features)) {}

void FixedHistograms::build(const std::vector<Job>& jobs, const int32_t* order,
                            bool are_all_rows) {
    std::vector<Job> parts = divided(jobs);
    const int32_t n_full = static_cast<int32_t>(codes_.full.size());
    const int n_blocks = rows_.layout.n_blocks();
    const int64_t full_bytes =
        n_full * shape.block_size() / shape.n_features() * int64_t{sizeof(int32_t)};
    const int64_t n_fitting = (full_bytes + kPassBytes - 1) / kPassBytes;
    const int64_t n_alone = static_cast<int64_t>(parts.size()) * n_blocks;
    // As few passes as possible, but one for each thread; and one over lists.
    const int64_t n_groups = std::min<int64_t>(
        n_full, std::max(n_fitting, n_alone >= team_.size() ? 1 : int64_t{team_.size()}));
    const int64_t n_passes = n_groups + (codes_.listed.features.empty() ? 0 : 1);
    team_.parallel_for(n_alone * n_passes, [&](int64_t piece, int) {
        const Job& job = parts[piece / (n_blocks * n_passes)];
        const int block = static_cast<int>(piece / n_passes % n_blocks);
        const int64_t group = piece % n_passes;
        const int32_t* const rows = are_all_rows ? nullptr : order + job.range.begin;
        if (group == n_groups) return build_listed(job, block, rows);
        build_full(job, block, rows, static_cast<int32_t>(n_full * group / n_groups),
                   static_cast<int32_t>(n_full * (group + 1) / n_groups));
    });
    for (size_t i = jobs.size(); i < parts.size(); ++i) add(*parts[i].sums, *parts[i].whole);
    for (const Job& job : jobs)
        work += static_cast<uint64_t>(job.range.size()) * shape.n_features() * n_channels_;
    if (reducer_) reduce(jobs);
}

void FixedHistograms::build_full(const Job& job, int block, const int32_t* rows, int32_t first,
                                 int32_t last) const {
    FixedBuildTask task;
    task.codes = codes_.codes.data();
    task.stride = codes_.stride;
    task.rows = rows;
    task.first = job.range.begin;
    task.n_rows = job.range.size();
    task.values = rows_.block(block);
    task.offsets = full_.offsets.data();
    task.first_feature = first;
    task.last_feature = last;
    task.lanes = shape.lanes;
    task.sums = job.sums->data() + block * shape.block_size();
    task.counts = counts_of(job, block);
    task.count_offsets = full_.count_offsets.data();
    for (int32_t place = first; place < last; ++place) clear(job, block, codes_.full[place]);
    kernels_.build_fixed(task);
}

void FixedHistograms::build_listed(const Job& job, int block, const int32_t* rows) const {
    const ListedCodes& listed = codes_.listed;
    FixedListTask task;
    task.starts = listed.starts.data();
    task.entries = listed.entries.data();
    task.rows = rows;
    task.first = job.range.begin;
    task.n_rows = job.range.size();
    task.values = rows_.block(block);
    task.n_slots = static_cast<int32_t>(listed.features.size());
    task.usual = listed.usual.data();
    task.n_codes = listed_.n_codes.data();
    task.offsets = listed_.offsets.data();
    task.lanes = shape.lanes;
    task.sums = job.sums->data() + block * shape.block_size();
    task.counts = counts_of(job, block);
    task.count_offsets = listed_.count_offsets.data();
    for (int32_t feature : listed.features) clear(job, block, feature);
    kernels_.build_fixed_lists(task);
}

// Where rows are counted apart: with the first block.
int32_t* FixedHistograms::counts_of(const Job& job, int block) const {
    return block == 0 && shape.counts_apart() ? job.sums->data() + shape.counts_at() : nullptr;
}

// Also what pads the feature.
void FixedHistograms::clear(const Job& job, int block, int32_t feature) const {
    const int64_t n_codes = shape.n_bins(feature) + 1;
    std::fill_n(job.sums->data() + block * shape.block_size() + shape.offsets[feature],
                n_codes * shape.lanes + kPadding, 0);
    if (int32_t* const counts = counts_of(job, block))
        std::fill_n(counts + shape.count_offsets[feature], n_codes + kPadding, 0);
}

FixedHistograms::Places FixedHistograms::places_of(const std::vector<int32_t>& features) const {
    Places places;
    for (int32_t feature : features) {
        places.n_codes.push_back(static_cast<int32_t>(shape.n_bins(feature)) + 1);
        places.offsets.push_back(shape.offsets[feature]);
        if (shape.counts_apart()) places.count_offsets.push_back(shape.count_offsets[feature]);
    }
    return places;
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
    for (int64_t i = 0; i < shape.size(); ++i) to[i] = wrapped(to[i], from[i], 1);
}

void FixedHistograms::reduce(const std::vector<Job>& jobs) {
    int64_t width = shape.counts_apart() ? 1 : 0;
    for (int block = 0; block < rows_.layout.n_blocks(); ++block)
        width += rows_.layout.width(block);
    const int64_t n_records = shape.n_records() * static_cast<int64_t>(jobs.size());
    packed_.resize(n_records * width);
    auto for_each_record = [&](auto&& body) {
        int32_t* packed = packed_.data();
        for (const Job& job : jobs)
            for (int32_t feature = 0; feature < shape.n_features(); ++feature)
                for (int64_t bin = 0; bin <= shape.n_bins(feature); ++bin) {
                    if (shape.counts_apart())
                        body(job.sums->data() + shape.counts_at() + shape.count_offsets[feature] +
                                 bin,
                             packed++, 1);
                    for (int block = 0; block < rows_.layout.n_blocks(); ++block) {
                        int32_t* const record = job.sums->data() + block * shape.block_size() +
                                                shape.offsets[feature] + bin * shape.lanes;
                        const int used = rows_.layout.width(block);
                        body(record, packed, used);
                        packed += used;
                    }
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
    for (int64_t i = 0; i < shape.size(); ++i) to[i] = wrapped(to[i], from[i], -1);
}

std::vector<int32_t> FixedHistograms::totals_of(const FixedSums& sums) const {
    return totals_of(sums, 0, std::vector<uint8_t>(shape.n_bins(0) + 1, 1));
}

std::vector<int32_t> FixedHistograms::totals_of(const FixedSums& sums, int32_t feature,
                                                const std::vector<uint8_t>& is_left) const {
    const int n_blocks = rows_.layout.n_blocks();
    std::vector<int32_t> totals(static_cast<size_t>(n_blocks) * shape.lanes, 0);
    for (int block = 0; block < n_blocks; ++block) {
        const int32_t* const records = shape.records(sums.data(), block, feature);
        int32_t* const out = totals.data() + block * shape.lanes;
        for (int64_t bin = 0; bin <= shape.n_bins(feature); ++bin)
            for (int k = 0; is_left[bin] && k < shape.lanes; ++k)
                out[k] += records[bin * shape.lanes + k];
    }
    if (!shape.counts_apart()) return totals;
    totals.push_back(0);
    for (int64_t bin = 0; bin <= shape.n_bins(feature); ++bin)
        if (is_left[bin]) totals.back() += shape.counts(sums.data(), feature)[bin];
    return totals;
}

}  // namespace polyleaf
