// The training rows in node order: every node owns a range of them, and a split reorders it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/aligned.hpp"
#include "base/data.hpp"
#include "base/parallel.hpp"
#include "grow/criterion.hpp"
#include "grow/plan.hpp"
#include "kernels/kernels.hpp"

namespace polyleaf {

class Reducer;
struct RowCodes;
struct Split;

// A search asks for Ctrl-C between features where one feature takes at least this many adds.
constexpr int64_t kAddsPerCheck = 4096;
// A pass over rows asks after this many of them.
constexpr int64_t kRowsPerCheck = 1 << 16;

// Deviations this small a share of the squares they are a difference of are rounding errors: of
// the float32 channels (6e-8, squared), and of the sums.
constexpr double kRoundingShare = 1e-12;

// Sum of squared deviations from the mean: the sum of squares minus what the mean explains of it.
inline double deviations(double square, double explained) {
    const double result = square - explained;
    return result > kRoundingShare * square ? result : 0.0;
}

struct NodeRange {
    int64_t begin = 0, end = 0;
    int64_t size() const { return end - begin; }
    bool contains(const NodeRange& other) const {
        return begin <= other.begin && other.end <= end;
    }
};

// Sums over a node's rows, those of all workers (see Reducer).
struct NodeTotals {
    int64_t n_rows = 0;
    double weight = 0.0;    // sum of h (per channel: mean over channels)
    double impurity = 0.0;  // sum over channels of sum h (y - mean)^2
    // What the criterion needs. After physical centring the sums are zero by construction.
    bool centred = false;
    std::vector<double> gradient, hessian;  // (n_blocks * lanes); hessian: per channel only
    std::vector<float> mean;                // zeros with regularisation
    double norm = 0.0;                      // |G|^2 of what the channels hold now
    double base_score = 0.0;                // criterion of the unsplit node
    // Where sums are derived from each other (SearchPlan::is_incremental).
    double square = 0.0;  // sum of h y^2
    int64_t n_fresh = 0;  // rows of the ancestor whose sums were made row by row

    // From the sums of weights, of h y^2 and the squared norm of G.
    void set(const NodeRange& range, double weight_sum, double square_sum, double norm_of_sum,
             double l2_regularization);
};

// Channels of a range of positions, [block][position][lane], in node order.
struct ChannelStore {
    NodeRange range;
    AlignedVector<float> gradient;
    AlignedVector<float> hessian;  // per channel only
};

struct PartitionScratch {
    std::vector<uint8_t> left;      // OUT side of each row before it was moved
    std::vector<uint64_t> bits;     // the same as bits
    std::vector<uint8_t> is_mover;  // zeros between calls
    AlignedVector<float> spilt_values;
    std::vector<int32_t> spilt_rows;
};

class Workspace {
  public:
    Workspace(const BinnedView& binned, const ChannelsView& channels, const int32_t* rows,
              int64_t n_rows, const GrowParams& params, Interrupt& interrupt,
              Reducer* reducer = nullptr);
    ~Workspace();

    const BinnedView& binned;
    const ChannelsView& channels;
    const GrowParams& params;
    Interrupt& interrupt;
    Reducer* const reducer;  // null: all rows are with this worker
    const int lanes;
    const int32_t n_blocks;
    const int64_t n_rows;
    const SearchPlan plan;

    std::vector<int32_t> rows;      // original row of each position
    std::vector<int32_t> position;  // position of each original row; incremental only
    AlignedVector<float> weights;   // (n_rows,) of the positions; shared policy only
    std::vector<double> products;   // (n_rows,) g_i . G of the node, where the criterion needs it
    std::vector<int32_t> feature_home;  // index among the dense features, or ~slot if sparse

    const RowCodes* row_codes = nullptr;  // for random cuts only

    // Code of row r of a dense feature: codes[dense_base(home) + r * kTileFeatures].
    int64_t dense_base(int32_t home) const {
        return home / kTileFeatures * binned.n_rows * kTileFeatures + home % kTileFeatures;
    }
    bool per_channel() const { return channels.policy == HessianPolicy::per_channel; }
    double row_weight(int64_t position) const {
        return channels.policy == HessianPolicy::shared ? weights[position] : 1.0;
    }

