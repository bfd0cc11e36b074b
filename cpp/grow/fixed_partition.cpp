#include "grow/fixed_partition.hpp"

#include <algorithm>

namespace polyleaf {

namespace {

// Rows that one thread divides at a time.
constexpr int64_t kChunkRows = 16384;

}  // namespace

FixedPartition::FixedPartition(const BinnedView& binned, const ByteRows& codes, ThreadTeam& team,
                               AlignedVector<int32_t>& order, AlignedVector<int32_t>& left,
                               AlignedVector<int32_t>& right)
    : binned_(binned),
      codes_(codes),
      team_(team),
      order_(order),
      left_(left),
      right_(right),
      home_(binned.n_features, -1) {
    for (int32_t i = 0; i < binned.n_dense; ++i) home_[binned.dense_features[i]] = i;
    left_.resize(order.size());
    right_.resize(order.size());
}

// Rows of the left child go to the front of `left`, those of the right to the front of `right`.
void FixedPartition::decide(const Job& job, Chunk& chunk) {
    // Each row is written to both, and only the place of its own side moves on.
    uint8_t sides[256];
    std::copy(job.is_left.begin(), job.is_left.end(), sides);
    const int32_t home = home_[job.feature];
    const uint8_t* codes = codes_.codes.data() + codes_.places[job.feature];
    int64_t stride = codes_.stride;
    if (home >= 0) {  // four features to a row: fewer cache lines
        codes = binned_.codes_u8 + home / kTileFeatures * binned_.n_rows * kTileFeatures +
                home % kTileFeatures;
        stride = kTileFeatures;
        sides[kMissingU8] = job.is_left.back();
    }
    const int32_t* const rows = order_.data();
    int32_t *left = left_.data() + chunk.range.begin, *right = right_.data() + chunk.range.begin;
    for (int64_t i = chunk.range.begin; i < chunk.range.end; ++i) {
        const int32_t row = rows[i];
        const uint8_t side = sides[codes[row * stride]];
        *left = row;
        *right = row;
        left += side;
        right += 1 - side;
    }
    chunk.n_left = left - (left_.data() + chunk.range.begin);
}

void FixedPartition::run(std::vector<Job>& jobs) {
    std::vector<Chunk> chunks;
    for (size_t j = 0; j < jobs.size(); ++j)
        for (int64_t begin = jobs[j].range.begin; begin < jobs[j].range.end; begin += kChunkRows)
            chunks.push_back({static_cast<int32_t>(j),
                              {begin, std::min(begin + kChunkRows, jobs[j].range.end)},
                              0});
    const int64_t n_chunks = static_cast<int64_t>(chunks.size());
    team_.parallel_for(n_chunks, [&](int64_t c, int) { decide(jobs[chunks[c].job], chunks[c]); });
    std::vector<int64_t> left_at(chunks.size()), right_at(chunks.size());
    for (Job& job : jobs) job.middle = job.range.begin;
    for (const Chunk& chunk : chunks) jobs[chunk.job].middle += chunk.n_left;
    for (size_t c = 0; c < chunks.size(); ++c) {
        const Chunk& chunk = chunks[c];
        const bool is_first = c == 0 || chunks[c - 1].job != chunk.job;
        const Job& job = jobs[chunk.job];
        left_at[c] = is_first ? job.range.begin : left_at[c - 1] + chunks[c - 1].n_left;
        right_at[c] = is_first
                          ? job.middle
                          : right_at[c - 1] + chunks[c - 1].range.size() - chunks[c - 1].n_left;
    }
    team_.parallel_for(n_chunks, [&](int64_t c, int) {
        const Chunk& chunk = chunks[c];
        std::copy_n(left_.data() + chunk.range.begin, chunk.n_left, order_.data() + left_at[c]);
        std::copy_n(right_.data() + chunk.range.begin, chunk.range.size() - chunk.n_left,
                    order_.data() + right_at[c]);
    });
}

}  // namespace polyleaf
