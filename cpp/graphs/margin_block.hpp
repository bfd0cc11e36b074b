// Block-coordinate ascent on the dual of max-margin labelling (Su and Rousu 2013, eq. 5).
//
// Example i has a mass c_i (C times its weight) that is spread over labellings; mu(i, e, u) is the
// mass on those that give edge e the labels u. With a(i, e, u) = c_i 1{u = y_ie} - mu(i, e, u),
// its *coefficients*, the edge potentials of the model are psi_e(x, u) = sum_i K(x, x_i) a(i, e,
// u), and the dual objective is sum_i <mu_i, loss_i> - 1/2 sum_ij K(x_i, x_j) <a_i, a_j>.
//
// Marginals are consistent, so that a_i and psi(x_i) are given by their parameters; see
// label_graph.hpp. The gradient of the block of example i in mu_i is loss_i + psi(x_i).
#pragma once

#include <cstdint>

#include "base/parallel.hpp"
#include "graphs/label_graph.hpp"

namespace polyleaf {

// Loss of an edge label: edge_cost times the larger cost of its wrong ends, plus for each wrong
// end node_cost times its cost.
struct MarginLoss {
    double edge_cost = 1.0;
    const double* node_cost = nullptr;  // per node, for each of its edges
};

// Some examples, in the order in which they are visited.
struct MarginBlock {
    int64_t n_rows = 0;
    const int32_t* labels = nullptr;     // (n_rows, n_nodes), the true states
    const double* mass = nullptr;        // (n_rows,)
    const double* label_cost = nullptr;  // (n_rows, n_nodes), or null: all 1
    const double* gram = nullptr;        // (n_rows, n_rows), kernel among these examples
    double* scores = nullptr;            // (n_rows, n_parameters), psi; changed
    double* coefficients = nullptr;      // (n_rows, n_parameters), a; changed
};

// Sums over the block's examples, each at the moment of its visit.
struct MarginSums {
    double slack = 0.0;      // c_i times the hinge of the worst labelling
    double loss = 0.0;       // <mu_i, loss_i>
    double quadratic = 0.0;  // <a_i, psi(x_i)>
    double ascent = 0.0;     // what the steps added to the dual objective
};

struct StepRule {
    int max_steps = 0;        // per visit; 0 only sums
    double enough_gap = 0.0;  // an example with no larger gap is left alone
    double gap_share = 0.0;   // a visit ends when its gap fell to this share
    int64_t max_sweeps = 1;   // of message passing in a graph with cycles
};

// Visits every example of the block and moves mass towards the labelling that violates the margin
// most, with exact line searches. On a forest the mass comes from the labelling that holds some
// and violates it least (pairwise steps, which need no list of labellings there, because locally
// consistent marginals are those of a distribution), by a line search for each part in which the
// two labellings differ; in other graphs from all labellings alike.
MarginSums visit_block(const LabelGraph& graph, const MarginLoss& loss, const MarginBlock& block,
                       const StepRule& rule, Interrupt& interrupt);

}  // namespace polyleaf
