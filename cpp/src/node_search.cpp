#include "node_search.hpp"

#include <algorithm>
#include <numeric>

#include "ramify/random.hpp"

namespace ramify {

namespace {

// Below this many rows a histogram is built as quickly as it is subtracted.
constexpr int64_t kSubtractionMinRows = 4096;
// Kept histograms of one node; beyond it both children are built.
constexpr size_t kMaxHistogramBytes = size_t{48} << 20;

}  // namespace

NodeSearch::Thread::Thread(Workspace& workspace, const std::vector<int32_t>& dense_numeric)
    : features(workspace),
      histograms(workspace),
      lists(workspace, dense_numeric),
      entries(workspace.binned.n_sparse),
      permutation(workspace.params.max_features < workspace.binned.n_features
                      ? workspace.binned.n_features
                      : 0) {
    std::iota(permutation.begin(), permutation.end(), 0);
}

NodeSearch::NodeSearch(Workspace& workspace, ThreadTeam& team)
    : workspace_(workspace), team_(team) {
    for (int i = 0; i < team.size(); ++i)
        threads_.push_back(std::make_unique<Thread>(workspace, dense_numeric_));
    const BinnedView& binned = workspace.binned;
    for (int32_t i = 0; i < binned.n_dense; ++i) {
        const int32_t feature = binned.dense_features[i];
        (binned.is_categorical[feature] ? dense_other_ : dense_numeric_).push_back(feature);
    }
    histograms_possible_ = binned.codes_u8 && !workspace.params.random_cuts &&
                           !workspace.params.double_precision && !workspace.channels.is_sparse() &&
                           !dense_numeric_.empty();
    lists_possible_ = histograms_possible_ && !draws_features() && !workspace.per_channel() &&
                      workspace.params.l2_regularization == 0.0;
    for (size_t i = 0; i < dense_numeric_.size(); ++i) {
        if (i % kTileFeatures == 0) all_tiles_.emplace_back();
        FeatureTile& tile = all_tiles_.back();
        tile.features[tile.n_features++] = dense_numeric_[i];
    }
    subtraction_possible_ =
        histograms_possible_ && !draws_features() &&
        NodeHistograms::bytes(workspace, all_tiles_.size()) <= kMaxHistogramBytes;
    other_features_ = !dense_other_.empty() || binned.n_sparse > 0;
}

bool NodeSearch::uses_histograms(int64_t n_rows) const {
    return histograms_possible_ && n_rows >= workspace_.params.histogram_min_rows;
}

bool NodeSearch::keeps_histograms(int64_t n_rows) const {
    return subtraction_possible_ && n_rows >= kSubtractionMinRows && uses_histograms(n_rows);
}

std::unique_ptr<NodeHistograms> NodeSearch::new_histograms() const {
    return std::make_unique<NodeHistograms>(workspace_, all_tiles_.size());
}

void NodeSearch::start_subtree(const NodeRange& subtree, int thread) {
    if (lists_possible_ && PresortedLists::worthwhile(subtree.size(), dense_numeric_.size()))
        threads_[thread]->lists.start(subtree);
}

void NodeSearch::split(const NodeRange& range, const std::vector<uint8_t>& left, int thread) {
    if (threads_[thread]->lists.is_active()) threads_[thread]->lists.split(range, left);
}

NodeTotals NodeSearch::summarise(const NodeRange& range, int thread, bool is_subtracted) {
    // A child's histogram may be its parent's minus its sibling's: all three must then be sums of
    // the same numbers, so nodes that take part are not centred.
    const bool centre = !is_subtracted && !keeps_histograms(range.size());
    const bool walks = !uses_histograms(range.size()) || other_features_;
    return workspace_.summarise(range, centre, walks, threads_[thread]->features.label_sums);
}

bool NodeSearch::is_histogram_feature(int32_t feature) const {
    return workspace_.feature_home[feature] >= 0 && !workspace_.binned.is_categorical[feature];
}

void NodeSearch::add_candidate(Plan& plan, int32_t feature, uint64_t rank, bool histograms) const {
    if (histograms && is_histogram_feature(feature)) {
        if (plan.tiles.empty() || plan.tiles.back().n_features == kTileFeatures)
            plan.tiles.emplace_back();
        FeatureTile& tile = plan.tiles.back();
        tile.ranks[tile.n_features] = rank;
        tile.features[tile.n_features++] = feature;
    } else {
        plan.features.push_back(feature);
        plan.ranks.push_back(rank);
    }
}

NodeSearch::Plan NodeSearch::plan_all(const SearchNode& node, Thread& thread,
                                      bool with_numeric) const {
    Plan plan;
    const bool histograms = uses_histograms(node.range.size());
    auto rank = [&](int32_t feature) { return draw_bits(node.seed, feature); };
    if (with_numeric)
        for (int32_t feature : dense_numeric_)
            add_candidate(plan, feature, rank(feature), histograms);
    for (int32_t feature : dense_other_) add_candidate(plan, feature, rank(feature), false);
    if (workspace_.binned.n_sparse > 0) {
        thread.entries.collect(workspace_, node.range, nullptr);
        for (int32_t slot : thread.entries.touched()) {
            const int32_t feature = workspace_.binned.sparse_features[slot];
            add_candidate(plan, feature, rank(feature), false);
        }
    }
    return plan;
}

NodeSearch::Plan NodeSearch::plan_drawn(const SearchNode& node, Thread& thread) const {
    Plan plan;
    const bool histograms = uses_histograms(node.range.size());
    const int64_t p = workspace_.binned.n_features;
    std::vector<int32_t> slots;
    std::vector<std::pair<int64_t, int64_t>> swaps;
    for (int64_t i = 0; i < workspace_.params.max_features; ++i) {
        const int64_t j = i + draw_below(node.seed, i, p - i);
        std::swap(thread.permutation[i], thread.permutation[j]);
        swaps.emplace_back(i, j);
        const int32_t feature = thread.permutation[i];
        if (workspace_.feature_home[feature] < 0)
            slots.push_back(~workspace_.feature_home[feature]);
        add_candidate(plan, feature, i, histograms);
    }
    for (size_t k = swaps.size(); k-- > 0;)
        std::swap(thread.permutation[swaps[k].first], thread.permutation[swaps[k].second]);
    if (!slots.empty()) thread.entries.collect(workspace_, node.range, &slots);
    return plan;
}

NodeSearch::Plan NodeSearch::plan_of(const SearchNode& node, Thread& thread) const {
    return draws_features() ? plan_drawn(node, thread) : plan_all(node, thread, true);
}

void NodeSearch::run_piece(const SearchNode& node, const Plan& plan, size_t piece,
                           const SparseEntries& entries, Thread& thread, NodeHistograms* kept,
                           Split& best) const {
    if (piece < plan.tiles.size()) {
        thread.histograms.search_tile(node, plan.tiles[piece], piece, kept, best);
        return;
    }
    const size_t at = piece - plan.tiles.size();
    const int32_t feature = plan.features[at];
    if (workspace_.feature_home[feature] >= 0)
        thread.features.search_dense(node, feature, plan.ranks[at], best);
    else
        thread.features.search_sparse(node, feature, plan.ranks[at], entries, best);
}

// None of the drawn features can split the node: go on drawing, one by one, until one can.
void NodeSearch::search_remaining(const SearchNode& node, Thread& thread, Split& best) const {
    const int64_t p = workspace_.binned.n_features;
    if (workspace_.binned.n_sparse > 0) thread.entries.collect(workspace_, node.range, nullptr);
    std::vector<int32_t> permutation(p);
    std::iota(permutation.begin(), permutation.end(), 0);
    for (int64_t i = 0; i < p && !best.found(); ++i) {
        std::swap(permutation[i], permutation[i + draw_below(node.seed, i, p - i)]);
        if (i < workspace_.params.max_features) continue;
        const int32_t feature = permutation[i];
        if (workspace_.feature_home[feature] >= 0)
            thread.features.search_dense(node, feature, i, best);
        else
            thread.features.search_sparse(node, feature, i, thread.entries, best);
    }
}

Split NodeSearch::find(const SearchNode& node, int thread_id) {
    Thread& thread = *threads_[thread_id];
    Split best;
    if (thread.lists.is_active()) {
        thread.lists.search(node, best);
        if (!other_features_) return best;
    }
    const Plan plan =
        thread.lists.is_active() ? plan_all(node, thread, false) : plan_of(node, thread);
    for (size_t piece = 0; piece < plan.size(); ++piece)
        run_piece(node, plan, piece, thread.entries, thread, nullptr, best);
    if (!best.found() && draws_features()) search_remaining(node, thread, best);
    return best;
}

Split NodeSearch::find_with_team(const SearchNode& node, NodeHistograms* kept) {
    Thread& caller = *threads_[0];
    const Plan plan = plan_of(node, caller);
    std::vector<Split> bests(team_.size());
    team_.parallel_for(static_cast<int64_t>(plan.size()), [&](int64_t piece, int id) {
        run_piece(node, plan, piece, caller.entries, *threads_[id], kept, bests[id]);
    });
    Split best;
    for (Split& candidate : bests)
        if (best.beaten_by(candidate.gain, candidate.rank)) best = std::move(candidate);
    if (!best.found() && draws_features()) search_remaining(node, caller, best);
    return best;
}

void NodeSearch::find_siblings_with_team(const SearchNode& small, const SearchNode& large,
                                         NodeHistograms* small_kept, NodeHistograms& parent,
                                         Split& best_small, Split& best_large) {
    std::vector<Split> small_bests(team_.size()), large_bests(team_.size());
    team_.parallel_for(static_cast<int64_t>(all_tiles_.size()), [&](int64_t index, int id) {
        FeatureTile tile = all_tiles_[index];
        Split from_small, from_large;
        for (int lane = 0; lane < tile.n_features; ++lane)
            tile.ranks[lane] = draw_bits(large.seed, tile.features[lane]);
        threads_[id]->histograms.search_siblings(small, large, tile, index, small_kept, parent,
                                                 from_small, from_large);
        if (from_small.found()) from_small.rank = draw_bits(small.seed, from_small.feature);
        if (small_bests[id].beaten_by(from_small.gain, from_small.rank))
            small_bests[id] = std::move(from_small);
        if (large_bests[id].beaten_by(from_large.gain, from_large.rank))
            large_bests[id] = std::move(from_large);
    });
    auto reduce = [&](std::vector<Split>& bests, const SearchNode& node, Split& best) {
        for (Split& candidate : bests)
            if (best.beaten_by(candidate.gain, candidate.rank)) best = std::move(candidate);
        if (!other_features_) return;
        const Plan plan = plan_all(node, *threads_[0], false);
        std::vector<Split> others(team_.size());
        team_.parallel_for(static_cast<int64_t>(plan.size()), [&](int64_t piece, int id) {
            run_piece(node, plan, piece, threads_[0]->entries, *threads_[id], nullptr, others[id]);
        });
        for (Split& candidate : others)
            if (best.beaten_by(candidate.gain, candidate.rank)) best = std::move(candidate);
    };
    reduce(small_bests, small, best_small);
    reduce(large_bests, large, best_large);
}

uint64_t NodeSearch::work() const {
    uint64_t total = 0;
    for (const auto& thread : threads_) 
        total += thread->features.work + thread->histograms.work + thread->lists.work;
    return total;
}

}  // namespace ramify
