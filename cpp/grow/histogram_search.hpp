// Scores the splits of four features at a time from histograms: large nodes, uint8 codes.
//
// A search has three steps, each with functions of its own:
//   1. build (histograms.hpp): rows, weights and channels of the node are summed per bin;
//   2. reduce (reducer.hpp): the sums of several workers become those of all their rows;
//   3. scan (histogram_scan.hpp): the cuts are scored from the sums, and the best is chosen.
// With one worker there is no step 2, and a tile's block of channels is scanned as soon as it is
// built, while it is in the cache: no node holds its whole histogram unless its children subtract
// from it.
#pragma once

#include "grow/histogram_scan.hpp"
#include "grow/histograms.hpp"

namespace polyleaf {

// One thread's search of one node, whose rows are all with this worker.
class HistogramSearch {
  public:
    explicit HistogramSearch(Workspace& workspace);

    void search_tile(const SearchNode& node, const FeatureTile& tile, Split& best);

    // Scratch memory for one tile by one block of channels.
    TileSums scratch();

    HistogramBuilder builder;
    HistogramScan scanner;

  private:
    Workspace& workspace_;
    AlignedVector<float> gradient_, hessian_;
    NodeCounts counts_;
    TileScores scores_;
};

}  // namespace polyleaf
