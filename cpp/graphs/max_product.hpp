// Max-product message passing: the best labelling and all its max-marginals.
#pragma once

#include <cstdint>
#include <vector>

#include "graphs/label_graph.hpp"

namespace polyleaf {

// Messages of one row. Scores and messages are relative to state 0, whose own is 0 everywhere.
//
// Nodes send to their neighbours in the graph's order, there and back: one such sweep is exact on
// a forest; on other graphs sweeps are repeated, at most `max_sweeps` times, until messages rest.
// There messages start at the mean over the sender's states (half of the pair's number for two
// states), which is 0 in centred tables: no state is preferred.
class MaxProduct {
  public:
    explicit MaxProduct(const LabelGraph& graph);

    // potentials: parameters of the score; labels: OUT, one state per node. Without `is_centred`
    // messages start at 0 in graphs with cycles, too, which prefers state 0.
    void solve(const double* potentials, int64_t max_sweeps, int32_t* labels,
               bool is_centred = true);
    // After `solve`: of the node's states but 0. In a graph with cycles they are approximate.
    const double* max_marginals() const { return beliefs_.data(); }
    // After `solve`: OUT the state of each node with the largest max-marginal.
    void believed(int32_t* labels) const;

  private:
    template <int kStates>
    void solve_states(const double* potentials, int64_t max_sweeps, int32_t* labels,
                      bool is_centred);
    template <int kStates>
    double send(const double* potentials, int32_t from, LabelGraph::Neighbour to);
    template <int kStates>
    double sweep(const double* potentials);
    template <int kStates>
    int32_t choose(const double* potentials, int32_t node, const int32_t* labels);
    void centre(const double* potentials);

    const LabelGraph& graph_;
    std::vector<int64_t> message_offset_;  // per edge: to its second end, then to its first
    std::vector<double> messages_, beliefs_, cavity_, score_;
};

}  // namespace polyleaf
