#include "grow/node_search.hpp"

#include <algorithm>

#include "base/random.hpp"
#include "bin/row_orders.hpp"

namespace polyleaf {

namespace {

// Below this many rows a histogram is built as quickly as it is subtracted.
constexpr int64_t kSubtractionMinRows = 4096;
// Histograms of a node that are kept whatever the number of rows; a few nodes have them at a time.
constexpr size_t kFewHistogramBytes = size_t{16} << 20;
// Below this many rows, sorting beats filling a histogram of 256 bins.
constexpr int64_t kHistogramMinRows = 384;
// A drawn feature has no neighbours to share a pass with: sorting pays up to here.
constexpr int64_t kHistogramMinDrawnRows = 1024;

}  // namespace

NodeSearch::Thread::Thread(Workspace& workspace, const std::vector<int32_t>& dense_numeric,
                           const CutGuide* guide)
    : features(workspace),
      histograms(workspace),
      list_search(workspace),
      sibling_search(workspace),
      lists(workspace, dense_numeric),
      cuts(guide ? std::make_unique<CutSearch>(workspace, *guide) : nullptr),
      entries(workspace),
      draw(workspace.params.max_features < workspace.binned.n_features
               ? workspace.binned.n_features
               : 0) {}

NodeSearch::NodeSearch(Workspace& workspace, ThreadTeam& team)
    : workspace_(workspace), team_(team) {
    const bool is_automatic = workspace.params.histogram_min_rows == 0;
    histogram_min_rows_ = is_automatic ? kHistogramMinRows : workspace.params.histogram_min_rows;
    if (workspace.is_incremental) {
        incremental_ = std::make_unique<IncrementalSearch>(workspace, team);
        if (!workspace.channels.is_sparse()) workspace.load({0, workspace.n_rows}, resident_);
        prepare_small_nodes();
        return;
    }
    const BinnedView& binned = workspace.binned;
    for (int32_t i = 0; i < binned.n_dense; ++i) {
        const int32_t feature = binned.dense_features[i];
        (binned.is_categorical[feature] ? dense_other_ : dense_numeric_).push_back(feature);
    }
    histograms_possible_ = binned.codes_u8 && !workspace.params.random_cuts &&
                           !workspace.params.double_precision && !dense_numeric_.empty();
    simple_possible_ = is_automatic && binned.codes_u8 && !workspace.params.double_precision &&
                       !workspace.per_channel() && workspace.params.l2_regularization == 0.0;
    if (simple_possible_ && workspace.params.random_cuts && !dense_numeric_.empty()) {
        const CutData& data =
            (binned.cuts ? *binned.cuts : own_cuts_).get(binned, workspace.interrupt);
        workspace.row_codes = &data.codes;
        cut_guide_ = &data.guide;
    }
    for (int i = 0; i < team.size(); ++i)
        threads_.push_back(std::make_unique<Thread>(workspace, dense_numeric_, cut_guide_));
    lists_possible_ = simple_possible_ && histograms_possible_ && !draws_features();
    other_features_ = !dense_other_.empty() || binned.n_sparse > 0;
    if (keeps_whole_lists()) {
        histograms_possible_ = false;
        whole_lists_ = std::make_unique<PresortedLists>(workspace, dense_numeric_);
        whole_lists_->start({0, workspace.n_rows});
    }
    for (size_t i = 0; i < dense_numeric_.size(); ++i) {
        if (i % kTileFeatures == 0) all_tiles_.emplace_back();
        FeatureTile& tile = all_tiles_.back();
        tile.features[tile.n_features++] = dense_numeric_[i];
    }
    // Kept histograms may take as much memory as the codes they save passes over, or little.
    subtraction_possible_ =
        histograms_possible_ && !draws_features() && workspace.params.max_leaf_nodes < 0 &&
        NodeHistograms::bytes(workspace, all_tiles_.size()) <=
            std::max(static_cast<size_t>(binned.n_rows) * binned.n_dense, kFewHistogramBytes);
    is_lazy_ = histograms_possible_ && !other_features_ && !draws_features() &&
               !workspace.per_channel() && workspace.params.max_leaf_nodes < 0 &&
               histogram_min_rows_ <= subtree_rows();
    if (!is_lazy_) workspace.load({0, workspace.n_rows}, resident_);
    prepare_small_nodes();
}

void NodeSearch::prepare_small_nodes() {
    for (int i = 0; i < team_.size() && SmallSearch::knows(workspace_); ++i)
        small_.push_back(std::make_unique<SmallSearch>(workspace_, cut_guide_));
}

bool NodeSearch::keeps_whole_lists() const {
    return lists_possible_ && !other_features_ && workspace_.has_row_orders() &&
           uses_whole_orders(workspace_.n_rows, workspace_.channels.n_channels);
}

bool NodeSearch::uses_histograms(int64_t n_rows) const {
    return histograms_possible_ && n_rows >= histogram_min_rows_;
}

bool NodeSearch::keeps_histograms(int64_t n_rows) const {
    // Children that are grown from lists have no use for histograms.
    return subtraction_possible_ && n_rows >= kSubtractionMinRows && n_rows > 2 * subtree_rows() &&
           uses_histograms(n_rows);
}

std::unique_ptr<NodeHistograms> NodeSearch::new_histograms() {
    if (!spare_.empty()) {
        std::unique_ptr<NodeHistograms> histograms = std::move(spare_.back());
        spare_.pop_back();
        return histograms;
    }
    return std::make_unique<NodeHistograms>(workspace_, all_tiles_.size());
}

void NodeSearch::start_subtree(const NodeRange& subtree, int thread) {
    if (incremental_) return;
    Thread& state = *threads_[thread];
    state.is_in_subtree = true;
    if (is_lazy_) workspace_.load(subtree, state.store);
    if (whole_lists_) return state.lists.share(*whole_lists_);
    if (lists_possible_ && PresortedLists::is_worthwhile(subtree.size(), dense_numeric_.size()))
        state.lists.start(subtree);
}

void NodeSearch::stop_subtree(int thread) {
    if (incremental_) return incremental_->forget(thread);
    threads_[thread]->lists.stop();
    threads_[thread]->is_in_subtree = false;
}

void NodeSearch::release_large_buffers() {
    if (incremental_) incremental_->forget(0);
    spare_.clear();
    block_ = {};
    codes_ = {};
    tile_scores_ = {};
    sibling_scores_ = {};
}

int64_t NodeSearch::partition(const NodeRange& range, const Split& split, int thread,
                              NodeTotals totals[2]) {
    if (incremental_) return incremental_->partition(range, split, store_of(thread), thread);
    Thread& state = *threads_[thread];
    if (!state.cuts || other_features_)
        return workspace_.partition(range, split, store_of(thread), state.partition);
    const NodeRange left{range.begin, range.begin + split.n_left};
    const NodeRange right{left.end, range.end};
    // The best node comes first there, whatever its size.
    const bool is_best_first = workspace_.params.max_leaf_nodes > 0;
    const bool needs_sums[2] = {is_best_first || !small_search(left, thread),
                                is_best_first || !small_search(right, thread)};
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
    // the same numbers, so nodes that take part are not centred. None does within a subtree.
    const bool centre =
        threads_[thread]->is_in_subtree || !(is_subtracted || keeps_histograms(range.size()));
    const bool walks = !uses_histograms(range.size()) || other_features_ || draws_features();
    const bool is_simple = simple_possible_ && !other_features_ &&
                           (workspace_.params.random_cuts || !uses_histograms(range.size()));
    return workspace_.summarise(range, store_of(thread), centre, !is_simple, walks,
                                threads_[thread]->is_in_subtree ? nullptr : &team_);
}

void NodeSearch::summarise_children(const NodeRange& parent, NodeTotals& parent_totals,
                                    const NodeRange& left, const NodeRange& right, int thread,
                                    NodeTotals& left_totals, NodeTotals& right_totals) {
    incremental_->summarise_children(parent, parent_totals, left, right, store_of(thread), thread,
                                     left_totals, right_totals);
}

bool NodeSearch::is_histogram_feature(int32_t feature) const {
    return workspace_.feature_home[feature] >= 0 && !workspace_.binned.is_categorical[feature];
}

void NodeSearch::add_candidate(Plan& plan, int32_t feature, uint64_t rank, int64_t n_rows) const {
    const bool is_numeric = is_histogram_feature(feature);
    if (is_numeric && simple_possible_ &&
        (workspace_.params.random_cuts || n_rows < kHistogramMinDrawnRows)) {
        plan.simple_features.push_back(feature);
        plan.simple_ranks.push_back(rank);
    } else if (is_numeric && uses_histograms(n_rows)) {
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

void NodeSearch::Plan::clear() {
    tiles.clear();
    simple_features.clear();
    simple_ranks.clear();
    features.clear();
    ranks.clear();
}

const NodeSearch::Plan& NodeSearch::plan_all(const SearchNode& node, Thread& thread,
                                             bool with_numeric) const {
    Plan& plan = thread.plan;
    plan.clear();
    const int64_t n_rows = node.range.size();
    auto rank = [&](int32_t feature) { return feature_rank(node.seed, feature); };
    if (with_numeric)
        for (int32_t feature : dense_numeric_) add_candidate(plan, feature, rank(feature), n_rows);
    for (int32_t feature : dense_other_) add_candidate(plan, feature, rank(feature), n_rows);
    if (workspace_.binned.n_sparse > 0) {
        thread.entries.collect(node.range, nullptr);
        for (int32_t slot : thread.entries.touched()) {
            const int32_t feature = workspace_.binned.sparse_features[slot];
            add_candidate(plan, feature, rank(feature), n_rows);
        }
    }
    return plan;
}

const NodeSearch::Plan& NodeSearch::plan_drawn(const SearchNode& node, Thread& thread) const {
    Plan& plan = thread.plan;
    plan.clear();
    std::vector<int32_t> slots;
    thread.draw.for_each(node.seed, 0, workspace_.params.max_features,
                         [&](int32_t feature, int64_t i) {
                             if (workspace_.feature_home[feature] < 0)
                                 slots.push_back(~workspace_.feature_home[feature]);
                             add_candidate(plan, feature, i, node.range.size());
                             return true;
                         });
    if (!slots.empty()) thread.entries.collect(node.range, &slots);
    return plan;
}

const NodeSearch::Plan& NodeSearch::plan_of(const SearchNode& node, Thread& thread) const {
    return draws_features() ? plan_drawn(node, thread) : plan_all(node, thread, true);
}

void NodeSearch::search_feature(const SearchNode& node, const Plan& plan, size_t at,
                                const SparseEntries& entries, Thread& thread, Split& best) const {
    const int32_t feature = plan.features[at];
    if (workspace_.feature_home[feature] >= 0)
        thread.features.search_dense(node, feature, plan.ranks[at], best);
    else
        thread.features.search_sparse(node, feature, plan.ranks[at], entries, best);
}

void NodeSearch::search_simple(const SearchNode& node, const Plan& plan, size_t begin, size_t end,
                               Thread& thread, Split& best) const {
    if (begin == end) return;
    if (workspace_.params.random_cuts) {
        thread.cuts->search(node, plan.simple_features.data() + begin,
                            plan.simple_ranks.data() + begin, end - begin, best);
        return;
    }
    thread.list_search.start(node, end - begin);
    for (size_t at = begin; at < end; ++at)
        thread.list_search.search(node, plan.simple_features[at], plan.simple_ranks[at],
                                  thread.list_search.sort(node.range, plan.simple_features[at]),
                                  best);
}

void NodeSearch::search_drawn_cuts(const SearchNode& node, Thread& thread, Split& best) const {
    Plan& plan = thread.plan;
    const int64_t n_drawn = workspace_.params.max_features;
    plan.simple_features.resize(n_drawn);
    plan.simple_ranks.resize(n_drawn);
    thread.draw.for_each(node.seed, 0, n_drawn, [&](int32_t feature, int64_t i) {
        plan.simple_features[i] = feature;
        plan.simple_ranks[i] = i;
        return true;
    });
    thread.cuts->search(node, plan.simple_features.data(), plan.simple_ranks.data(), n_drawn,
                        best);
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
    if (thread.lists.is_active()) {
        thread.lists.search(node, thread.list_search, best);
        if (!other_features_) return best;
    }
    if (thread.cuts && !other_features_ && !draws_features()) {
        thread.cuts->search(node, dense_numeric_.data(), nullptr, dense_numeric_.size(), best);
        return best;
    }
    if (thread.cuts && !other_features_) {
        search_drawn_cuts(node, thread, best);
        return best;
    }
    const Plan& plan =
        thread.lists.is_active() ? plan_all(node, thread, false) : plan_of(node, thread);
    const bool is_long = node.range.size() * workspace_.channels.n_channels >= kAddsPerCheck;
    auto check = [&] {
        if (is_long) workspace_.interrupt.check();
    };
    for (const FeatureTile& tile : plan.tiles) {
        check();
        thread.histograms.search_tile(node, tile, best);
    }
    search_simple(node, plan, 0, plan.simple_features.size(), thread, best);
    for (size_t at = 0; at < plan.features.size(); ++at) {
        check();
        search_feature(node, plan, at, thread.entries, thread, best);
    }
    if (!best.found() && draws_features()) search_remaining(node, thread, best);
    return best;
}

uint64_t NodeSearch::work() const {
    uint64_t total = incremental_ ? incremental_->work() : 0;
    for (const auto& small : small_) total += small->work();
    for (const auto& thread : threads_)
        total += thread->features.work + thread->histograms.work + thread->list_search.work() +
                 thread->sibling_search.work() + (thread->cuts ? thread->cuts->work() : 0);
    return total;
}

}  // namespace polyleaf
