// The best labelling by scoring all of them: exact on any graph of few labels.
#pragma once

#include <cstdint>
#include <vector>

#include "graphs/label_graph.hpp"

namespace polyleaf {

// Scores are built label by label: the table of the first j + 1 labels is that of the first j,
// plus what each state of label j adds to it. Max-marginals fold the table in the reverse order.
// Both take about two additions or comparisons per labelling.
class AllLabellings {
  public:
    // Whether a graph has at most 2^14 labellings.
    static bool is_possible(const LabelGraph& graph);

    explicit AllLabellings(const LabelGraph& graph);

    // OUT labels: one state per node. Returns their score.
    double solve(const double* potentials, int32_t* labels);
    // After `solve`: OUT one number for every state but 0 of every node, relative to state 0.
    void max_marginals(const int32_t* labels, double* marginals);

  private:
    void fill(const double* potentials);

    const LabelGraph& graph_;
    std::vector<int32_t> edge_between_;         // (n_nodes, n_nodes), -1 for none
    std::vector<double> table_, added_, fold_;  // labellings; the first label changes fastest
};

}  // namespace polyleaf
