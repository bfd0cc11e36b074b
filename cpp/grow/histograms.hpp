// Step 1 of a search by histograms: sums of the rows per bin, for four features at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "grow/feature_search.hpp"

namespace polyleaf {

constexpr size_t kTileBins = size_t{kTileFeatures} * kHistogramBins;

// Up to four dense numeric features that share a pass over the rows.
struct FeatureTile {
    int32_t features[kTileFeatures] = {};
    uint64_t ranks[kTileFeatures] = {};
    int n_features = 0;
    // Codes of the node's rows in their order, [row][lane]; null: to be looked up by row.
    const uint8_t* ordered = nullptr;
};

std::vector<FeatureTile> tiles_of(const std::vector<int32_t>& features);

// Rows per bin of a tile, [lane][256], and what they weigh.
struct TileCounts {
    uint32_t* rows = nullptr;
    float* weights = nullptr;
};

// Sums of one block of channels per bin of a tile, [lane][256][lanes].
struct TileSums {
    float* gradient = nullptr;
    float* hessian = nullptr;  // null unless weights are per channel
};

// Rows and weights per bin of all tiles of a node, [tile][lane][256].
class NodeCounts {
  public:
    void resize(size_t n_tiles) {
        rows_.resize(n_tiles * kTileBins);
        weights_.resize(n_tiles * kTileBins);
    }
    TileCounts of(size_t tile) {
        return {rows_.data() + tile * kTileBins, weights_.data() + tile * kTileBins};
    }

  private:
    std::vector<uint32_t> rows_;
    std::vector<float> weights_;
};

// All sums of a node: kept for the subtraction at its children, or handed to a Reducer.
class NodeHistograms {
  public:
    // What it takes: histogram_bytes (plan.hpp).
    NodeHistograms(const Workspace& workspace, size_t n_tiles, int32_t n_blocks);

    NodeCounts counts;
    // The tiles of a block lie one after the other.
    TileSums sums(size_t tile, int32_t block) {
        const size_t at = (block * n_tiles_ + tile) * block_size_;
        return {gradient_.data() + at, hessian_.empty() ? nullptr : hessian_.data() + at};
    }
    size_t n_tiles() const { return n_tiles_; }
    int32_t n_blocks() const { return n_blocks_; }

  private:
    size_t n_tiles_;
    int32_t n_blocks_;
    size_t block_size_;
    AlignedVector<float> gradient_, hessian_;
};

// One thread's passes over the rows of a node.
class HistogramBuilder {
  public:
    explicit HistogramBuilder(Workspace& workspace);

    // Copies the tile's codes of the node's rows in their order, [row][lane].
    void order_codes(const SearchNode& node, const FeatureTile& tile, uint8_t* out) const;
    // Rows per bin, and their weights where rows have any; otherwise `weigh` follows, once the
    // rows are those of all workers.
    void count(const SearchNode& node, const FeatureTile& tile, TileCounts counts);
    // Without a weight per row, a bin weighs as much as it has rows.
    void weigh(const FeatureTile& tile, TileCounts counts) const;
    // gradient, hessian: one block of the node's channels, [row][lanes]; hessian is read if the
    // weights are per channel.
    void build(const SearchNode& node, const FeatureTile& tile, const float* gradient,
               const float* hessian, TileSums sums) const;
    // The larger of two siblings: its parent's sums, in place, minus those of the smaller.
    void subtract(TileCounts small, TileCounts parent) const;
    void subtract(TileSums small, TileSums parent) const;

    uint64_t work = 0;  // (row, feature, channel) triples that were added up

  private:
    // Codes of a lane of the tile; an unused lane repeats the first.
    const uint8_t* codes_of(const FeatureTile& tile, int lane) const;
    void build_channels(const SearchNode& node, const FeatureTile& tile, const float* channels,
                        float* histogram) const;

    Workspace& workspace_;
    const Kernels& kernels_;
    size_t block_size_;
};

}  // namespace polyleaf
