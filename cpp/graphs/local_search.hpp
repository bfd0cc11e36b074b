// Better labellings by changing one label at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "graphs/label_graph.hpp"

namespace polyleaf {

// Keeps for every state of every node what it scores beside the present labels of the others, so
// that a change costs no more than the neighbours of the node.
class LocalSearch {
  public:
    explicit LocalSearch(const LabelGraph& graph);

    // Starts from labels, climbs, and keeps the result if it is better than what is kept already.
    void reset(const double* potentials);
    void try_from(const int32_t* labels);
    // Of the kept labelling.
    const std::vector<int32_t>& labels() const { return kept_; }
    double score() const { return kept_score_; }

    // The best score found with each other state of each node, less the score of the kept
    // labelling: the state is held, and the other labels climb. A better labelling that this finds
    // is kept, and the search begins again. OUT marginals: every state but 0, relative to state 0.
    void max_marginals(double* marginals);

    // OUT: what every state but 0 of a node scores beside the labels of the others.
    void scores_around(const int32_t* labels, int32_t node, double* scores);

  private:
    void start(const int32_t* labels);
    void change(int32_t node, int32_t state);
    double climb(int32_t held);
    bool hold_each(double* gains);

    const LabelGraph& graph_;
    const double* potentials_ = nullptr;
    double least_gain_ = 0.0;
    std::vector<int64_t> state_offset_;
    std::vector<double> scores_, start_scores_, gains_;
    std::vector<int32_t> labels_, kept_;
    double kept_score_ = 0.0;
    bool has_kept_ = false;
};

}  // namespace polyleaf
