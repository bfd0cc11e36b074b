// Adds up sums over the rows of several workers, before these sums decide anything.
//
// Each worker holds some of the rows. All have the same bins, parameters and seeds, and search the
// same node at the same time. A split from histograms depends on sums over rows only, and each of
// these sums passes here. For a node, in this order:
//
//   1. node_rows     int64   (1, 1)           number of rows
//   2. node_sums     float64 (1, 1 + c w)     weight, then w = n_blocks * lanes sums of the
//                                             gradients, of the Hessians (per channel only: c = 3,
//                                             otherwise c = 2) and of the squares
//      After these two, `Workspace::summarise` derives mean, impurity and base score.
//   3. bin_rows      uint32  (n_bins, 1)      rows per bin
//   4. bin_weights   float32 (n_bins, 1)      weight per bin; shared Hessians only
//   5. for each block of channels:
//      bin_gradients float32 (n_bins, width)  sums of the gradients per bin
//      bin_hessians  float32 (n_bins, width)  sums of the Hessians; per channel only
//
// Here n_bins = n_tiles * 4 * 256: all bins of the node's features, four features to a tile. The
// last block may use fewer lanes than it has, so its rows are `stride` apart. Of two siblings that
// are searched by subtraction, both pass 1 and 2, and only the smaller one (over all workers)
// passes 3 to 5.
//
// The number of blocks and their shapes depend on the data's columns, the channels and the
// parameters, never on a worker's rows: workers stay in step, even one without rows.
//
// Trees in fixed point (fixed_grower.hpp) grow on any number of workers. For a tree:
//
//   1. tree_rows     int64   (1, 1)           number of rows
//   2. largest       float64 (1, lanes)       largest size of each channel and weight: the maximum
//   3. sizes         float64 (1, lanes)       sums of the sizes, multiples of a common unit
//      From these three, each worker derives the same scale.
// and for nodes that are searched together, the smaller one of each pair of siblings:
//   4. bin_sums      int32   (n_bins, width)  rows, weight, gradients and Hessians per bin; n_bins
//                                             counts the bins of all features of all these nodes
// A round of boosting (boost/round.hpp) adds:
//   5. leaf_sums     float64 (n_leaves, 2 d)  weighted gradients, and weights or curvatures
//   6. loss          float64 (1, 1)           logistic loss only
//
// Float64 sums here are sums of multiples of a unit, so few that they are exact: they do not
// depend on the order of the workers either.
//
// What does not pass here: split finders other than these, which see the rows of one worker.
#pragma once

#include <cstdint>

namespace polyleaf {

enum class SumOf : uint8_t {
    node_rows,
    node_sums,
    bin_rows,
    bin_weights,
    bin_gradients,
    bin_hessians,
    tree_rows,
    largest,
    sizes,
    bin_sums,
    leaf_sums,
    loss,
};

enum class SumType : uint8_t { uint32, int32, int64, float32, float64 };

// How the numbers of several workers become one.
enum class ReduceBy : uint8_t { sum, maximum };

inline constexpr SumType type_of(const uint32_t*) { return SumType::uint32; }
inline constexpr SumType type_of(const int32_t*) { return SumType::int32; }
inline constexpr SumType type_of(const int64_t*) { return SumType::int64; }
inline constexpr SumType type_of(const float*) { return SumType::float32; }
inline constexpr SumType type_of(const double*) { return SumType::float64; }

// A matrix of sums, (n_rows, width), the rows `stride` entries apart.
struct SumBlock {
    template <typename T>
    SumBlock(SumOf what, T* data, int64_t n_rows, int64_t width = 1, int64_t stride = 0)
        : what(what),
          type(type_of(data)),
          data(data),
          n_rows(n_rows),
          width(width),
          stride(stride > 0 ? stride : width) {}

    SumOf what;
    SumType type;
    void* data;  // IN OUT
    int64_t n_rows, width, stride;
    int32_t channel_block = 0;  // of bin_gradients and bin_hessians
    ReduceBy by = ReduceBy::sum;
};

// With one worker there is no Reducer (a null pointer), and the search does not wait for any.
class Reducer {
  public:
    virtual ~Reducer() = default;
    // Replaces each sum of this worker by that of all workers, which must get the same bits.
    // Called by the thread that searches the node, outside of parallel regions. May throw.
    virtual void reduce(const SumBlock& block) = 0;
};

}  // namespace polyleaf
