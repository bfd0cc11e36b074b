// Reading the parameters of a score: what a pair of states adds, and the sum of a labelling.
#pragma once

#include <cstdint>

#include "graphs/label_graph.hpp"

namespace polyleaf {

// The number of an edge's pair of states, 0 if either is 0; `width` is the second end's number of
// states less one.
inline double pair_score(const double* edge, int64_t width, int32_t u, int32_t v) {
    return u == 0 || v == 0 ? 0.0 : edge[(u - 1) * width + v - 1];
}

// The edge between a node and one of its neighbours, seen from the node.
struct EdgeView {
    EdgeView(const LabelGraph& graph, const double* potentials, int32_t node, int32_t edge)
        : pairs(potentials + graph.edge_offset[edge]),
          width(graph.n_states[graph.second[edge]] - 1),
          is_second(graph.second[edge] == node) {}

    // What the node's state `own` and the neighbour's state `other` add.
    double operator()(int32_t own, int32_t other) const {
        return is_second ? pair_score(pairs, width, other, own)
                         : pair_score(pairs, width, own, other);
    }

    const double* pairs;
    int64_t width;
    bool is_second;
};

inline double labelling_score(const LabelGraph& graph, const double* potentials,
                              const int32_t* labels) {
    double total = 0.0;
    for (int64_t j = 0; j < graph.n_nodes(); ++j)
        if (labels[j] > 0) total += potentials[graph.node_offset[j] + labels[j] - 1];
    for (int64_t e = 0; e < graph.n_edges(); ++e)
        total += pair_score(potentials + graph.edge_offset[e], graph.n_states[graph.second[e]] - 1,
                            labels[graph.first[e]], labels[graph.second[e]]);
    return total;
}

}  // namespace polyleaf
