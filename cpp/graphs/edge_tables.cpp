#include "graphs/edge_tables.hpp"

#include <algorithm>

namespace polyleaf {

namespace {

// The same for labels with two states, without loops over them.
void expand_binary(const LabelGraph& graph, const double* parameters, double* tables) {
    const double* pairs = parameters + graph.n_node_parameters();
    for (int64_t e = 0; e < graph.n_edges(); ++e) {
        const double of_a = parameters[graph.first[e]], of_b = parameters[graph.second[e]];
        double* table = tables + 4 * e;
        table[3] = pairs[e];
        table[2] = of_a - pairs[e];
        table[1] = of_b - pairs[e];
        table[0] = -of_b - table[2];
    }
}

void marginals_binary(const LabelGraph& graph, const double* tables, double* parameters) {
    double* pairs = parameters + graph.n_node_parameters();
    for (int64_t e = 0; e < graph.n_edges(); ++e) {
        const double* table = tables + 4 * e;
        pairs[e] = table[3];
        parameters[graph.second[e]] = table[1] + table[3];
        parameters[graph.first[e]] = table[2] + table[3];
    }
}

}  // namespace

void expand_tables(const LabelGraph& graph, const double* parameters, double* tables) {
    if (graph.is_binary) return expand_binary(graph, parameters, tables);
    for (int64_t e = 0; e < graph.n_edges(); ++e) {
        const int32_t n_a = graph.n_states[graph.first[e]], n_b = graph.n_states[graph.second[e]];
        const double* of_a = parameters + graph.node_offset[graph.first[e]];
        const double* of_b = parameters + graph.node_offset[graph.second[e]];
        const double* pairs = parameters + graph.edge_offset[e];
        double* table = tables + graph.table_offset[e];
        double none = 0.0;  // both labels 0
        std::copy_n(of_b, n_b - 1, table + 1);
        for (int32_t v = 1; v < n_b; ++v) none -= of_b[v - 1];
        for (int32_t u = 1; u < n_a; ++u) {
            double rest = of_a[u - 1];
            for (int32_t v = 1; v < n_b; ++v) {
                const double value = *pairs++;
                table[u * n_b + v] = value;
                table[v] -= value;
                rest -= value;
            }
            table[u * n_b] = rest;
            none -= rest;
        }
        table[0] = none;
    }
}

void reduce_tables(const LabelGraph& graph, const double* tables, double* parameters) {
    std::fill_n(parameters, graph.n_node_parameters(), 0.0);
    for (int64_t e = 0; e < graph.n_edges(); ++e) {
        const int32_t n_a = graph.n_states[graph.first[e]], n_b = graph.n_states[graph.second[e]];
        double* of_a = parameters + graph.node_offset[graph.first[e]];
        double* of_b = parameters + graph.node_offset[graph.second[e]];
        double* pairs = parameters + graph.edge_offset[e];
        const double* table = tables + graph.table_offset[e];
        for (int32_t v = 1; v < n_b; ++v) of_b[v - 1] += table[v] - table[0];
        for (int32_t u = 1; u < n_a; ++u) {
            const double* row = table + u * n_b;
            of_a[u - 1] += row[0] - table[0];
            for (int32_t v = 1; v < n_b; ++v) *pairs++ = row[v] - row[0] - table[v] + table[0];
        }
    }
}

void marginal_parameters(const LabelGraph& graph, const double* tables, double* parameters) {
    if (graph.is_binary) return marginals_binary(graph, tables, parameters);
    for (int64_t e = 0; e < graph.n_edges(); ++e) {
        const int32_t n_a = graph.n_states[graph.first[e]], n_b = graph.n_states[graph.second[e]];
        double* of_a = parameters + graph.node_offset[graph.first[e]];
        double* of_b = parameters + graph.node_offset[graph.second[e]];
        double* pairs = parameters + graph.edge_offset[e];
        const double* table = tables + graph.table_offset[e];
        for (int32_t v = 1; v < n_b; ++v) of_b[v - 1] = table[v];
        for (int32_t u = 1; u < n_a; ++u) {
            of_a[u - 1] = table[u * n_b];
            for (int32_t v = 1; v < n_b; ++v) {
                const double value = table[u * n_b + v];
                *pairs++ = value;
                of_a[u - 1] += value;
                of_b[v - 1] += value;
            }
        }
    }
}

}  // namespace polyleaf
