// Between the parameters of a graph and the tables of its edges; see label_graph.hpp.
#pragma once

#include "graphs/label_graph.hpp"

namespace polyleaf {

inline int64_t table_index(const LabelGraph& graph, int64_t edge, const int32_t* labels) {
    const int32_t b = graph.second[edge];
    return graph.table_offset[edge] + int64_t{labels[graph.first[edge]]} * graph.n_states[b] +
           labels[b];
}

// Tables whose sums over one end are the node's parameters, and whose sum is 0: coefficients, and
// the potentials that are weighted sums of them.
void expand_tables(const LabelGraph& graph, const double* parameters, double* tables);

// Parameters of the sum of all tables, as a function of the labelling, less its value where all
// labels are 0.
void reduce_tables(const LabelGraph& graph, const double* tables, double* parameters);

// Parameters of consistent marginals: of a node from one of its edges, and the pairs as they are.
void marginal_parameters(const LabelGraph& graph, const double* tables, double* parameters);

}  // namespace polyleaf
