// Scores the splits of four features at a time from histograms: large nodes, uint8 codes.
#pragma once

#include <cstdint>
#include <vector>

#include "split_search.hpp"

namespace ramify {

// Up to four dense numeric features that share a pass over the rows.
struct FeatureTile {
    int32_t features[kTileFeatures] = {};
    uint64_t ranks[kTileFeatures] = {};
    int n_features = 0;
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

class HistogramSearch {
  public:
    explicit HistogramSearch(Workspace& workspace);

    // Builds and scans a tile of one node; `kept` (may be null) receives its histograms.
    void search_tile(const SearchNode& node, const FeatureTile& tile, size_t tile_index,
                     NodeHistograms* kept, Split& best);
    // The same for two siblings: the smaller is built, the larger is `parent` minus it, in place.
    void search_siblings(const SearchNode& small, const SearchNode& large, const FeatureTile& tile,
                         size_t tile_index, NodeHistograms* small_kept, NodeHistograms& parent,
                         Split& best_small, Split& best_large);

    uint64_t work = 0;

  private:
    // Per bin and lane: what the scans of all blocks add up to.
    struct Scores {
        std::vector<float> norms, products;      // [pass][lane][256]
        std::vector<float> prefix_weights;       // [pass][lane][256]
        std::vector<uint32_t> counts;            // [lane][256]
        std::vector<float> weights;              // [lane][256]
        float missing_norm[kTileFeatures] = {};  // A = the missing rows
        float missing_product[kTileFeatures] = {};
    };

    // Codes of a lane of the tile; an unused lane repeats the first.
    const uint8_t* codes_of(const FeatureTile& tile, int lane) const;
    void count_rows(const SearchNode& node, const FeatureTile& tile, uint32_t* counts,
                    float* weights);
    void prepare(const SearchNode& node, const FeatureTile& tile, Scores& scores);
    void build_block(const SearchNode& node, const FeatureTile& tile, int32_t block,
                     float* gradient, float* hessian);
    void scan_block(const SearchNode& node, const FeatureTile& tile, int32_t block,
                    const float* gradient, const float* hessian, Scores& scores);
    void choose(const SearchNode& node, const FeatureTile& tile, const Scores& scores,
                Split& best) const;

    Workspace& workspace_;
    const Kernels& kernels_;
    size_t block_size_;
    AlignedVector<float> gradient_, hessian_;  // one tile by one block
    Scores scores_, sibling_scores_;
};

}  // namespace ramify
