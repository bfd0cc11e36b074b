// Finds a node's best split: draws its candidate features and hands each to the finder that the
// plan of the tree names (plan.hpp).
#pragma once

#include <memory>
#include <vector>

#include "base/parallel.hpp"
#include "bin/shared_cuts.hpp"
#include "grow/cut_search.hpp"
#include "grow/feature_search.hpp"
#include "grow/histogram_team.hpp"
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
        if (!plan_.loads_lazily) return &resident_;
        return state.is_in_subtree ? &state.store : nullptr;
    }
    // Sums of the node, ready for `find`; centres the node's channels unless histograms of them
    // are subtracted.
    NodeTotals summarise(const NodeRange& range, int thread, bool is_subtracted);
    // Whether the sums of children are derived from those of their parent, which must be kept.
    bool is_incremental() const { return plan_.is_incremental; }
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
        return plan_.keeps_flag_sums && n_rows >= plan_.flag_sums_rows;
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
    bool has_whole_lists() const { return plan_.holds(When::whole_lists); }
    struct Child {
        SearchNode node;
        bool is_searched = false;
        Split best;
    };
    void split_and_search_lists(const NodeRange& parent, Child (&children)[2]);

    // The search of nodes that are small enough for it, or null.
    SmallSearch* small_search(const NodeRange& range, int thread) {
        return range.size() <= plan_.small_rows ? small_[thread].get() : nullptr;
    }

    // Frees what only large nodes need, before the subtrees are grown.
    void release_large_buffers();

    int64_t subtree_rows() const { return plan_.subtree_rows; }

    // Whether a node of this size keeps its histograms for its children.
    bool keeps_histograms(int64_t n_rows) const { return n_rows >= plan_.subtraction_rows; }
    int64_t waiting_histograms() const { return plan_.waiting_histograms; }
    std::unique_ptr<NodeHistograms> new_histograms();
    // Lets another node have them.
    void reuse(std::unique_ptr<NodeHistograms> histograms) {
        if (histograms) spare_.push_back(std::move(histograms));
    }
    uint64_t work() const;
    // Nodes that were served so far.
    FinderCounts finder_counts() const;
    // Makes the thresholds of random cuts.
    void finish_cuts(std::vector<TreeNode>& nodes) const {
        if (!cut_guide_) return;
        cut_guide_->finish(kernels_for(workspace_.lanes), workspace_.feature_home, nodes);
    }

  private:
    // What one node looks at, cut into pieces that any thread may take.
    struct Candidates {
        std::vector<FeatureTile> tiles;  // for histograms
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
               const CutGuide* guide, HistogramSearch& histograms);
        FeatureSearch features;
        HistogramSearch& histograms;
        ListSearch list_search, sibling_search;
        PresortedLists lists;
        ListScratch scratch;              // for lists of the whole tree
        std::unique_ptr<CutSearch> cuts;  // null unless cuts are random
        SparseEntries entries;
        ChannelStore store;  // of the subtree it grows, if channels are loaded lazily
        bool is_in_subtree = false;
        PartitionScratch partition;
        Candidates candidates;  // of the node at hand
        FeatureDraw draw;
        FinderSet used;  // of the node at hand, beside those of its searches
        FinderCounts counts;
    };
    Split new_split() const {
        Split split;
        split.is_exact = workspace_.params.double_precision;
        return split;
    }
    void prepare_small_nodes();
    FeatureKind kind_of(int32_t feature) const;
    void add_candidate(Thread& thread, NodeKind kind, int32_t feature, uint64_t rank,
                       int64_t n_rows) const;
    // Each fills the thread's candidates.
    const Candidates& take_all(const SearchNode& node, NodeKind kind, Thread& thread) const;
    const Candidates& take_drawn(const SearchNode& node, NodeKind kind, Thread& thread) const;
    const Candidates& candidates_of(const SearchNode& node, NodeKind kind, Thread& thread) const;
    void search_feature(const SearchNode& node, const Candidates& candidates, size_t at,
                        const SparseEntries& entries, Thread& thread, Split& best) const;
    // The simple features from `begin` to `end`.
    void search_simple(const SearchNode& node, NodeKind kind, const Candidates& candidates,
                       size_t begin, size_t end, Thread& thread, Split& best) const;
    void search_candidates(const SearchNode& node, NodeKind kind, Thread& thread,
                           Split& best) const;
    // Random cuts of all features or of drawn ones, where all are dense and numeric.
    void search_cuts(const SearchNode& node, Thread& thread, Split& best) const;
    void search_drawn_cuts(const SearchNode& node, Thread& thread, Split& best) const;
    // Splits of single features, by the whole team.
    void search_features_with_team(const SearchNode& node, const Candidates& candidates,
                                   Split& best);
    void reduce(std::vector<Split>& candidates, Split& best) const;
    void search_whole_lists(const SearchNode& node, Split& best);
    void search_remaining(const SearchNode& node, Thread& thread, Split& best) const;
    // Takes note of the finders that served a node: those of one thread, or of all.
    void count_node(Thread& thread) const;
    void count_node_of_team();

    Workspace& workspace_;
    const SearchPlan& plan_;
    ThreadTeam& team_;
    SharedCuts own_cuts_;
    const CutGuide* cut_guide_ = nullptr;               // for random cuts only
    std::vector<std::unique_ptr<Thread>> threads_;      // none if the search is incremental
    std::unique_ptr<IncrementalSearch> incremental_;    // else null
    std::vector<std::unique_ptr<SmallSearch>> small_;   // one per thread, or none
    std::vector<int32_t> dense_numeric_, dense_other_;  // feature ids
    std::vector<FeatureTile> all_tiles_;
    std::unique_ptr<PresortedLists> whole_lists_;  // null unless all nodes have lists
    ChannelStore resident_;  // channels of all rows; empty if they are loaded lazily
    std::unique_ptr<HistogramTeam> histograms_;  // null if the search is incremental
    std::vector<std::unique_ptr<NodeHistograms>> spare_;
};

}  // namespace polyleaf
