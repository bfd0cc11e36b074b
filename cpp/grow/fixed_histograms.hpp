// Histograms in fixed point: sums of all features of a node, built, packed for a Reducer, and
// subtracted.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/aligned.hpp"
#include "bin/byte_rows.hpp"
#include "grow/fixed_rows.hpp"
#include "grow/reducer.hpp"
#include "grow/workspace.hpp"
#include "kernels/kernels.hpp"

namespace polyleaf {

// Where the sums of every feature lie: a record for each of its bins, and one for missing values.
class FixedShape {
  public:
    FixedShape() = default;
    FixedShape(const BinnedView& binned, const FixedLayout& layout);

    int32_t n_features() const { return static_cast<int32_t>(offsets.size()); }
    int64_t n_bins(int32_t feature) const { return n_bins_[feature]; }
    // Numbers of one block, and of all blocks.
    int64_t block_size() const { return block_size_; }
    int64_t size() const { return size_; }
    int64_t n_records() const { return n_records_; }

    // Sums of one node, and of one of its blocks, of a feature.
    const int32_t* records(const int32_t* sums, int block, int32_t feature) const {
        return sums + block * block_size_ + offsets[feature];
    }
    // Rows in each bin of a feature, `count_stride` numbers apart.
    const int32_t* counts(const int32_t* sums, int32_t feature) const {
        return sums + (counts_apart() ? counts_at_ + count_offsets[feature] : offsets[feature]);
    }
    int count_stride() const { return counts_apart() ? 1 : lanes; }
    bool counts_apart() const { return !count_offsets.empty(); }
    int64_t counts_at() const { return counts_at_; }

    std::vector<int32_t> offsets;        // (n_features,) in a block
    std::vector<int32_t> count_offsets;  // (n_features,) behind all blocks; empty: not apart
    int lanes = 0;

  private:
    std::vector<int64_t> n_bins_;
    int64_t block_size_ = 0, counts_at_ = 0, size_ = 0, n_records_ = 0;
};

// The sums of one node, [block][feature][bin][lane]; then [feature][bin] if counts lie apart.
using FixedSums = AlignedVector<int32_t>;

class FixedHistograms {
  public:
    FixedHistograms(const BinnedView& binned, const FixedRows& rows, const ByteRows& codes,
                    ThreadTeam& team, Reducer* reducer);

    // A node whose sums are wanted.
    struct Job {
        NodeRange range;  // of `order`
        FixedSums* sums = nullptr;
        FixedSums* whole = nullptr;  // of a part of the rows: those of all of them
    };
    // order: rows, node after node. All sums are those of all workers afterwards.
    void build(const std::vector<Job>& jobs, const int32_t* order, bool are_all_rows);
    // parent becomes what is left of it.
    void subtract(const FixedSums& part, FixedSums& parent) const;
    // Sums of all rows of a node, or of those that a split sends left, (n_blocks * lanes), and
    // their number if counts lie apart.
    std::vector<int32_t> totals_of(const FixedSums& sums) const;
    std::vector<int32_t> totals_of(const FixedSums& sums, int32_t feature,
                                   const std::vector<uint8_t>& is_left) const;

    const FixedShape shape;
    uint64_t work = 0;  // (row, feature, channel) triples that were added up

  private:
    // Where the sums of some features lie.
    struct Places {
        std::vector<int32_t> n_codes, offsets, count_offsets;
    };
    Places places_of(const std::vector<int32_t>& features) const;
    // Sums of features with codes for all rows, by place, and of listed ones.
    void build_full(const Job& job, int block, const int32_t* rows, int32_t first,
                    int32_t last) const;
    void build_listed(const Job& job, int block, const int32_t* rows) const;
    int32_t* counts_of(const Job& job, int block) const;
    void clear(const Job& job, int block, int32_t feature) const;
    std::vector<Job> divided(const std::vector<Job>& jobs);
    void add(const FixedSums& part, FixedSums& whole) const;
    void reduce(const std::vector<Job>& jobs);

    const FixedRows& rows_;
    const ByteRows& codes_;
    ThreadTeam& team_;
    Reducer* const reducer_;
    const Kernels& kernels_;
    const int32_t n_channels_;
    const Places full_, listed_;
    std::vector<std::unique_ptr<FixedSums>> spare_;  // for parts of nodes
    std::vector<int32_t> packed_;
};

}  // namespace polyleaf
