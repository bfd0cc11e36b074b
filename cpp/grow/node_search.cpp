#include "grow/node_search.hpp"

#include <algorithm>

#include "base/random.hpp"
#include "bin/row_orders.hpp"

namespace polyleaf {

NodeSearch::Thread::Thread(Workspace& workspace, const std::vector<int32_t>& dense_numeric,
                           const CutGuide* guide, HistogramSearch& histograms_)
    : features(workspace),
      histograms(histograms_),
      list_search(workspace),
      sibling_search(workspace),
      lists(workspace, dense_numeric),
      cuts(guide ? std::make_unique<CutSearch>(workspace, *guide) : nullptr),
      entries(workspace),
      draw(workspace.plan.draws_features ? workspace.binned.n_features : 0) {}

NodeSearch::NodeSearch(Workspace& workspace, ThreadTeam& team)
    : workspace_(workspace), plan_(workspace.plan), team_(team) {
    const BinnedView& binned = workspace.binned;
    if (plan_.is_incremental) {
        incremental_ = std::make_unique<IncrementalSearch>(workspace, team);
        if (!workspace.channels.is_sparse()) workspace.load({0, workspace.n_rows}, resident_);
        prepare_small_nodes();
        return;
    }
    for (int32_t i = 0; i < binned.n_dense; ++i) {
        const int32_t feature = binned.dense_features[i];
        (binned.is_categorical[feature] ? dense_other_ : dense_numeric_).push_back(feature);
    }
    if (plan_.holds(When::batched_cuts)) {
        const CutData& data =
            (binned.cuts ? *binned.cuts : own_cuts_).get(binned, workspace.interrupt);
        workspace.row_codes = &data.codes;
        cut_guide_ = &data.guide;
    }
    histograms_ = std::make_unique<HistogramTeam>(workspace, team);
    for (int i = 0; i < team.size(); ++i)
        threads_.push_back(std::make_unique<Thread>(workspace, dense_numeric_, cut_guide_,
                                                    histograms_->of_thread(i)));
    if (plan_.holds(When::whole_lists)) {
        whole_lists_ = std::make_unique<PresortedLists>(workspace, dense_numeric_);
        whole_lists_->start({0, workspace.n_rows});
    }
    all_tiles_ = tiles_of(dense_numeric_);
    if (!plan_.loads_lazily) workspace.load({0, workspace.n_rows}, resident_);
    prepare_small_nodes();
}

void NodeSearch::prepare_small_nodes() {
    for (int i = 0; i < team_.size() && plan_.small_rows > 0; ++i)
        small_.push_back(std::make_unique<SmallSearch>(workspace_, cut_guide_));
}

std::unique_ptr<NodeHistograms> NodeSearch::new_histograms() {
    if (!spare_.empty()) {
        std::unique_ptr<NodeHistograms> histograms = std::move(spare_.back());
        spare_.pop_back();
        return histograms;
    }
    return std::make_unique<NodeHistograms>(workspace_, all_tiles_.size(), workspace_.n_blocks);
}

void NodeSearch::start_subtree(const NodeRange& subtree, int thread) {
    if (incremental_) return;
    Thread& state = *threads_[thread];
    state.is_in_subtree = true;
    if (plan_.loads_lazily) workspace_.load(subtree, state.store);
    if (whole_lists_) return state.lists.share(*whole_lists_);
    if (subtree.size() <= plan_.presorted_rows) state.lists.start(subtree);
}

void NodeSearch::stop_subtree(int thread) {
    if (incremental_) return incremental_->forget(thread);
    threads_[thread]->lists.stop();
    threads_[thread]->is_in_subtree = false;
}

void NodeSearch::release_large_buffers() {
    if (incremental_) incremental_->forget(0);
    if (histograms_) histograms_->release_buffers();
    spare_.clear();
}

int64_t NodeSearch::partition(const NodeRange& range, const Split& split, int thread,
                              NodeTotals totals[2]) {
    if (incremental_) return incremental_->partition(range, split, store_of(thread), thread);
    Thread& state = *threads_[thread];
    if (!state.cuts || plan_.has_other_features)
        return workspace_.partition(range, split, store_of(thread), state.partition);
    const NodeRange left{range.begin, range.begin + split.n_left};
    const NodeRange right{left.end, range.end};
    // The best node comes first there, whatever its size.
    const bool needs_sums[2] = {plan_.is_best_first || !small_search(left, thread),
                                plan_.is_best_first || !small_search(right, thread)};
    return workspace_.partition_centred(range, split, state.cuts->left_rows(range, split),
                                        *store_of(thread), state.partition, needs_sums, totals);
}

void NodeSearch::split_lists(const NodeRange& range, int thread) {
    if (incremental_) return;
    Thread& state = *threads_[thread];
    if (state.lists.is_active()) state.lists.split(range, state.partition.left);
}

NodeTotals NodeSearch::summarise(const NodeRange& range, int thread, bool is_subtracted) {
    if (incremental_) return incremental_->summarise(range, store_of(thread), thread);
    // A child's histogram may be its parent's minus its sibling's: all three must then be sums of
    // the same numbers, so these children are not centred. None takes part within a subtree. A
    // parent is centred before its histograms are built, unless large nodes have no store.
    const bool is_kept_raw = !plan_.is_best_first && keeps_histograms(range.size());
    const bool centre = threads_[thread]->is_in_subtree || !(is_subtracted || is_kept_raw);
    return workspace_.summarise(range, store_of(thread), centre, plan_.needs_sums(range.size()),
                                plan_.needs_products(range.size()),
                                threads_[thread]->is_in_subtree ? nullptr : &team_);
}

void NodeSearch::summarise_children(const NodeRange& parent, NodeTotals& parent_totals,
                                    const NodeRange& left, const NodeRange& right, int thread,
                                    NodeTotals& left_totals, NodeTotals& right_totals) {
    incremental_->summarise_children(parent, parent_totals, left, right, store_of(thread), thread,
                                     left_totals, right_totals);
}

FeatureKind NodeSearch::kind_of(int32_t feature) const {
    if (workspace_.binned.is_categorical[feature]) return FeatureKind::category;
    return workspace_.feature_home[feature] < 0 ? FeatureKind::sparse_numeric
                                                : FeatureKind::numeric;
}

void NodeSearch::add_candidate(Thread& thread, NodeKind kind, int32_t feature, uint64_t rank,
                               int64_t n_rows) const {
    Candidates& candidates = thread.candidates;
    const Finder finder = plan_.finder(kind, kind_of(feature), n_rows);
    if (finder == Finder::random_cuts || finder == Finder::sorted_list) {
        thread.used.add(finder);
        candidates.simple_features.push_back(feature);
        candidates.simple_ranks.push_back(rank);
    } else if (finder == Finder::histogram) {
        thread.used.add(finder);
        std::vector<FeatureTile>& tiles = candidates.tiles;
        if (tiles.empty() || tiles.back().n_features == kTileFeatures) tiles.emplace_back();
        FeatureTile& tile = tiles.back();
        tile.ranks[tile.n_features] = rank;
        tile.features[tile.n_features++] = feature;
    } else {
        candidates.features.push_back(feature);
        candidates.ranks.push_back(rank);
    }
}

void NodeSearch::Candidates::clear() {
    tiles.clear();
    simple_features.clear();
    simple_ranks.clear();
    features.clear();
    ranks.clear();
}

// Lists and subtracted histograms have seen the numeric features of a node already.
const NodeSearch::Candidates& NodeSearch::take_all(const SearchNode& node, NodeKind kind,
                                                   Thread& thread) const {
    thread.candidates.clear();
    auto add = [&](int32_t feature) {
        add_candidate(thread, kind, feature, feature_rank(node.seed, feature), node.range.size());
    };
    if (kind != NodeKind::listed && kind != NodeKind::sibling)
        for (int32_t feature : dense_numeric_) add(feature);
    for (int32_t feature : dense_other_) add(feature);
    if (workspace_.binned.n_sparse > 0) {
        thread.entries.collect(node.range, nullptr);
        for (int32_t slot : thread.entries.touched()) add(workspace_.binned.sparse_features[slot]);
    }
    return thread.candidates;
}

const NodeSearch::Candidates& NodeSearch::take_drawn(const SearchNode& node, NodeKind kind,
                                                     Thread& thread) const {
    thread.candidates.clear();
    std::vector<int32_t> slots;
    thread.draw.for_each(node.seed, 0, workspace_.params.max_features,
                         [&](int32_t feature, int64_t i) {
                             if (workspace_.feature_home[feature] < 0)
                                 slots.push_back(~workspace_.feature_home[feature]);
                             add_candidate(thread, kind, feature, i, node.range.size());
                             return true;
                         });
    if (!slots.empty()) thread.entries.collect(node.range, &slots);
    return thread.candidates;
}

const NodeSearch::Candidates& NodeSearch::candidates_of(const SearchNode& node, NodeKind kind,
                                                        Thread& thread) const {
    return plan_.draws_features ? take_drawn(node, kind, thread) : take_all(node, kind, thread);
}

void NodeSearch::search_feature(const SearchNode& node, const Candidates& candidates, size_t at,
                                const SparseEntries& entries, Thread& thread, Split& best) const {
    const int32_t feature = candidates.features[at];
    if (workspace_.feature_home[feature] >= 0)
        thread.features.search_dense(node, feature, candidates.ranks[at], best);
    else
        thread.features.search_sparse(node, feature, candidates.ranks[at], entries, best);
}

void NodeSearch::search_simple(const SearchNode& node, NodeKind kind, const Candidates& candidates,
                               size_t begin, size_t end, Thread& thread, Split& best) const {
    if (begin == end) return;
    const int32_t* const features = candidates.simple_features.data();
    const uint64_t* const ranks = candidates.simple_ranks.data();
    if (thread.cuts)
        return thread.cuts->search(node, features + begin, ranks + begin, end - begin, best);
    thread.list_search.start(node, kind, end - begin);
    for (size_t at = begin; at < end; ++at)
        thread.list_search.search(node, features[at], ranks[at],
                                  thread.list_search.sort(node.range, features[at]), best);
}

void NodeSearch::search_drawn_cuts(const SearchNode& node, Thread& thread, Split& best) const {
    Candidates& candidates = thread.candidates;
    const int64_t n_drawn = workspace_.params.max_features;
    candidates.simple_features.resize(n_drawn);
    candidates.simple_ranks.resize(n_drawn);
    thread.draw.for_each(node.seed, 0, n_drawn, [&](int32_t feature, int64_t i) {
        candidates.simple_features[i] = feature;
        candidates.simple_ranks[i] = i;
        return true;
    });
    thread.cuts->search(node, candidates.simple_features.data(), candidates.simple_ranks.data(),
                        n_drawn, best);
    if (!best.found()) search_remaining(node, thread, best);
}

// None of the drawn features can split the node: go on drawing, one by one, until one can.
void NodeSearch::search_remaining(const SearchNode& node, Thread& thread, Split& best) const {
    if (workspace_.binned.n_sparse > 0) thread.entries.collect(node.range, nullptr);
    thread.draw.for_each(node.seed, workspace_.params.max_features, workspace_.binned.n_features,
                         [&](int32_t feature, int64_t i) {
                             workspace_.interrupt.check();
                             if (workspace_.feature_home[feature] >= 0)
                                 thread.features.search_dense(node, feature, i, best);
                             else
                                 thread.features.search_sparse(node, feature, i, thread.entries,
                                                               best);
                             return !best.found();
                         });
}

Split NodeSearch::find(const SearchNode& node, int thread_id) {
    if (incremental_) return incremental_->find(node, thread_id);
    Thread& thread = *threads_[thread_id];
    Split best = new_split();
    const NodeKind kind = thread.lists.is_active() ? NodeKind::listed : NodeKind::subtree;
    const Finder numeric = dense_numeric_.empty()
                               ? Finder::walk
                               : plan_.finder(kind, FeatureKind::numeric, node.range.size());
    if (kind == NodeKind::listed) {
        thread.used.add(numeric);
        thread.lists.search(node, thread.list_search, best);
    }
    if (plan_.has_other_features || !(kind == NodeKind::listed || numeric == Finder::random_cuts))
        search_candidates(node, kind, thread, best);
    else if (numeric == Finder::random_cuts)
        search_cuts(node, thread, best);
    count_node(thread);
    return best;
}

// Where all features are dense and numeric.
void NodeSearch::search_cuts(const SearchNode& node, Thread& thread, Split& best) const {
    thread.used.add(Finder::random_cuts);
    if (plan_.draws_features) return search_drawn_cuts(node, thread, best);
    thread.cuts->search(node, dense_numeric_.data(), nullptr, dense_numeric_.size(), best);
}

void NodeSearch::search_candidates(const SearchNode& node, NodeKind kind, Thread& thread,
                                   Split& best) const {
    const Candidates& candidates = candidates_of(node, kind, thread);
    const bool is_long = node.range.size() * workspace_.channels.n_channels >= kAddsPerCheck;
    auto check = [&] {
        if (is_long) workspace_.interrupt.check();
    };
    for (const FeatureTile& tile : candidates.tiles) {
        check();
        thread.histograms.search_tile(node, tile, best);
    }
    search_simple(node, kind, candidates, 0, candidates.simple_features.size(), thread, best);
    for (size_t at = 0; at < candidates.features.size(); ++at) {
        check();
        search_feature(node, candidates, at, thread.entries, thread, best);
    }
    if (!best.found() && plan_.draws_features) search_remaining(node, thread, best);
}

void NodeSearch::count_node(Thread& thread) const {
    thread.used.add(thread.features.used.take());
    thread.used.add(thread.list_search.used.take());
    thread.counts.add(thread.used.take());
}

void NodeSearch::count_node_of_team() {
    Thread& caller = *threads_[0];
    for (auto& thread : threads_) {
        caller.used.add(thread->used.take());
        caller.used.add(thread->features.used.take());
        caller.used.add(thread->list_search.used.take());
    }
    count_node(caller);
}

FinderCounts NodeSearch::finder_counts() const {
    FinderCounts total = incremental_ ? incremental_->finder_counts() : FinderCounts{};
    for (const auto& small : small_) total.add(small->counts);
    for (const auto& thread : threads_) total.add(thread->counts);
    return total;
}

uint64_t NodeSearch::work() const {
    uint64_t total = incremental_ ? incremental_->work() : 0;
    for (const auto& small : small_) total += small->work();
    if (histograms_) total += histograms_->work();
    for (const auto& thread : threads_)
        total += thread->features.work + thread->list_search.work() +
                 thread->sibling_search.work() + (thread->cuts ? thread->cuts->work() : 0);
    return total;
}

}  // namespace polyleaf
