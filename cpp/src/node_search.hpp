// Finds a node's best split: draws its candidate features and hands them to the right finder.
#pragma once

#include <memory>
#include <vector>

#include "histogram_search.hpp"
#include "presorted.hpp"
#include "ramify/parallel.hpp"
#include "split_search.hpp"

namespace ramify {

class NodeSearch {
  public:
    NodeSearch(Workspace& workspace, ThreadTeam& team);

    // Sums of the node, ready for `find`; centres the node's channels unless histograms of them
    // are subtracted.
    NodeTotals summarise(const NodeRange& range, int thread, bool is_subtracted);

    // The best split by one thread (inside a parallel region), or by the whole team.
    Split find(const SearchNode& node, int thread);
    Split find_with_team(const SearchNode& node, NodeHistograms* kept);
    // Both children of a node whose histograms are at hand; `parent` becomes the larger child's.
    void find_siblings_with_team(const SearchNode& small, const SearchNode& large,
                                 NodeHistograms* small_kept, NodeHistograms& parent,
                                 Split& best_small, Split& best_large);

    // Between these two, `find` on this thread is for nodes of one small subtree, and `split`
    // must follow each of its splits (`left`: the side of each row before it was reordered).
    void start_subtree(const NodeRange& subtree, int thread);
    void stop_subtree(int thread) { threads_[thread]->lists.stop(); }
    void split(const NodeRange& range, const std::vector<uint8_t>& left, int thread);

    // Whether a node of this size keeps its histograms for its children.
    bool keeps_histograms(int64_t n_rows) const;
    std::unique_ptr<NodeHistograms> new_histograms() const;
    uint64_t work() const;

  private:
    struct Thread {
        Thread(Workspace& workspace, const std::vector<int32_t>& dense_numeric);
        FeatureSearch features;
        HistogramSearch histograms;
        PresortedLists lists;
        SparseEntries entries;
        std::vector<int32_t> permutation;  // identity between nodes
    };
    // What one node looks at, cut into pieces that any thread may take.
    struct Plan {
        std::vector<FeatureTile> tiles;
        std::vector<int32_t> features;  // by a walk
        std::vector<uint64_t> ranks;
        size_t size() const { return tiles.size() + features.size(); }
    };

    bool uses_histograms(int64_t n_rows) const;
    bool is_histogram_feature(int32_t feature) const;
    void add_candidate(Plan& plan, int32_t feature, uint64_t rank, bool histograms) const;
    Plan plan_all(const SearchNode& node, Thread& thread, bool with_numeric) const;
    Plan plan_drawn(const SearchNode& node, Thread& thread) const;
    Plan plan_of(const SearchNode& node, Thread& thread) const;
    void run_piece(const SearchNode& node, const Plan& plan, size_t piece,
                   const SparseEntries& entries, Thread& thread, NodeHistograms* kept,
                   Split& best) const;
    void search_remaining(const SearchNode& node, Thread& thread, Split& best) const;
    bool draws_features() const {
        return workspace_.params.max_features < workspace_.binned.n_features;
    }

    Workspace& workspace_;
    ThreadTeam& team_;
    std::vector<std::unique_ptr<Thread>> threads_;
    std::vector<int32_t> dense_numeric_, dense_other_;  // feature ids
    std::vector<FeatureTile> all_tiles_;
    bool lists_possible_ = false, histograms_possible_ = false, subtraction_possible_ = false, other_features_ = false;
};

}  // namespace ramify
