// Max-product message passing: the best labelling of each row and all its max-marginals.
#pragma once

#include <cstdint>
#include <vector>

#include "base/parallel.hpp"
#include "graphs/label_graph.hpp"

namespace polyleaf {

// Messages of one row. Scores and messages are relative to state 0, whose own is 0 everywhere.
//
// Nodes send to their neighbours in the graph's order, there and back: one such sweep is exact on
// a forest; on other graphs sweeps are repeated, at most `max_sweeps` times, until messages rest.
class MaxProduct {
  public:
    explicit MaxProduct(const LabelGraph& graph);

    // potentials: parameters of the score; labels: OUT, one state per node.
    void solve(const double* potentials, int64_t max_sweeps, int32_t* labels);
    // After `solve`: of the node's states but 0. In a graph with cycles they are approximate, and
    // where they speak against the labelling they give way to the scores around it.
    const double* max_marginals() const { return beliefs_.data(); }

  private:
    template <int kStates>
    void solve_states(const double* potentials, int64_t max_sweeps, int32_t* labels);
    template <int kStates>
    double send(const double* potentials, int32_t from, LabelGraph::Neighbour to);
    template <int kStates>
    double sweep(const double* potentials);
    template <int kStates>
    int32_t choose(const double* potentials, int32_t node, const int32_t* labels, bool all);
    template <int kStates>
    void climb(const double* potentials, int32_t* labels);
    double score(const double* potentials, const int32_t* labels) const;
    template <int kStates>
    int32_t believed(int32_t node) const;
    template <int kStates>
    void agree(const double* potentials, const int32_t* labels);

    const LabelGraph& graph_;
    std::vector<int64_t> message_offset_;  // per edge: to its second end, then to its first
    std::vector<double> messages_, beliefs_, cavity_, score_;
    std::vector<int32_t> other_;
};

// Solves every row. potentials: (n_rows, n_parameters); OUT labels: (n_rows, n_nodes); OUT
// max_marginals: (n_rows, n_node_parameters).
void max_product(const LabelGraph& graph, const double* potentials, int64_t n_rows,
                 int64_t max_sweeps, int32_t* labels, double* max_marginals, ThreadTeam& team);

}  // namespace polyleaf
