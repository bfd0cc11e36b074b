// Codes of the dense features row by row, and tables to find the code of a value: what random cuts
// of many features need.
#pragma once

#include <cstdint>
#include <vector>

#include "ramify/aligned.hpp"
#include "workspace.hpp"

namespace ramify {

// Codes of dense features in one byte each; row r starts at r * stride, dense feature `home` is
// its code number `home`.
struct RowCodes {
    explicit RowCodes(const Workspace& workspace);

    const uint8_t* of_row(int64_t row) const { return codes.data() + row * stride; }

    int64_t stride = 0;
    AlignedVector<uint8_t> codes;  // kCodeColumns of them may be read from any place
};

// What the kernels need to draw random cuts of dense features quickly.
class CutGuide {
  public:
    explicit CutGuide(const Workspace& workspace);
    const CutTables& tables() const { return tables_; }

  private:
    void add_feature(const BinnedView& binned, int32_t home);

    CutTables tables_;
    std::vector<int64_t> offsets_;
    std::vector<double> middle_, base_, scale_;
    std::vector<uint8_t> before_;
};

}  // namespace ramify
