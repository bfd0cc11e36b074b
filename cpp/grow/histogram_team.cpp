#include "grow/histogram_team.hpp"

#include <algorithm>

#include "base/random.hpp"

namespace polyleaf {

namespace {

// Channels of a large node that are loaded together, so that a row is read once for all of them.
constexpr int64_t kMostLoadedBytes = int64_t{4} << 20;
// Rows that one thread loads at a time.
constexpr int64_t kLoadRows = 2048;

}  // namespace

HistogramTeam::HistogramTeam(Workspace& workspace, ThreadTeam& team)
    : workspace_(workspace), team_(team) {
    for (int i = 0; i < team.size(); ++i)
        threads_.push_back(std::make_unique<HistogramSearch>(workspace));
}

template <typename Build, typename Reduce, typename Scan>
void HistogramTeam::for_each_tile(int64_t n_tiles, Build&& build, Reduce&& reduce, Scan&& scan) {
    if (!workspace_.reducer) {
        team_.parallel_for(n_tiles, [&](int64_t tile, int thread) {
            build(tile, thread);
            scan(tile, thread);
        });
        return;
    }
    team_.parallel_for(n_tiles, build);
    reduce();
    team_.parallel_for(n_tiles, scan);
}

template <typename Body>
void HistogramTeam::for_each_block(const SearchNode& node, Body&& body) {
    const int lanes = workspace_.lanes;
    for (int32_t block = 0; block < workspace_.n_blocks; ++block) {
        if (node.store) {
            const Blocks g = workspace_.gradient_blocks(*node.store, node.range);
            const Blocks h = workspace_.per_channel()
                                 ? workspace_.hessian_blocks(*node.store, node.range)
                                 : Blocks{};
            body(g.data + block * g.block_stride,
                 h.data ? h.data + block * h.block_stride : nullptr, block);
            continue;
        }
        const int64_t n = node.range.size(), block_size = n * lanes;
        const int32_t n_together = static_cast<int32_t>(std::clamp<int64_t>(
            kMostLoadedBytes / std::max<int64_t>(1, block_size * int64_t{sizeof(float)}), 1,
            workspace_.n_blocks));
        if (block % n_together == 0) {
            const int32_t n_loaded = std::min(n_together, workspace_.n_blocks - block);
            block_.resize(n_loaded * block_size);
            team_.parallel_for((n + kLoadRows - 1) / kLoadRows, [&](int64_t chunk, int) {
                const int64_t begin = chunk * kLoadRows, end = std::min(n, begin + kLoadRows);
                workspace_.load_blocks({node.range.begin + begin, node.range.begin + end},
                                       {block_.data() + begin * lanes, block_size, n_loaded},
                                       block);
            });
        }
        body(block_.data() + block % n_together * block_size, nullptr, block);
    }
}

void HistogramTeam::order_codes(const SearchNode& node, std::vector<FeatureTile>& tiles) {
    if (workspace_.n_blocks < 2) return;
    const int64_t tile_size = node.range.size() * kTileFeatures;
    codes_.resize(tiles.size() * tile_size);
    team_.parallel_for(static_cast<int64_t>(tiles.size()), [&](int64_t tile, int thread) {
        uint8_t* const codes = codes_.data() + tile * tile_size;
        threads_[thread]->builder.order_codes(node, tiles[tile], codes);
        tiles[tile].ordered = codes;
    });
}

void HistogramTeam::reduce_counts(NodeCounts& counts, size_t n_tiles) const {
    const int64_t n_bins = static_cast<int64_t>(n_tiles * kTileBins);
    const TileCounts all = counts.of(0);
    workspace_.reducer->reduce({SumOf::bin_rows, all.rows, n_bins});
    if (workspace_.channels.policy == HessianPolicy::shared)
        workspace_.reducer->reduce({SumOf::bin_weights, all.weights, n_bins});
}

void HistogramTeam::reduce_block(NodeHistograms& histograms, int32_t place, int32_t block) const {
    const int64_t n_bins = static_cast<int64_t>(histograms.n_tiles() * kTileBins);
    const int64_t width = std::min<int64_t>(
        workspace_.lanes, workspace_.channels.n_channels - block * workspace_.lanes);
    const TileSums all = histograms.sums(0, place);
    SumBlock gradients(SumOf::bin_gradients, all.gradient, n_bins, width, workspace_.lanes);
    gradients.channel_block = block;
    workspace_.reducer->reduce(gradients);
    if (!all.hessian) return;
    SumBlock hessians(SumOf::bin_hessians, all.hessian, n_bins, width, workspace_.lanes);
    hessians.channel_block = block;
    workspace_.reducer->reduce(hessians);
}

void HistogramTeam::start_one_block(size_t n_tiles) {
    if (!one_block_ || one_block_->n_tiles() != n_tiles)
        one_block_ = std::make_unique<NodeHistograms>(workspace_, n_tiles, 1);
}

TileSums HistogramTeam::sums_of(NodeHistograms* kept, size_t tile, int32_t block, int thread) {
    if (kept) return kept->sums(tile, block);
    return workspace_.reducer ? one_block_->sums(tile, 0) : threads_[thread]->scratch();
}

void HistogramTeam::search(const SearchNode& node, std::vector<FeatureTile> tiles,
                           NodeHistograms* kept, Split& best) {
    if (tiles.empty()) return;
    order_codes(node, tiles);
    const int64_t n_tiles = static_cast<int64_t>(tiles.size());
    scores_.resize(tiles.size());
    NodeCounts& counts = kept ? kept->counts : counts_;
    counts.resize(tiles.size());
    if (workspace_.reducer && !kept) start_one_block(tiles.size());
    for_each_tile(
        n_tiles,
        [&](int64_t tile, int thread) {
            threads_[thread]->builder.count(node, tiles[tile], counts.of(tile));
        },
        [&] { reduce_counts(counts, tiles.size()); },
        [&](int64_t tile, int thread) {
            threads_[thread]->builder.weigh(tiles[tile], counts.of(tile));
            threads_[thread]->scanner.start(tiles[tile], counts.of(tile), scores_[tile]);
        });
    for_each_block(node, [&](const float* gradient, const float* hessian, int32_t block) {
        for_each_tile(
            n_tiles,
            [&](int64_t tile, int thread) {
                threads_[thread]->builder.build(node, tiles[tile], gradient, hessian,
                                                sums_of(kept, tile, block, thread));
            },
            [&] {
                kept ? reduce_block(*kept, block, block) : reduce_block(*one_block_, 0, block);
            },
            [&](int64_t tile, int thread) {
                threads_[thread]->scanner.scan(node, tiles[tile], block,
                                               sums_of(kept, tile, block, thread), scores_[tile]);
            });
    });
    for (int64_t tile = 0; tile < n_tiles; ++tile)
        threads_[0]->scanner.choose(node, tiles[tile], scores_[tile], best);
}

void HistogramTeam::search_siblings(const SearchNode& small, const SearchNode& large,
                                    const std::vector<FeatureTile>& tiles,
                                    NodeHistograms* small_kept, NodeHistograms& parent,
                                    Split& best_small, Split& best_large) {
    const int64_t n_tiles = static_cast<int64_t>(tiles.size());
    scores_.resize(n_tiles);
    sibling_scores_.resize(n_tiles);
    NodeCounts& counts = small_kept ? small_kept->counts : counts_;
    counts.resize(tiles.size());
    if (workspace_.reducer && !small_kept) start_one_block(tiles.size());
    std::vector<FeatureTile> small_tiles = tiles, large_tiles = tiles;
    order_codes(small, small_tiles);
    for (int64_t tile = 0; tile < n_tiles; ++tile)
        for (int lane = 0; lane < tiles[tile].n_features; ++lane) {
            const int32_t feature = tiles[tile].features[lane];
            small_tiles[tile].ranks[lane] = feature_rank(small.seed, feature);
            large_tiles[tile].ranks[lane] = feature_rank(large.seed, feature);
        }
    for_each_tile(
        n_tiles,
        [&](int64_t tile, int thread) {
            threads_[thread]->builder.count(small, small_tiles[tile], counts.of(tile));
        },
        [&] { reduce_counts(counts, tiles.size()); },
        [&](int64_t tile, int thread) {
            const HistogramBuilder& builder = threads_[thread]->builder;
            const HistogramScan& scanner = threads_[thread]->scanner;
            builder.weigh(small_tiles[tile], counts.of(tile));
            scanner.start(small_tiles[tile], counts.of(tile), scores_[tile]);
            builder.subtract(counts.of(tile), parent.counts.of(tile));
            scanner.start(large_tiles[tile], parent.counts.of(tile), sibling_scores_[tile]);
        });
    for_each_block(small, [&](const float* gradient, const float* hessian, int32_t block) {
        for_each_tile(
            n_tiles,
            [&](int64_t tile, int thread) {
                threads_[thread]->builder.build(small, small_tiles[tile], gradient, hessian,
                                                sums_of(small_kept, tile, block, thread));
            },
            [&] {
                small_kept ? reduce_block(*small_kept, block, block)
                           : reduce_block(*one_block_, 0, block);
            },
            [&](int64_t tile, int thread) {
                const HistogramScan& scanner = threads_[thread]->scanner;
                const TileSums sums = sums_of(small_kept, tile, block, thread);
                const TileSums rest = parent.sums(tile, block);
                scanner.scan(small, small_tiles[tile], block, sums, scores_[tile]);
                threads_[thread]->builder.subtract(sums, rest);
                scanner.scan(large, large_tiles[tile], block, rest, sibling_scores_[tile]);
            });
    });
    for (int64_t tile = 0; tile < n_tiles; ++tile) {
        threads_[0]->scanner.choose(small, small_tiles[tile], scores_[tile], best_small);
        threads_[0]->scanner.choose(large, large_tiles[tile], sibling_scores_[tile], best_large);
    }
}

void HistogramTeam::release_buffers() {
    one_block_.reset();
    counts_ = {};
    block_ = {};
    codes_ = {};
    scores_ = {};
    sibling_scores_ = {};
}

uint64_t HistogramTeam::work() const {
    uint64_t total = 0;
    for (const auto& thread : threads_) total += thread->builder.work;
    return total;
}

}  // namespace polyleaf
