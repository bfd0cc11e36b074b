// Nodes so large that all threads search them together.
#include <algorithm>

#include "base/random.hpp"
#include "grow/node_search.hpp"

namespace polyleaf {

namespace {

// Features that one thread searches at a time where a node is searched by all threads.
constexpr int64_t kBatchFeatures = 32;
// Channels of a large node that are loaded together, so that a row is read once for all of them.
constexpr int64_t kMostLoadedBytes = int64_t{4} << 20;
// Rows that one thread loads at a time.
constexpr int64_t kLoadRows = 2048;
// Lists that one thread searches or splits at a time: a pair (ListSearch::search_all).
constexpr int64_t kBatchLists = 2;

}  // namespace

void NodeSearch::split_and_search_lists(const NodeRange& parent, Child (&children)[2]) {
    const int64_t n_lists = static_cast<int64_t>(dense_numeric_.size());
    whole_lists_->note_moves(parent, threads_[0]->partition.left);
    std::vector<Split> bests[2];
    for (auto& of_child : bests) of_child.assign(team_.size(), new_split());
    std::vector<uint8_t> has_started(team_.size(), 0);
    team_.parallel_for((n_lists + kBatchLists - 1) / kBatchLists, [&](int64_t batch, int id) {
        Thread& thread = *threads_[id];
        ListSearch* const searches[2] = {&thread.list_search, &thread.sibling_search};
        for (int i = 0; i < 2 && !has_started[id]; ++i)
            if (children[i].is_searched)
                searches[i]->start(children[i].node, NodeKind::large, n_lists);
        has_started[id] = 1;
        const int64_t first = batch * kBatchLists, last = std::min(n_lists, first + kBatchLists);
        whole_lists_->split(parent, first, last, thread.scratch);
        for (int i = 0; i < 2; ++i)
            if (children[i].is_searched)
                whole_lists_->search_parts(children[i].node, first, last, *searches[i],
                                           thread.scratch, bests[i][id]);
    });
    whole_lists_->end_split();
    for (int i = 0; i < 2; ++i) {
        children[i].best = new_split();
        reduce(bests[i], children[i].best);
        if (!children[i].is_searched) continue;
        FinderSet used;
        used.add(
            plan_.finder(NodeKind::large, FeatureKind::numeric, children[i].node.range.size()));
        for (auto& thread : threads_)
            used.add((i == 0 ? thread->list_search : thread->sibling_search).used.take());
        threads_[0]->counts.add(used);
    }
}

void NodeSearch::reduce(std::vector<Split>& candidates, Split& best) const {
    for (Split& candidate : candidates)
        if (best.beaten_by(candidate.gain, candidate.rank)) best = std::move(candidate);
}

void NodeSearch::search_features_with_team(const SearchNode& node, const Candidates& candidates,
                                           Split& best) {
    const int64_t n_simple = static_cast<int64_t>(candidates.simple_features.size());
    const int64_t n_batches = (n_simple + kBatchFeatures - 1) / kBatchFeatures;
    std::vector<Split> bests(team_.size(), new_split());
    team_.parallel_for(
        n_batches + static_cast<int64_t>(candidates.features.size()), [&](int64_t piece, int id) {
            if (piece >= n_batches) {
                search_feature(node, candidates, piece - n_batches, threads_[0]->entries,
                               *threads_[id], bests[id]);
                return;
            }
            const int64_t begin = piece * kBatchFeatures;
            search_simple(node, NodeKind::large, candidates, begin,
                          std::min(n_simple, begin + kBatchFeatures), *threads_[id], bests[id]);
        });
    reduce(bests, best);
}

void NodeSearch::search_whole_lists(const SearchNode& node, Split& best) {
    const int64_t n_lists = static_cast<int64_t>(dense_numeric_.size());
    std::vector<Split> bests(team_.size(), new_split());
    std::vector<uint8_t> has_started(team_.size(), 0);
    team_.parallel_for((n_lists + kBatchLists - 1) / kBatchLists, [&](int64_t batch, int id) {
        Thread& thread = *threads_[id];
        if (!has_started[id])
            thread.list_search.start(node, NodeKind::large, dense_numeric_.size());
        has_started[id] = 1;
        const int64_t first = batch * kBatchLists;
        whole_lists_->search(node, first, std::min(n_lists, first + kBatchLists),
                             thread.list_search, thread.scratch, bests[id]);
    });
    reduce(bests, best);
}

template <typename Body>
void NodeSearch::for_each_block(const SearchNode& node, Body&& body) {
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
            kMostLoadedBytes / (block_size * int64_t{sizeof(float)}), 1, workspace_.n_blocks));
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

