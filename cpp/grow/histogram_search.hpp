// Scores the splits of four features at a time from histograms: large nodes, uint8 codes.
#pragma once

#include <cstdint>
#include <vector>

#include "grow/feature_search.hpp"

namespace polyleaf {

// Up to four dense numeric features that share a pass over the rows.
struct FeatureTile {
    int32_t features[kTileFeatures] = {};
    uint64_t ranks[kTileFeatures] = {};
    int n_features = 0;
    // Codes of the node's rows in their order, [row][lane]; null: to be looked up by row.
    const uint8_t* ordered = nullptr;
};

// All histograms of a node, tile by tile, kept for the subtraction at its children.
// A cluster driver would reduce these arrays over machines before the scan.
class NodeHistograms {
  public:
    NodeHistograms(const Workspace& workspace, size_t n_tiles);
    static size_t bytes(const Workspace& workspace, size_t n_tiles);

    float* gradient(size_t tile, int32_t block) {
        return gradient_.data() + (tile * n_blocks_ + block) * block_size_;
    }
    float* hessian(size_t tile, int32_t block) {
        return hessian_.data() + (tile * n_blocks_ + block) * block_size_;
    }
    uint32_t* counts(size_t tile) { return counts_.data() + tile * kTileFeatures * 256; }
    float* weights(size_t tile) { return weights_.data() + tile * kTileFeatures * 256; }

  private:
    int32_t n_blocks_;
    size_t block_size_;
    AlignedVector<float> gradient_, hessian_;
    std::vector<float> weights_;
    std::vector<uint32_t> counts_;
};

// What the scans of a tile add up to, for one node.
struct TileScores {
    int n_passes = 1;                        // 2 if a feature has missing values in the node
    std::vector<float> norms, products;      // [pass][lane][256]; products: regularisation only
    std::vector<float> prefix_weights;       // [pass][lane][256]
    std::vector<uint32_t> counts;            // [lane][256]
    std::vector<float> weights;              // [lane][256]
    float missing_norm[kTileFeatures] = {};  // A = the missing rows
    float missing_product[kTileFeatures] = {};
};

// Life of a tile: start (counts), then every block of channels (build or subtract, and scan while
// it is hot), then choose. A second driver may add the blocks of several machines in between.
class HistogramSearch {
  public:
    explicit HistogramSearch(Workspace& workspace);

    void start(const SearchNode& node, const FeatureTile& tile, TileScores& scores);
    // The counts of the larger of two siblings: its parent's minus the smaller one's.
    void start_sibling(const FeatureTile& tile, size_t tile_index, const TileScores& small,
                       NodeHistograms& parent, TileScores& large);
    void keep_counts(const TileScores& scores, size_t tile_index, NodeHistograms& kept) const;
    // Copies the tile's codes of the node's rows in their order, [row][lane].
    void order_codes(const SearchNode& node, const FeatureTile& tile, uint8_t* out) const;

    // gradient, hessian: one block of the node's channels, [row][lanes]; hessian may be null.
    // kept (may be null) receives the histograms.
    void add_block(const SearchNode& node, const FeatureTile& tile, size_t tile_index,
                   int32_t block, const float* gradient, const float* hessian,
                   NodeHistograms* kept, TileScores& scores);
    // The same for two siblings, given the channels of the smaller: `parent` becomes the larger.
    void add_block_of_siblings(const SearchNode& small, const SearchNode& large,
                               const FeatureTile& tile, size_t tile_index, int32_t block,
                               const float* gradient, const float* hessian,
                               NodeHistograms* small_kept, NodeHistograms& parent,
                               TileScores& small_scores, TileScores& large_scores);
    void choose(const SearchNode& node, const FeatureTile& tile, const TileScores& scores,
                Split& best) const;

    // All of it, for a node whose channels are at hand.
    void search_tile(const SearchNode& node, const FeatureTile& tile, Split& best);

    uint64_t work = 0;

  private:
    // Codes of a lane of the tile; an unused lane repeats the first.
    const uint8_t* codes_of(const FeatureTile& tile, int lane) const;
    void count_rows(const SearchNode& node, const FeatureTile& tile, uint32_t* counts,
                    float* weights);
    void prepare(const FeatureTile& tile, TileScores& scores) const;
    void build(const SearchNode& node, const FeatureTile& tile, const float* channels,
               float* histogram) const;
    void scan_block(const SearchNode& node, const FeatureTile& tile, int32_t block,
                    const float* gradient, const float* hessian, TileScores& scores) const;
    void scan_per_channel(const SearchNode& node, const FeatureTile& tile, int32_t block,
                          const float* gradient, const float* hessian, TileScores& scores) const;
    float* scratch(AlignedVector<float>& buffer) const;

    Workspace& workspace_;
    const Kernels& kernels_;
    size_t block_size_;
    AlignedVector<float> gradient_, hessian_;  // one tile by one block
    TileScores scores_;
};

}  // namespace polyleaf
