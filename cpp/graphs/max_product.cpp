#include "graphs/max_product.hpp"

#include <algorithm>
#include <cmath>

#include "graphs/pair_scores.hpp"

namespace polyleaf {

namespace {

// Messages rest when none moves by more than this share of the largest belief.
constexpr double kRest = 1e-9;

}  // namespace

MaxProduct::MaxProduct(const LabelGraph& graph)
    : graph_(graph),
      beliefs_(graph.n_node_parameters()),
      cavity_(graph.max_states),
      score_(graph.max_states) {
    message_offset_.assign(1, 0);
    for (int64_t e = 0; e < graph.n_edges(); ++e)
        message_offset_.push_back(message_offset_.back() + graph.n_states[graph.first[e]] +
                                  graph.n_states[graph.second[e]] - 2);
    messages_.resize(message_offset_.back());
}

void MaxProduct::solve(const double* potentials, int64_t max_sweeps, int32_t* labels,
                       bool is_centred) {
    if (graph_.is_binary)
        solve_states<2>(potentials, max_sweeps, labels, is_centred);
    else
        solve_states<0>(potentials, max_sweeps, labels, is_centred);
}

template <int kStates>
void MaxProduct::solve_states(const double* potentials, int64_t max_sweeps, int32_t* labels,
                              bool is_centred) {
    std::fill(messages_.begin(), messages_.end(), 0.0);
    std::copy(potentials, potentials + graph_.n_node_parameters(), beliefs_.begin());
    if (is_centred && !graph_.is_forest) centre(potentials);
    for (int64_t round = 0; round < (graph_.is_forest ? 1 : max_sweeps); ++round) {
        const double moved = sweep<kStates>(potentials);
        double largest = 0.0;
        for (double belief : beliefs_) largest = std::max(largest, std::abs(belief));
        if (moved <= kRest * largest) break;
    }
    // Each node in turn, given those before it: on a forest this is the way back from the root.
    for (int32_t node : graph_.order) labels[node] = choose<kStates>(potentials, node, labels);
}

void MaxProduct::centre(const double* potentials) {
    for (int64_t e = 0; e < graph_.n_edges(); ++e) {
        const int32_t a = graph_.first[e], b = graph_.second[e];
        const int32_t n_a = graph_.n_states[a], n_b = graph_.n_states[b];
        double* to_b = messages_.data() + message_offset_[e];
        double* to_a = to_b + n_b - 1;
        const double* pair = potentials + graph_.edge_offset[e];
        for (int32_t u = 1; u < n_a; ++u)
            for (int32_t v = 1; v < n_b; ++v, ++pair) {
                to_b[v - 1] += *pair / n_a;
                to_a[u - 1] += *pair / n_b;
            }
        for (int32_t v = 1; v < n_b; ++v) beliefs_[graph_.node_offset[b] + v - 1] += to_b[v - 1];
        for (int32_t u = 1; u < n_a; ++u) beliefs_[graph_.node_offset[a] + u - 1] += to_a[u - 1];
    }
}

void MaxProduct::believed(int32_t* labels) const {
    for (int64_t node = 0; node < graph_.n_nodes(); ++node) {
        const double* belief = beliefs_.data() + graph_.node_offset[node];
        int32_t best = 0;
        for (int32_t u = 1; u < graph_.n_states[node]; ++u)
            if (belief[u - 1] > (best ? belief[best - 1] : 0.0)) best = u;
        labels[node] = best;
    }
}

template <int kStates>
double MaxProduct::sweep(const double* potentials) {
    double moved = 0.0;
    const auto send_from = [&](int32_t node, bool forward) {
        for (int64_t k = graph_.neighbour_offset[node]; k < graph_.neighbour_offset[node + 1];
             ++k) {
            const LabelGraph::Neighbour& to = graph_.neighbours[k];
            if ((graph_.position[to.node] > graph_.position[node]) == forward)
                moved = std::max(moved, send<kStates>(potentials, node, to));
        }
    };
    for (auto node = graph_.order.rbegin(); node != graph_.order.rend(); ++node)
        send_from(*node, false);
    for (int32_t node : graph_.order) send_from(node, true);
    return moved;
}

template <int kStates>
double MaxProduct::send(const double* potentials, int32_t from, LabelGraph::Neighbour to) {
    const int32_t n_from = kStates ? kStates : graph_.n_states[from];
    const int32_t n_to = kStates ? kStates : graph_.n_states[to.node];
    const bool to_second = graph_.second[to.edge] == to.node;
    const int32_t n_second = kStates ? kStates : graph_.n_states[graph_.second[to.edge]];
    double* at_edge = messages_.data() + message_offset_[to.edge];
    double* message = at_edge + (to_second ? 0 : n_second - 1);
    const double* reverse = at_edge + (to_second ? n_second - 1 : 0);
    const double* edge = potentials + graph_.edge_offset[to.edge];
    const double* belief = beliefs_.data() + graph_.node_offset[from];
    double* received = beliefs_.data() + graph_.node_offset[to.node];
    double best_zero = 0.0;
    for (int32_t u = 1; u < n_from; ++u) {
        cavity_[u] = belief[u - 1] - reverse[u - 1];
        best_zero = std::max(best_zero, cavity_[u]);
    }
    double moved = 0.0;
    for (int32_t v = 1; v < n_to; ++v) {
        double best = 0.0;
        for (int32_t u = 1; u < n_from; ++u)
            best =
                std::max(best, cavity_[u] + (to_second ? edge[(u - 1) * (n_second - 1) + v - 1]
                                                       : edge[(v - 1) * (n_second - 1) + u - 1]));
        const double change = best - best_zero - message[v - 1];
        message[v - 1] += change;
        received[v - 1] += change;
        moved = std::max(moved, std::abs(change));
    }
    return moved;
}

// The best state of a node given the labels before it in the order, and the messages of those
// after it.
template <int kStates>
int32_t MaxProduct::choose(const double* potentials, int32_t node, const int32_t* labels) {
    const int32_t n = kStates ? kStates : graph_.n_states[node];
    const double* own = potentials + graph_.node_offset[node];
    score_[0] = 0.0;
    for (int32_t u = 1; u < n; ++u) score_[u] = own[u - 1];
    for (int64_t k = graph_.neighbour_offset[node]; k < graph_.neighbour_offset[node + 1]; ++k) {
        const LabelGraph::Neighbour& other = graph_.neighbours[k];
        if (graph_.position[other.node] < graph_.position[node]) {
            const EdgeView pair(graph_, potentials, node, other.edge);
            for (int32_t u = 1; u < n; ++u) score_[u] += pair(u, labels[other.node]);
        } else {
            const int32_t n_other = kStates ? kStates : graph_.n_states[other.node];
            const bool is_second = graph_.second[other.edge] == node;
            const double* message =
                messages_.data() + message_offset_[other.edge] + (is_second ? 0 : n_other - 1);
            for (int32_t u = 1; u < n; ++u) score_[u] += message[u - 1];
        }
    }
    return static_cast<int32_t>(std::max_element(score_.begin(), score_.begin() + n) -
                                score_.begin());
}

}  // namespace polyleaf
