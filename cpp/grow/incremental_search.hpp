// The search of a node whose rows stay where they are: sparse features, or sparse labels.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "grow/feature_draw.hpp"
#include "grow/feature_search.hpp"
#include "grow/flag_search.hpp"
#include "grow/flag_sums.hpp"
#include "grow/label_totals.hpp"
#include "grow/sparse_entries.hpp"

namespace polyleaf {

// Trees on sparse features are deep and lopsided: most splits part a few rows from many. What a
// node costs is therefore kept in proportion to its smaller child and to what its features list:
// a split moves the rows of the smaller child only, the sums of the larger child are its parent's
// minus its sibling's, and sums are in double precision instead of relative to the node's mean.
class IncrementalSearch {
  public:
    IncrementalSearch(Workspace& workspace, ThreadTeam& team);

    NodeTotals summarise(const NodeRange& range, ChannelStore* store, int thread);
    // Sums of both children, which the rows of `parent` are parted into already. The parent's are
    // used up.
    void summarise_children(const NodeRange& parent, NodeTotals& parent_totals,
                            const NodeRange& left, const NodeRange& right, ChannelStore* store,
                            int thread, NodeTotals& left_totals, NodeTotals& right_totals);

    Split find(const SearchNode& node, int thread);
    Split find_with_team(const SearchNode& node);

    // The sums of a node's flags, by all threads.
    std::unique_ptr<FlagSums> listed_sums_of(const NodeRange& range, ChannelStore& store) const;

    int64_t partition(const NodeRange& range, const Split& split, ChannelStore* store, int thread);

    // Between nodes of different subtrees, whose rows other threads may move.
    void forget(int thread);
    uint64_t work() const;
    FinderCounts finder_counts() const;

  private:
    struct Candidates {
        std::vector<int32_t> features;
        std::vector<uint64_t> ranks;
        void add(int32_t feature, uint64_t rank) {
            features.push_back(feature);
            ranks.push_back(rank);
        }
        int64_t size() const { return static_cast<int64_t>(features.size()); }
        void clear() {
            features.clear();
            ranks.clear();
        }
    };
    struct Thread {
        Thread(Workspace& workspace);
        FeatureSearch features;
        FlagSearch flag_search;
        SparseEntries entries;
        LabelTotals label_totals;
        Candidates flags, others;
        std::vector<int32_t> slots;
        FeatureDraw draw;
        std::vector<std::pair<uint64_t, int32_t>> waiting;  // rank, feature
        std::vector<double> sums;                           // of the smaller child's channels
        std::vector<uint32_t> movers;
        PartitionScratch partition;
        FinderSet used;  // of the node at hand, beside those of `features`
        FinderCounts counts;
    };

    bool is_flag(int32_t feature) const {
        return workspace_.feature_home[feature] < 0 && workspace_.binned.is_two_valued[feature];
    }
    Split new_split() const {
        Split split;
        split.is_exact = workspace_.params.double_precision;
        return split;
    }
    // Chooses the candidates and collects their entries; returns the node, ready for them.
    SearchNode prepare(const SearchNode& node, Thread& thread);
    bool uses_flag_sums(NodeKind kind, int64_t n_rows) const {
        return workspace_.plan.finder(kind, FeatureKind::flag, n_rows) == Finder::flag_sums;
    }
    void draw_candidates(const SearchNode& node, Thread& thread);
    void add_candidate(int32_t feature, uint64_t rank, Thread& thread);
    void search_other(const SearchNode& node, int32_t feature, uint64_t rank,
                      const SparseEntries& entries, Thread& thread, Split& best);
    // The candidates of `caller` in pieces that any thread may take.
    int64_t n_pieces(const Thread& caller) const;
    void search_piece(const SearchNode& node, const Thread& caller, int64_t piece, Thread& thread,
                      Split& best);
    void search_remaining(const SearchNode& node, Thread& thread, Split& best);
    void search_listed(const SearchNode& node, Thread& thread, Split& best);
    // Takes note of the finders that served a node.
    void count_node(Thread& thread);
    // Rows of the smaller child, by their places in the node; true if it is the left one.
    bool list_movers(const NodeRange& range, const Split& split, Thread& thread);

    Workspace& workspace_;
    ThreadTeam& team_;
    std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace polyleaf
