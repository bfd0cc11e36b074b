// Channels and weights of all rows as small integers, the summands of histograms in fixed point.
//
// A row has a record of int16 numbers: 1 for the row itself (unless rows are counted apart), its
// weight if rows have one, and its channels (each followed by its weight in the second half of a
// block, where weights are per channel). A number times the unit of its lane, a power of two, is
// what it stands for. Units are as small as they can be while the sum of all sizes fits 31 bits:
// no sum over any rows of any workers overflows, and no sum depends on the order of its summands.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned.hpp"
#include "base/data.hpp"
#include "base/parallel.hpp"
#include "grow/reducer.hpp"
#include "kernels/fixed_kernels.hpp"

namespace polyleaf {

// Numbers that are summed in float64 as multiples of a power of two. The unit is chosen such that
// sums of `n` numbers up to `largest` are exact, hence the same in any order.
class ExactUnit {
  public:
    ExactUnit() = default;
    ExactUnit(double largest, int64_t n);
    // The multiple that is nearest. Adding and taking off 1.5 * 2^52 units rounds to it.
    double rounded(double value) const { return (value + magic_) - magic_; }
    double magic() const { return magic_; }

  private:
    double magic_ = 0.0;
};

// Which lane of which block holds what.
struct FixedLayout {
    FixedLayout() = default;
    FixedLayout(int32_t n_channels, HessianPolicy policy);

    struct Block {
        int n_head = 0;  // lanes before the gradients: rows and weight; first block only
        int32_t first_channel = 0, n_channels = 0;
    };
    bool per_channel = false, has_weight = false;
    // Numbers of rows are no lanes: they follow all blocks, one for each bin of each feature.
    bool counts_apart = false;
    int lanes = 0;
    std::vector<Block> blocks;

    int n_blocks() const { return static_cast<int>(blocks.size()); }
    // Lanes of a block that are in use.
    int width(int block) const {
        return blocks[block].n_head + blocks[block].n_channels * (per_channel ? 2 : 1);
    }
    int gradient_lane(int block, int k) const { return blocks[block].n_head + k; }
    int hessian_lane(int block, int k) const {
        return blocks[block].n_head + blocks[block].n_channels + k;
    }
};

class FixedRows {
  public:
    // Quantises the rows with these numbers. Other rows are left as they are.
    void fill(const BinnedView& binned, const ChannelsView& channels, const int32_t* rows,
              int64_t n_rows, bool measures_impurity, ThreadTeam& team, Reducer* reducer);
    // What the rounding of numbers may add to the impurity of so many rows.
    double rounding_of(int64_t n, double weight) const;

    FixedLayout layout;
    int64_t n_all = 0;              // rows of all workers
    std::vector<double> units;      // [block][lane]; 0: unused
    AlignedVector<int16_t> values;  // [block][row][lane]
    // Sum over channels of weight times squared value of each row, multiples of a unit; empty
    // if impurity is not measured.
    AlignedVector<double> squares;

    const int16_t* block(int block) const {
        return values.data() + block * n_source_rows_ * layout.lanes;
    }

  private:
    class Source;
    struct Scratch;
    // (n_lanes,) of all blocks: the largest size and the sum of sizes in each lane.
    void find_sizes(const Source& source, ThreadTeam& team, Reducer* reducer,
                    std::vector<double>& largest, std::vector<double>& sizes) const;
    void choose_units(const std::vector<double>& largest, const std::vector<double>& sizes);
    // Rows from begin to end of the source; gradients: theirs, (end - begin, n_channels); weights,
    // if they have some: as the source gives them.
    void quantise(const Source& source, int block, int64_t begin, int64_t end,
                  const float* gradients, const float* weights, const float* scales,
                  Scratch& scratch);
    void find_squares(const Source& source, ThreadTeam& team, Reducer* reducer);

    int64_t n_source_rows_ = 0;
};

}  // namespace polyleaf
