// The search of a large node by all threads, on one worker or on several.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/parallel.hpp"
#include "grow/histogram_search.hpp"
#include "grow/reducer.hpp"

namespace polyleaf {

class HistogramTeam {
  public:
    HistogramTeam(Workspace& workspace, ThreadTeam& team);

    // kept (may be null) receives the histograms.
    void search(const SearchNode& node, std::vector<FeatureTile> tiles, NodeHistograms* kept,
                Split& best);
    // Both children of a node whose histograms are at hand. One pass over the rows builds the
    // smaller, and `parent` becomes the larger one's.
    void search_siblings(const SearchNode& small, const SearchNode& large,
                         const std::vector<FeatureTile>& tiles, NodeHistograms* small_kept,
                         NodeHistograms& parent, Split& best_small, Split& best_large);

    HistogramSearch& of_thread(int thread) { return *threads_[thread]; }
    void release_buffers();
    uint64_t work() const;

  private:
    // build(tile, thread) and scan(tile, thread) for every tile: one after the other on one
    // worker; on several, `reduce()` lies between all of the one and all of the other.
    template <typename Build, typename Reduce, typename Scan>
    void for_each_tile(int64_t n_tiles, Build&& build, Reduce&& reduce, Scan&& scan);
    // body(gradient, hessian, block) with each block of the node's channels.
    template <typename Body>
    void for_each_block(const SearchNode& node, Body&& body);
    // Lets tiles read their codes in the order of the node's rows, where several blocks of
    // channels share the copy.
    void order_codes(const SearchNode& node, std::vector<FeatureTile>& tiles);
    void reduce_counts(NodeCounts& counts, size_t n_tiles) const;
    void reduce_block(NodeHistograms& histograms, int32_t place, int32_t block) const;
    // Where the sums of a tile are built: `kept`, or else memory for one block.
    TileSums sums_of(NodeHistograms* kept, size_t tile, int32_t block, int thread);
    void start_one_block(size_t n_tiles);

    Workspace& workspace_;
    ThreadTeam& team_;
    std::vector<std::unique_ptr<HistogramSearch>> threads_;
    NodeCounts counts_;                          // of a node that keeps no histograms
    std::unique_ptr<NodeHistograms> one_block_;  // of all tiles; several workers only
    AlignedVector<float> block_;                 // some blocks of a node's channels
    std::vector<uint8_t> codes_;  // of a node in the order of its rows, [tile][row][lane]
    std::vector<TileScores> scores_, sibling_scores_;
};

}  // namespace polyleaf
