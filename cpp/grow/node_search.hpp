// Finds a node's best split: draws its candidate features and hands them to the right finder.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/parallel.hpp"
#include "bin/shared_cuts.hpp"
#include "grow/cut_search.hpp"
#include "grow/feature_search.hpp"
#include "grow/histogram_search.hpp"
#include "grow/incremental_search.hpp"
#include "grow/list_search.hpp"
#include "grow/presorted_lists.hpp"
#include "grow/small_search.hpp"

namespace polyleaf {

class NodeSearch {
  public:
    NodeSearch(Workspace& workspace, ThreadTeam& team);

    // Where a node's channels are: null while they are only at the source (large nodes).
    ChannelStore* store_of(int thread) {
        if (incremental_) return &resident_;
        Thread& state = *threads_[thread];
        return state.is_in_subtree && is_lazy_ ? &state.store : is_lazy_ ? nullptr : &resident_;
    }
    // Sums of the node, ready for `find`; centres the node's channels unless histograms of them
    // are subtracted.
    NodeTotals summarise(const NodeRange& range, int thread, bool is_subtracted);
    // Whether the sums of children are derived from those of their parent, which must be kept.
    bool is_incremental() const { return workspace_.is_incremental; }
    // Where that is so, the sums of both children of a node that was parted; its own are used up.
    void summarise_children(const NodeRange& parent, NodeTotals& parent_totals,
                            const NodeRange& left, const NodeRange& right, int thread,
                            NodeTotals& left_totals, NodeTotals& right_totals);

    // The best split by one thread (inside a parallel region), or by the whole team.
    Split find(const SearchNode& node, int thread);
    Split find_with_team(const SearchNode& node, NodeHistograms* kept);
    // Whether a node of this size keeps what lets its children be searched quickly
    // (`SearchNode::listed`), and that.
    bool keeps_listed_sums(int64_t n_rows) const {
        return incremental_ &&
               incremental_->keeps_listed_sums(n_rows, workspace_.params.max_leaf_nodes);
    }
    std::unique_ptr<FlagSums> listed_sums_of(const NodeRange& range) {
        return incremental_->listed_sums_of(range, resident_);
    }
    // Both children of a node whose histograms are at hand; `parent` becomes the larger child's.
    void find_siblings_with_team(const SearchNode& small, const SearchNode& large,
                                 NodeHistograms* small_kept, NodeHistograms& parent,
                                 Split& best_small, Split& best_large);

    // Reorders the rows of a node by its split; returns the first position of the right child.
    // totals: of the children, OUT where they come without another look at the rows; those of a
    // child for `small_search` never do.
    int64_t partition(const NodeRange& range, const Split& split, int thread,
                      NodeTotals totals[2]);

    // Between these two, `find` on this thread is for nodes of one small subtree, and
    // `split_lists` must follow a partition if one of the children is searched.
    void start_subtree(const NodeRange& subtree, int thread);
    void stop_subtree(int thread);
    void split_lists(const NodeRange& range, int thread);
    // Outside of subtrees: whether large nodes have lists, too. If so, they are split by the whole
    // team, and the children are searched as their lists are ready.
    bool has_whole_lists() const { return whole_lists_ != nullptr; }
    struct Child {
        SearchNode node;
        bool is_searched = false;
        Split best;
    };
    void split_and_search_lists(const NodeRange& parent, Child (&children)[2]);

    // The search of nodes that are small enough for it, or null.
    SmallSearch* small_search(const NodeRange& range, int thread) {
        return !small_.empty() && SmallSearch::is_small(range) ? small_[thread].get() : nullptr;
    }

    // Frees what only large nodes need, before the subtrees are grown.
    void release_large_buffers();

    // Subtrees of at most this many rows are grown by one thread each, from presorted lists. An
    // eighth of the rows, so that the lists of a subtree take half the memory of all codes.
    int64_t subtree_rows() const {
        if (workspace_.is_incremental) return kIncrementalSubtreeRows;
        if (whole_lists_) return workspace_.n_rows / team_.size();
        // Random cuts need no lists, and one thread no subtrees.
        if (cut_guide_ && team_.size() == 1 && !other_features_) return workspace_.n_rows;
        return workspace_.n_rows <= kMostSubtreeRows
                   ? workspace_.n_rows
                   : std::clamp(workspace_.n_rows / 8, int64_t{1024}, kMostSubtreeRows);
    }

    // Whether a node of this size keeps its histograms for its children.
    bool keeps_histograms(int64_t n_rows) const;
    std::unique_ptr<NodeHistograms> new_histograms();
    // Lets another node have them.
    void reuse(std::unique_ptr<NodeHistograms> histograms) {
        if (histograms) spare_.push_back(std::move(histograms));
    }
    uint64_t work() const;
    // Makes the thresholds of random cuts.
    void finish_cuts(std::vector<TreeNode>& nodes) const {
        if (!cut_guide_) return;
        cut_guide_->finish(kernels_for(workspace_.lanes), workspace_.feature_home, nodes);
    }

