// Divides the rows of many nodes between their children, all threads at once.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned.hpp"
#include "base/data.hpp"
#include "base/parallel.hpp"
#include "bin/byte_rows.hpp"
#include "grow/workspace.hpp"

namespace polyleaf {

class FixedPartition {
  public:
    FixedPartition(const BinnedView& binned, const ByteRows& codes, ThreadTeam& team,
                   AlignedVector<int32_t>& order, AlignedVector<int32_t>& left,
                   AlignedVector<int32_t>& right);

    struct Job {
        NodeRange range;
        int32_t feature = 0;
        std::vector<uint8_t> is_left;  // (n_bins + 1,) by code; the last is for missing values
        int64_t middle = 0;            // OUT first position of the right child
    };
    // Stable: rows that ascend in a node ascend in its children.
    void run(std::vector<Job>& jobs);

  private:
    struct Chunk {
        int32_t job = 0;
        NodeRange range;
        int64_t n_left = 0;
    };
    void decide(const Job& job, Chunk& chunk);

    const BinnedView& binned_;
    const ByteRows& codes_;
    ThreadTeam& team_;
    AlignedVector<int32_t>&order_, &left_, &right_;
    std::vector<int32_t> home_;  // place among the dense features, or -1
};

}  // namespace polyleaf
