#include "grow/incremental_search.hpp"

#include <algorithm>
#include <optional>

#include "base/random.hpp"

namespace polyleaf {

namespace {

// Features with two values that are searched at a time.
constexpr int64_t kPieceFeatures = 64;

}  // namespace

IncrementalSearch::Thread::Thread(Workspace& workspace)
    : features(workspace),
      flag_search(workspace),
      entries(workspace),
      label_totals(workspace),
      draw(workspace.plan.draws_features ? workspace.binned.n_features : 0) {}

IncrementalSearch::IncrementalSearch(Workspace& workspace, ThreadTeam& team)
    : workspace_(workspace), team_(team) {
    for (int i = 0; i < team.size(); ++i) threads_.push_back(std::make_unique<Thread>(workspace));
}

NodeTotals IncrementalSearch::summarise(const NodeRange& range, ChannelStore* store, int id) {
    Thread& thread = *threads_[id];
    NodeTotals totals;
    if (workspace_.channels.is_sparse()) {
        const LabelSums sums =
            sum_labels(workspace_, range, thread.label_totals.sums(), thread.features.label_sums);
        totals.set(range, sums.weight, sums.square, sums.norm,
                   workspace_.params.l2_regularization);
    } else {
        workspace_.sum_channels(range, *store, totals.gradient, totals);
    }
    totals.n_fresh = range.size();
    return totals;
}

void IncrementalSearch::summarise_children(const NodeRange& parent, NodeTotals& parent_totals,
                                           const NodeRange& left, const NodeRange& right,
                                           ChannelStore* store, int id, NodeTotals& left_totals,
                                           NodeTotals& right_totals) {
    const bool left_is_small = left.size() <= right.size();
    const NodeRange& small = left_is_small ? left : right;
    const NodeRange& large = left_is_small ? right : left;
    NodeTotals& small_totals = left_is_small ? left_totals : right_totals;
    NodeTotals& large_totals = left_is_small ? right_totals : left_totals;
    // Rounding errors stay those of sums over twice as many rows.
    const bool is_fresh = 2 * large.size() < parent_totals.n_fresh;
    const double lambda = workspace_.params.l2_regularization;
    Thread& thread = *threads_[id];
    if (workspace_.channels.is_sparse()) {
        thread.label_totals.move_to(parent);
        const LabelSums sums =
            sum_labels(workspace_, small, thread.label_totals.sums(), thread.features.label_sums);
        small_totals.set(small, sums.weight, sums.square, sums.norm, lambda);
        large_totals.set(large, parent_totals.weight - sums.weight,
                         parent_totals.square - sums.square,
                         parent_totals.norm - 2.0 * sums.product + sums.norm, lambda);
    } else {
        workspace_.sum_channels(small, *store, thread.sums, small_totals);
        large_totals.gradient = std::move(parent_totals.gradient);
        double norm = 0.0;
        for (size_t k = 0; k < thread.sums.size(); ++k) {
            large_totals.gradient[k] -= thread.sums[k];
            norm += large_totals.gradient[k] * large_totals.gradient[k];
        }
        // A row alone is never searched.
        if (small.size() > 1) small_totals.gradient = thread.sums;
        large_totals.set(large, parent_totals.weight - small_totals.weight,
                         parent_totals.square - small_totals.square, norm, lambda);
    }
    small_totals.n_fresh = small.size();
    large_totals.n_fresh = parent_totals.n_fresh;
    if (is_fresh) large_totals = summarise(large, store, id);
}

void IncrementalSearch::add_candidate(int32_t feature, uint64_t rank, Thread& thread) {
    const int32_t home = workspace_.feature_home[feature];
    if (home < 0) thread.slots.push_back(~home);
    (is_flag(feature) ? thread.flags : thread.others).add(feature, rank);
}

void IncrementalSearch::draw_candidates(const SearchNode& node, Thread& thread) {
    thread.draw.for_each(node.seed, 0, workspace_.params.max_features,
                         [&](int32_t feature, int64_t i) {
                             add_candidate(feature, i, thread);
                             return true;
                         });
}

SearchNode IncrementalSearch::prepare(const SearchNode& node, Thread& thread) {
    thread.flags.clear();
    thread.others.clear();
    thread.slots.clear();
    const BinnedView& binned = workspace_.binned;
    if (workspace_.plan.draws_features) {
        draw_candidates(node, thread);
        if (!thread.slots.empty()) thread.entries.collect(node.range, &thread.slots);
    } else {
        auto add = [&](int32_t feature) {
            add_candidate(feature, feature_rank(node.seed, feature), thread);
        };
        for (int32_t i = 0; i < binned.n_dense; ++i) add(binned.dense_features[i]);
        if (binned.n_sparse > 0 && !node.listed) {
            thread.entries.collect(node.range, nullptr);
            for (int32_t slot : thread.entries.touched()) add(binned.sparse_features[slot]);
        }
    }
    SearchNode ready = node;
    if (workspace_.channels.is_sparse()) {
        thread.label_totals.move_to(node.range);
        ready.label_totals = thread.label_totals.sums();
    }
    return ready;
}

void IncrementalSearch::search_other(const SearchNode& node, int32_t feature, uint64_t rank,
                                     const SparseEntries& entries, Thread& thread, Split& best) {
    if (workspace_.feature_home[feature] >= 0)
        thread.features.search_dense(node, feature, rank, best);
    else
        thread.features.search_sparse(node, feature, rank, entries, best);
}

int64_t IncrementalSearch::n_pieces(const Thread& caller) const {
    return (caller.flags.size() + kPieceFeatures - 1) / kPieceFeatures + caller.others.size();
}

void IncrementalSearch::search_piece(const SearchNode& node, const Thread& caller, int64_t piece,
                                     Thread& thread, Split& best) {
    if (piece < caller.others.size()) {
        search_other(node, caller.others.features[piece], caller.others.ranks[piece],
                     caller.entries, thread, best);
        return;
    }
    const int64_t begin = (piece - caller.others.size()) * kPieceFeatures;
    thread.used.add(Finder::flags);
    thread.flag_search.search(node, caller.flags.features.data() + begin,
                              caller.flags.ranks.data() + begin,
                              std::min(kPieceFeatures, caller.flags.size() - begin),
                              caller.entries, thread.features.label_sums, best);
}

std::unique_ptr<FlagSums> IncrementalSearch::listed_sums_of(const NodeRange& range,
                                                            ChannelStore& store) const {
    const Blocks gradient = workspace_.gradient_blocks(store, range);
    return std::make_unique<FlagSums>(listed_sums(workspace_, range, gradient.data, &team_));
}

Split IncrementalSearch::find(const SearchNode& given, int id) {
    Thread& thread = *threads_[id];
    SearchNode wanted = given;
    std::optional<FlagSums> own;
    if (uses_flag_sums(NodeKind::subtree, given.range.size())) {
        const Blocks gradient = workspace_.gradient_blocks(*given.store, given.range);
        own.emplace(listed_sums(workspace_, given.range, gradient.data, nullptr));
        wanted.listed = &*own;
    }
    const SearchNode node = prepare(wanted, thread);
    Split best = new_split();
    if (node.listed) search_listed(node, thread, best);
    for (int64_t piece = 0; piece < n_pieces(thread); ++piece) {
        if (node.range.size() >= kAddsPerCheck) workspace_.interrupt.check();
        search_piece(node, thread, piece, thread, best);
    }
    if (!best.found() && workspace_.plan.draws_features) search_remaining(node, thread, best);
    count_node(thread);
    return best;
}

Split IncrementalSearch::find_with_team(const SearchNode& given) {
    Thread& caller = *threads_[0];
    SearchNode wanted = given;
    std::unique_ptr<FlagSums> own;
    if (!given.listed && uses_flag_sums(NodeKind::large, given.range.size())) {
        own = listed_sums_of(given.range, *given.store);
        wanted.listed = own.get();
    }
    const SearchNode node = prepare(wanted, caller);
    std::vector<Split> bests(team_.size(), new_split());
    team_.parallel_for(n_pieces(caller), [&](int64_t piece, int id) {
        search_piece(node, caller, piece, *threads_[id], bests[id]);
    });
    Split best = new_split();
    if (node.listed) search_listed(node, caller, best);
    for (Split& candidate : bests)
        if (best.beaten_by(candidate.gain, candidate.rank)) best = std::move(candidate);
    if (!best.found() && workspace_.plan.draws_features) search_remaining(node, caller, best);
    for (auto& thread : threads_) caller.used.add(thread->used.take());
    for (auto& thread : threads_) caller.used.add(thread->features.used.take());
    count_node(caller);
    return best;
}

void IncrementalSearch::search_listed(const SearchNode& node, Thread& thread, Split& best) {
    thread.flag_search.search_listed(node, best);
    thread.used.add(Finder::flag_sums);
}

void IncrementalSearch::count_node(Thread& thread) {
    thread.used.add(thread.features.used.take());
    thread.counts.add(thread.used.take());
}

// None of the drawn features can split the node: the others are tried in random order until one
// can. Those that list none of its rows cannot, and are not even looked at.
void IncrementalSearch::search_remaining(const SearchNode& node, Thread& thread, Split& best) {
    const BinnedView& binned = workspace_.binned;
    auto& waiting = thread.waiting;
    waiting.clear();
    auto add = [&](int32_t feature) {
        waiting.emplace_back(feature_rank(node.seed, feature), feature);
    };
    if (binned.n_sparse > 0) thread.entries.collect(node.range, nullptr);
    for (int32_t slot : thread.entries.touched())
        if (!binned.is_two_valued[binned.sparse_features[slot]] ||
            thread.entries.count(slot) < node.range.size())
            add(binned.sparse_features[slot]);
    for (int32_t i = 0; i < binned.n_dense; ++i) add(binned.dense_features[i]);
    // Nearly always the first will do, so that they are not sorted.
    while (!waiting.empty() && !best.found()) {
        std::iter_swap(std::min_element(waiting.begin(), waiting.end()), waiting.end() - 1);
        const auto [rank, feature] = waiting.back();
        waiting.pop_back();
        if (is_flag(feature)) {
            thread.used.add(Finder::flags);
            thread.flag_search.search(node, &feature, &rank, 1, thread.entries,
                                      thread.features.label_sums, best);
        } else {
            search_other(node, feature, rank, thread.entries, thread, best);
        }
    }
}

bool IncrementalSearch::list_movers(const NodeRange& range, const Split& split, Thread& thread) {
    std::vector<uint32_t>& movers = thread.movers;
    movers.clear();
    const uint32_t n = static_cast<uint32_t>(range.size());
    const int32_t home = workspace_.feature_home[split.feature];
    if (home < 0) {
        const int32_t slot = ~home;
        thread.slots.assign(1, slot);
        thread.entries.collect(range, &thread.slots);
        const bool default_left =
            split.sends_left(workspace_.binned.sparse_default[slot], kMissingU32);
        const bool is_two_valued = workspace_.binned.is_two_valued[split.feature];
        for (int64_t i = 0; i < thread.entries.count(slot); ++i)
            if (is_two_valued ||
                split.sends_left(thread.entries.codes(slot)[i], kMissingU32) != default_left)
                movers.push_back(thread.entries.rows(slot)[i]);
        if (2 * movers.size() <= n) return !default_left;
        movers.clear();
    }
    std::vector<uint8_t>& left = thread.partition.left;
    workspace_.decide_sides(range, split, left);
    const bool left_is_small = 2 * std::count(left.begin(), left.end(), uint8_t{1}) <= n;
    for (uint32_t i = 0; i < n; ++i)
        if ((left[i] != 0) == left_is_small) movers.push_back(i);
    return left_is_small;
}

int64_t IncrementalSearch::partition(const NodeRange& range, const Split& split,
                                     ChannelStore* store, int id) {
    Thread& thread = *threads_[id];
    const bool to_left = list_movers(range, split, thread);
    return workspace_.move_rows(range, thread.movers, to_left, store, thread.partition.is_mover);
}

void IncrementalSearch::forget(int id) {
    threads_[id]->label_totals.forget();
    threads_[id]->entries.forget();
}

uint64_t IncrementalSearch::work() const {
    uint64_t total = 0;
    for (const auto& thread : threads_) total += thread->features.work + thread->flag_search.work;
    return total;
}

FinderCounts IncrementalSearch::finder_counts() const {
    FinderCounts total;
    for (const auto& thread : threads_) total.add(thread->counts);
    return total;
}

}  // namespace polyleaf