  private:
    static constexpr int64_t kMostSubtreeRows = kMaxListRows;
    static constexpr int64_t kIncrementalSubtreeRows = 1 << 15;

    // What one node looks at, cut into pieces that any thread may take.
    struct Plan {
        std::vector<FeatureTile> tiles;
        // Dense numeric features by sorted lists or random cuts, a few to a piece.
        std::vector<int32_t> simple_features;
        std::vector<uint64_t> simple_ranks;
        // All others by a walk over groups.
        std::vector<int32_t> features;
        std::vector<uint64_t> ranks;

        void clear();
    };
    struct Thread {
        Thread(Workspace& workspace, const std::vector<int32_t>& dense_numeric,
               const CutGuide* guide);
        FeatureSearch features;
        HistogramSearch histograms;
        ListSearch list_search, sibling_search;
        PresortedLists lists;
        ListScratch scratch;              // for lists of the whole tree
        std::unique_ptr<CutSearch> cuts;  // null unless cuts are random
        SparseEntries entries;
        ChannelStore store;  // of the subtree it grows, if channels are loaded lazily
        bool is_in_subtree = false;
        PartitionScratch partition;
        Plan plan;  // of the node at hand
        FeatureDraw draw;
    };
    Split new_split() const {
        Split split;
        split.is_exact = workspace_.params.double_precision;
        return split;
    }
    void prepare_small_nodes();
    bool uses_histograms(int64_t n_rows) const;
    bool is_histogram_feature(int32_t feature) const;
    void add_candidate(Plan& plan, int32_t feature, uint64_t rank, int64_t n_rows) const;
    // Each fills the thread's plan.
    const Plan& plan_all(const SearchNode& node, Thread& thread, bool with_numeric) const;
    const Plan& plan_drawn(const SearchNode& node, Thread& thread) const;
    const Plan& plan_of(const SearchNode& node, Thread& thread) const;
    void search_feature(const SearchNode& node, const Plan& plan, size_t at,
                        const SparseEntries& entries, Thread& thread, Split& best) const;
    // The simple features from `begin` to `end` of the plan.
    void search_simple(const SearchNode& node, const Plan& plan, size_t begin, size_t end,
                       Thread& thread, Split& best) const;
    // Random cuts of drawn features, where all features are dense and numeric.
    void search_drawn_cuts(const SearchNode& node, Thread& thread, Split& best) const;
    // Splits of the plan's single features, by the whole team.
    void search_features_with_team(const SearchNode& node, const Plan& plan, Split& best);
    // Histograms of tiles, block by block so that a block of channels is loaded once.
    void search_tiles_with_team(const SearchNode& node, std::vector<FeatureTile> tiles,
                                NodeHistograms* kept, Split& best);
    // Lets tiles read their codes in the order of the node's rows, where several blocks of
    // channels share the copy.
    void order_codes_with_team(const SearchNode& node, std::vector<FeatureTile>& tiles);
    // body(gradient, hessian, block) with each block of the node's channels.
    template <typename Body>
    void for_each_block(const SearchNode& node, Body&& body);
    void reduce(std::vector<Split>& candidates, Split& best) const;
    void search_whole_lists(const SearchNode& node, Split& best);
    // Whether all nodes find their rows sorted, since they came so.
    bool keeps_whole_lists() const;
    void search_remaining(const SearchNode& node, Thread& thread, Split& best) const;
    bool draws_features() const {
        return workspace_.params.max_features < workspace_.binned.n_features;
    }

    Workspace& workspace_;
    ThreadTeam& team_;
    SharedCuts own_cuts_;
    const CutGuide* cut_guide_ = nullptr;               // for random cuts only
    std::vector<std::unique_ptr<Thread>> threads_;      // none if the search is incremental
    std::unique_ptr<IncrementalSearch> incremental_;    // else null
    std::vector<std::unique_ptr<SmallSearch>> small_;   // one per thread, or none
    std::vector<int32_t> dense_numeric_, dense_other_;  // feature ids
    std::vector<FeatureTile> all_tiles_;
    std::unique_ptr<PresortedLists> whole_lists_;  // null unless all nodes have lists
    // Channels of all rows; empty if they are loaded as needed, which takes a fraction of the
    // memory and is possible where large nodes see histograms only.
    ChannelStore resident_;
    bool is_lazy_ = false;
    std::vector<std::unique_ptr<NodeHistograms>> spare_;
    AlignedVector<float> block_;  // some blocks of a large node's channels
    std::vector<uint8_t> codes_;  // of a large node in the order of its rows, [tile][row][lane]
    std::vector<TileScores> tile_scores_, sibling_scores_;
    int64_t histogram_min_rows_;
    // simple_possible_: sorted lists and random cuts apply; lists_possible_: kept presorted, too.
    bool simple_possible_ = false, lists_possible_ = false, histograms_possible_ = false,
         subtraction_possible_ = false, other_features_ = false;
};

}  // namespace polyleaf
