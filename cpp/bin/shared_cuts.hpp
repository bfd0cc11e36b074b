// What random cuts need of binned features beyond their codes: made once, for all trees on them.
#pragma once

#include <memory>
#include <mutex>

#include "base/data.hpp"
#include "base/parallel.hpp"

namespace polyleaf {

struct CutData;

class SharedCuts {
  public:
    SharedCuts();
    ~SharedCuts();

    // Made by the first that asks; any thread may.
    const CutData& get(const BinnedView& binned, Interrupt& interrupt);

  private:
    std::mutex mutex_;
    std::unique_ptr<CutData> data_;
};

}  // namespace polyleaf
