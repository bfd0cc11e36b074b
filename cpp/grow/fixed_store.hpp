// What trees in fixed point on the same binned features share: codes row by row, and memory that
// one tree leaves to the next.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "bin/byte_rows.hpp"
#include "grow/fixed_histograms.hpp"
#include "grow/fixed_rows.hpp"

namespace polyleaf {

// Fresh memory from the system takes long to be written to for the first time.
struct FixedBuffers {
    FixedRows rows;
    AlignedVector<int32_t> order, left, right;
    std::vector<std::unique_ptr<FixedSums>> sums;
};

class FixedStore {
  public:
    const ByteRows& codes(const BinnedView& binned, ThreadTeam& team) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!codes_) codes_ = std::make_unique<ByteRows>(binned, team);
        return *codes_;
    }
    std::unique_ptr<FixedBuffers> take() {
        std::lock_guard<std::mutex> lock(mutex_);
        if (buffers_.empty()) return std::make_unique<FixedBuffers>();
        std::unique_ptr<FixedBuffers> taken = std::move(buffers_.back());
        buffers_.pop_back();
        return taken;
    }
    void give_back(std::unique_ptr<FixedBuffers> buffers) {
        std::lock_guard<std::mutex> lock(mutex_);
        buffers_.push_back(std::move(buffers));
    }

  private:
    std::mutex mutex_;
    std::unique_ptr<ByteRows> codes_;
    std::vector<std::unique_ptr<FixedBuffers>> buffers_;
};

}  // namespace polyleaf
