// Step 3 of a search by histograms: from the sums per bin to the best cut of four features.
#pragma once

#include <cstdint>
#include <vector>

#include "grow/histograms.hpp"

namespace polyleaf {

// What the scans of a tile add up to, for one node.
struct TileScores {
    TileCounts counts;
    int n_passes = 1;                        // 2 if a feature has missing values in the node
    std::vector<float> norms, products;      // [pass][lane][256]; products: regularisation only
    std::vector<float> prefix_weights;       // [pass][lane][256]
    float missing_norm[kTileFeatures] = {};  // A = the missing rows
    float missing_product[kTileFeatures] = {};
};

// Life of a tile: `start` with its counts, `scan` with the sums of each block of channels, then
// `choose`. Reads the node's totals and these sums, and no rows.
class HistogramScan {
  public:
    explicit HistogramScan(const Workspace& workspace);

    // The counts must stay where they are until `choose` is done.
    void start(const FeatureTile& tile, TileCounts counts, TileScores& scores) const;
    void scan(const SearchNode& node, const FeatureTile& tile, int32_t block, TileSums sums,
              TileScores& scores) const;
    void choose(const SearchNode& node, const FeatureTile& tile, const TileScores& scores,
                Split& best) const;

  private:
    void scan_per_channel(const SearchNode& node, const FeatureTile& tile, int32_t block,
                          TileSums sums, TileScores& scores) const;

    const Workspace& workspace_;
    const Kernels& kernels_;
};

}  // namespace polyleaf
