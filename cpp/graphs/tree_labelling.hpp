// The best labelling of a forest by dynamic programming over edge tables.
#pragma once

#include <vector>

#include "graphs/label_graph.hpp"

namespace polyleaf {

class TreeLabelling {
  public:
    explicit TreeLabelling(const LabelGraph& graph);

    // The labelling with the largest sum of table entries; returns that sum. Of two that are equal
    // the state in `ahead` wins, then the one that follows it: the true labels stand there, so
    // that no class is preferred.
    double best(const double* tables, const int32_t* ahead, int32_t* labels);
    // The labelling with the smallest sum among those whose edges all have a support larger than
    // `floor`. There is one: marginals of a forest are those of a distribution.
    void least_in_support(const double* tables, const double* support, double floor,
                          const int32_t* ahead, int32_t* labels);

  private:
    // A node below another one, and where their edge's table is.
    struct Link {
        int32_t node, parent;
        int64_t score, parent_score;  // into score_
        int64_t choice;               // into choice_
        int64_t cell;                 // of both states 0, into the tables
        int32_t n_states, n_parent_states;
        int32_t step, parent_step;  // from one state to the next, in the table
    };

    template <typename Value>
    double search(const Value& value, const int32_t* ahead, int32_t* labels);
    // From the leaves to the roots: the best score below every state, and who it belongs to.
    template <typename Value>
    void climb(const Value& value, const int32_t* ahead);
    template <typename Value>
    void climb_binary(const Value& value, const int32_t* ahead);
    // Back to the leaves; returns the score.
    double descend(const int32_t* ahead, int32_t* labels) const;

    const LabelGraph& graph_;
    std::vector<Link> links_;  // from the leaves to the roots
    std::vector<int32_t> roots_;
    std::vector<int64_t> state_offset_;  // per node, into score_
    std::vector<double> score_;          // of the subtree below, by the node's own state
    std::vector<int32_t> choice_;        // of a link's node, by its parent's state
};

}  // namespace polyleaf