    // A side with no more than this share of its node's weight is what rounding leaves of nothing.
    double dust() const {
        if (channels.policy == HessianPolicy::unit) return 0.0;
        return channels.is_sparse() || params.double_precision ? kDustDouble : kDustFloat;
    }

    NodeCriterion criterion_of(const NodeTotals& totals) const {
        return {params.l2_regularization, totals.weight, totals.norm, totals.base_score, dust()};
    }

    // Copies the channels of a range of positions into a store, or one block of them into
    // out [position][lane]. hessian: the weights instead of the gradients; per channel only.
    void load(const NodeRange& range, ChannelStore& store) const;
    void load_block(const NodeRange& range, int32_t block, bool hessian, float* out) const;
    // Several blocks of gradients from `first` on, row by row where they come as they are.
    void load_blocks(const NodeRange& range, const Blocks& out, int32_t first) const;
    Blocks gradient_blocks(ChannelStore& store, const NodeRange& range) const;
    Blocks hessian_blocks(ChannelStore& store, const NodeRange& range) const;

    // Sums of the channels of a range, not relative to any mean; sums: (n_blocks * lanes,).
    void sum_channels(const NodeRange& range, ChannelStore& store, std::vector<double>& sums,
                      NodeTotals& totals) const;
    // g . G of the row at a position. labels: G of sparse labels, else it is in `totals`.
    double product_of(int64_t position, ChannelStore* store, const NodeTotals& totals,
                      const double* label_totals) const;

    // Sums of the node; store may be null: read from the source. `centre`: subtract the node's
    // mean from its channels, so that float32 sums stay exact in deep nodes; only without
    // regularisation, where the criterion does not change, and on one worker. `need_sums`: the
    // criterion needs gradient and mean, be they zero. `need_products`: fill `products` where the
    // channels are not centred. Not for sparse labels (see IncrementalSearch). team: null within a
    // parallel region.
    NodeTotals summarise(const NodeRange& range, ChannelStore* store, bool centre, bool need_sums,
                         bool need_products, ThreadTeam* team);

    // Stable partition of the range by the split; returns the first position of the right child.
    // store: may be null.
    int64_t partition(const NodeRange& range, const Split& split, ChannelStore* store,
                      PartitionScratch& scratch);
    // The same for channels that are centred, which they are in both children, too, with their
    // sums. left: rows that go there, as bits, or null. A child without the need has no sums.
    int64_t partition_centred(const NodeRange& range, const Split& split, const uint64_t* left,
                              ChannelStore& store, PartitionScratch& scratch,
                              const bool needs_sums[2], NodeTotals totals[2]);
    // Moves rows to the left or the right end of the range, in exchange for those that are there.
    // movers: places within the range. Returns the first position of the right child.
    int64_t move_rows(const NodeRange& range, const std::vector<uint32_t>& movers, bool to_left,
                      ChannelStore* store, std::vector<uint8_t>& is_mover);
    void decide_sides(const NodeRange& range, const Split& split,
                      std::vector<uint8_t>& left) const;

  private:
    const Kernels& kernels_;

    template <typename T>
    void load_values(const T* values, const NodeRange& range, int32_t block, float* out) const;
    // Whether channels are columns of the source in their order, neither scaled nor weighted.
    bool is_plain() const;
    void summarise_dense(const NodeRange& range, ChannelStore* store, ThreadTeam* team,
                         NodeTotals& totals) const;
    // As both of them together, in one go.
    void summarise_centred(const NodeRange& range, ChannelStore& store, bool need_sums,
                           NodeTotals& totals) const;
    double weight_of(const NodeRange& range) const;
    void summarise_per_channel(const NodeRange& range, ChannelStore& store,
                               NodeTotals& totals) const;
    // Makes rows, weight and sums those of all workers.
    void reduce_sums(NodeTotals& totals, std::vector<double>& squares) const;
    void centre_channels(const NodeRange& range, ChannelStore& store, NodeTotals& totals) const;
    void fill_products(const NodeRange& range, ChannelStore& store, const NodeTotals& totals);
    void swap_rows(int64_t a, int64_t b, ChannelStore* store);
};

}  // namespace polyleaf
