// Codes of the dense features row by row, and tables to find the code of a value: what random cuts
// of many features need.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned.hpp"
#include "base/data.hpp"
#include "base/parallel.hpp"
#include "grow/grower.hpp"
#include "grow/random_cut.hpp"
#include "kernels/kernels.hpp"

namespace polyleaf {

// Codes of dense features in one byte each; row r starts at r * stride, dense feature `home` is
// its code number `home`.
struct RowCodes {
    RowCodes(const BinnedView& binned, Interrupt& interrupt);

    const uint8_t* of_row(int64_t row) const { return codes.data() + row * stride; }

    int64_t stride = 0;
    AlignedVector<uint8_t> codes;  // kCodeColumns of them may be read from any place
};

// Random cuts of dense features, many at a time.
class CutGuide {
  public:
    explicit CutGuide(const BinnedView& binned);

    const CutTables& tables() const { return tables_; }
    // Whether the tables do not tell where the bins of a dense feature lie.
    bool is_irregular(int32_t home) const { return is_irregular_[home] != 0; }

    // Cuts between a first and a last code of each feature, at a share of the way between them;
    // limits: OUT the last code on the left.
    void find(const Kernels& kernels, int n_cuts, const int32_t* homes, const double* shares,
              const uint8_t* first, const uint8_t* last, uint8_t* limits) const;
    // Whether a code between first and last is on the left of such a cut.
    bool is_left(int32_t home, double share, uint8_t first, uint8_t last, uint8_t code) const;
    // Makes the thresholds of random cuts, and finds the limits that were left for later.
    void finish(const Kernels& kernels, const std::vector<int32_t>& feature_home,
                std::vector<TreeNode>& nodes) const;

  private:
    // Up to kCodeColumns of them.
    void finish_some(const Kernels& kernels, const std::vector<int32_t>& feature_home,
                     TreeNode* const* nodes, int n_nodes) const;
    void find_limits(const Kernels& kernels, const std::vector<int32_t>& feature_home,
                     TreeNode* const* nodes, int n_nodes) const;
    bool add_feature(int32_t home);

    BinnedView binned_;
    CutTables tables_;
    std::vector<uint32_t> places_, middles_;
    std::vector<uint8_t> before_;
    // Features whose bins are too far apart, or endless, for places in 32 bits.
    std::vector<uint8_t> is_irregular_;
    bool has_irregular_ = false;
};

struct CutData {
    CutData(const BinnedView& binned, Interrupt& interrupt)
        : codes(binned, interrupt), guide(binned) {}
    RowCodes codes;
    CutGuide guide;
};

}  // namespace polyleaf
