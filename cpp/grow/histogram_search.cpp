#include "grow/histogram_search.hpp"

namespace polyleaf {

HistogramSearch::HistogramSearch(Workspace& workspace)
    : builder(workspace), scanner(workspace), workspace_(workspace) {}

TileSums HistogramSearch::scratch() {
    const size_t size = kTileBins * workspace_.lanes;
    if (gradient_.empty()) gradient_.resize(size, 0.0f);
    if (hessian_.empty() && workspace_.per_channel()) hessian_.resize(size, 0.0f);
    return {gradient_.data(), workspace_.per_channel() ? hessian_.data() : nullptr};
}

void HistogramSearch::search_tile(const SearchNode& node, const FeatureTile& tile, Split& best) {
    counts_.resize(1);
    const TileCounts counts = counts_.of(0);
    const TileSums sums = scratch();
    builder.count(node, tile, counts);
    builder.weigh(tile, counts);
    scanner.start(tile, counts, scores_);
    const Blocks g = workspace_.gradient_blocks(*node.store, node.range);
    const Blocks h =
        workspace_.per_channel() ? workspace_.hessian_blocks(*node.store, node.range) : Blocks{};
    for (int32_t block = 0; block < workspace_.n_blocks; ++block) {
        builder.build(node, tile, g.data + block * g.block_stride,
                      h.data ? h.data + block * h.block_stride : nullptr, sums);
        scanner.scan(node, tile, block, sums, scores_);
    }
    scanner.choose(node, tile, scores_, best);
}

}  // namespace polyleaf
