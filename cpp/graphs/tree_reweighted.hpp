// Tree-reweighted message passing (TRW-S, Kolmogorov 2006): an upper bound of all scores.
#pragma once

#include <cstdint>
#include <vector>

#include "graphs/label_graph.hpp"

namespace polyleaf {

// Messages m(i -> j) move scores from edges to nodes without a change of any labelling's score:
//
//     score(y) = sum_i t_i(y_i) + sum_ij [pair(y_i, y_j) - m(i -> j)(y_j) - m(j -> i)(y_i)],
//
// where t_i is the node's own score plus all messages to it. Nodes are visited in the graph's
// order and back. Node i shares t_i among its edges by g_i = 1 / max(edges ahead, edges behind),
// at most one share each. On the way back the largest t_i of every node and what every message was
// normalised by add up to a bound: with t_i <= 0 once its largest value is taken off, t_i is at
// most the sum of its shares, and each share is maximised over on its edge.
//
// Where the labelling read off on the way reaches the bound, it is proven to be the best.
class TreeReweighted {
  public:
    explicit TreeReweighted(const LabelGraph& graph);

    // Messages start at the mean over the sender's states, 0 in centred tables, so that no state
    // is preferred.
    void reset(const double* potentials);
    // There: OUT a labelling, each node given those before it and the messages of those after it.
    void forward(int32_t* labels);
    // And back: returns the bound.
    double backward();

  private:
    template <int kStates>
    void forward_states(int32_t* labels);
    template <int kStates>
    double backward_states();
    template <int kStates>
    void gather(int32_t node);
    template <int kStates>
    double send(int32_t from, LabelGraph::Neighbour to);

    const LabelGraph& graph_;
    const double* potentials_ = nullptr;
    std::vector<int64_t> message_offset_;  // per edge: to its second end, then to its first
    std::vector<double> share_;            // g of each node
    std::vector<double> messages_, total_, cavity_, decoded_;
};

}  // namespace polyleaf
