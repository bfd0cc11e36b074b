// Nodes so large that all threads search them together.
#include <algorithm>

#include "base/random.hpp"
#include "grow/node_search.hpp"

namespace polyleaf {

namespace {

// Features that one thread searches at a time where a node is searched by all threads.
constexpr int64_t kBatchFeatures = 32;
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
    histograms_->search(node, candidates.tiles, kept, best);
    search_features_with_team(node, candidates, best);
    if (!best.found() && plan_.draws_features) search_remaining(node, caller, best);
    count_node_of_team();
    return best;
}

void NodeSearch::find_siblings_with_team(const SearchNode& small, const SearchNode& large,
                                         NodeHistograms* small_kept, NodeHistograms& parent,
                                         Split& best_small, Split& best_large) {
    histograms_->search_siblings(small, large, all_tiles_, small_kept, parent, best_small,
                                 best_large);
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