void NodeSearch::order_codes_with_team(const SearchNode& node, std::vector<FeatureTile>& tiles) {
    if (workspace_.n_blocks < 2) return;
    const int64_t tile_size = node.range.size() * kTileFeatures;
    codes_.resize(tiles.size() * tile_size);
    team_.parallel_for(static_cast<int64_t>(tiles.size()), [&](int64_t tile, int id) {
        uint8_t* const codes = codes_.data() + tile * tile_size;
        threads_[id]->histograms.order_codes(node, tiles[tile], codes);
        tiles[tile].ordered = codes;
    });
}

void NodeSearch::search_tiles_with_team(const SearchNode& node, std::vector<FeatureTile> tiles,
                                        NodeHistograms* kept, Split& best) {
    if (tiles.empty()) return;
    order_codes_with_team(node, tiles);
    const int64_t n_tiles = static_cast<int64_t>(tiles.size());
    tile_scores_.resize(tiles.size());
    team_.parallel_for(n_tiles, [&](int64_t tile, int id) {
        HistogramSearch& histograms = threads_[id]->histograms;
        histograms.start(node, tiles[tile], tile_scores_[tile]);
        if (kept) histograms.keep_counts(tile_scores_[tile], tile, *kept);
    });
    for_each_block(node, [&](const float* gradient, const float* hessian, int32_t block) {
        team_.parallel_for(n_tiles, [&](int64_t tile, int id) {
            threads_[id]->histograms.add_block(node, tiles[tile], tile, block, gradient, hessian,
                                               kept, tile_scores_[tile]);
        });
    });
    for (int64_t tile = 0; tile < n_tiles; ++tile)
        threads_[0]->histograms.choose(node, tiles[tile], tile_scores_[tile], best);
}

Split NodeSearch::find_with_team(const SearchNode& node, NodeHistograms* kept) {
    if (incremental_) return incremental_->find_with_team(node);
    Thread& caller = *threads_[0];
    Split best = new_split();
    if (whole_lists_) {
        caller.used.add(plan_.finder(NodeKind::large, FeatureKind::numeric, node.range.size()));
        search_whole_lists(node, best);
        count_node_of_team();
        return best;
    }
    const Candidates& candidates = candidates_of(node, NodeKind::large, caller);
    search_tiles_with_team(node, candidates.tiles, kept, best);
    search_features_with_team(node, candidates, best);
    if (!best.found() && plan_.draws_features) search_remaining(node, caller, best);
    count_node_of_team();
    return best;
}

void NodeSearch::find_siblings_with_team(const SearchNode& small, const SearchNode& large,
                                         NodeHistograms* small_kept, NodeHistograms& parent,
                                         Split& best_small, Split& best_large) {
    const int64_t n_tiles = static_cast<int64_t>(all_tiles_.size());
    tile_scores_.resize(n_tiles);
    sibling_scores_.resize(n_tiles);
    std::vector<FeatureTile> small_tiles = all_tiles_, large_tiles = all_tiles_;
    order_codes_with_team(small, small_tiles);
    for (int64_t tile = 0; tile < n_tiles; ++tile)
        for (int lane = 0; lane < all_tiles_[tile].n_features; ++lane) {
            const int32_t feature = all_tiles_[tile].features[lane];
            small_tiles[tile].ranks[lane] = feature_rank(small.seed, feature);
            large_tiles[tile].ranks[lane] = feature_rank(large.seed, feature);
        }
    team_.parallel_for(n_tiles, [&](int64_t tile, int id) {
        HistogramSearch& histograms = threads_[id]->histograms;
        histograms.start(small, small_tiles[tile], tile_scores_[tile]);
        if (small_kept) histograms.keep_counts(tile_scores_[tile], tile, *small_kept);
        histograms.start_sibling(large_tiles[tile], tile, tile_scores_[tile], parent,
                                 sibling_scores_[tile]);
    });
    for_each_block(small, [&](const float* gradient, const float* hessian, int32_t block) {
        team_.parallel_for(n_tiles, [&](int64_t tile, int id) {
            threads_[id]->histograms.add_block_of_siblings(
                small, large, small_tiles[tile], tile, block, gradient, hessian, small_kept,
                parent, tile_scores_[tile], sibling_scores_[tile]);
        });
    });
    for (int64_t tile = 0; tile < n_tiles; ++tile) {
        threads_[0]->histograms.choose(small, small_tiles[tile], tile_scores_[tile], best_small);
        threads_[0]->histograms.choose(large, large_tiles[tile], sibling_scores_[tile],
                                       best_large);
    }
    // The smaller one's histograms were built, the larger one's subtracted.
    Thread& caller = *threads_[0];
    caller.used.add(Finder::histogram);
    if (plan_.has_other_features)
        search_features_with_team(small, take_all(small, NodeKind::sibling, caller), best_small);
    count_node_of_team();
    caller.used.add(plan_.finder(NodeKind::sibling, FeatureKind::numeric, large.range.size()));
    if (plan_.has_other_features)
        search_features_with_team(large, take_all(large, NodeKind::sibling, caller), best_large);
    count_node_of_team();
}

}  // namespace polyleaf
