#include "graphs/tree_reweighted.hpp"

#include <algorithm>

#include "graphs/pair_scores.hpp"

namespace polyleaf {

TreeReweighted::TreeReweighted(const LabelGraph& graph)
    : graph_(graph),
      share_(graph.n_nodes()),
      total_(graph.max_states),
      cavity_(graph.max_states),
      decoded_(graph.max_states) {
    message_offset_.assign(1, 0);
    for (int64_t e = 0; e < graph.n_edges(); ++e)
        message_offset_.push_back(message_offset_.back() + graph.n_states[graph.first[e]] +
                                  graph.n_states[graph.second[e]]);
    messages_.resize(message_offset_.back());
    for (int32_t node = 0; node < graph.n_nodes(); ++node) {
        int64_t ahead = 0;
        const int64_t begin = graph.neighbour_offset[node], end = graph.neighbour_offset[node + 1];
        for (int64_t k = begin; k < end; ++k)
            ahead += graph.position[graph.neighbours[k].node] > graph.position[node];
        share_[node] = 1.0 / std::max({ahead, end - begin - ahead, int64_t{1}});
    }
}

void TreeReweighted::reset(const double* potentials) {
    potentials_ = potentials;
    for (int64_t e = 0; e < graph_.n_edges(); ++e) {
        const int32_t a = graph_.first[e], b = graph_.second[e];
        const int32_t n_a = graph_.n_states[a], n_b = graph_.n_states[b];
        double* to_b = messages_.data() + message_offset_[e];
        double* to_a = to_b + n_b;
        std::fill(to_b, to_a + n_a, 0.0);
        const double* pair = potentials + graph_.edge_offset[e];
        for (int32_t u = 1; u < n_a; ++u)
            for (int32_t v = 1; v < n_b; ++v, ++pair) {
                to_b[v] += *pair / n_a;
                to_a[u] += *pair / n_b;
            }
    }
}

void TreeReweighted::forward(int32_t* labels) {
    graph_.is_binary ? forward_states<2>(labels) : forward_states<0>(labels);
}

double TreeReweighted::backward() {
    return graph_.is_binary ? backward_states<2>() : backward_states<0>();
}

// Sums up what a node knows, in total_.
template <int kStates>
void TreeReweighted::gather(int32_t node) {
    const int32_t n = kStates ? kStates : graph_.n_states[node];
    const double* own = potentials_ + graph_.node_offset[node];
    total_[0] = 0.0;
    for (int32_t u = 1; u < n; ++u) total_[u] = own[u - 1];
    for (int64_t k = graph_.neighbour_offset[node]; k < graph_.neighbour_offset[node + 1]; ++k) {
        const int32_t edge = graph_.neighbours[k].edge;
        const double* message = messages_.data() + message_offset_[edge];
        if (graph_.first[edge] == node)
            message += kStates ? kStates : graph_.n_states[graph_.second[edge]];
        for (int32_t u = 0; u < n; ++u) total_[u] += message[u];
    }
}

// Sends a message that adds up to 0, and returns what was taken off each of its numbers for that.
template <int kStates>
double TreeReweighted::send(int32_t from, LabelGraph::Neighbour to) {
    const int32_t n_from = kStates ? kStates : graph_.n_states[from];
    const int32_t n_to = kStates ? kStates : graph_.n_states[to.node];
    double* at_edge = messages_.data() + message_offset_[to.edge];
    const bool to_second = graph_.second[to.edge] == to.node;
    double* message = to_second ? at_edge : at_edge + n_from;
    const double* reverse = to_second ? at_edge + n_to : at_edge;
    for (int32_t u = 0; u < n_from; ++u) cavity_[u] = share_[from] * total_[u] - reverse[u];
    double mean = 0.0;
    if (kStates == 2) {
        const double pair = potentials_[graph_.edge_offset[to.edge]];
        message[0] = std::max(cavity_[0], cavity_[1]);
        message[1] = std::max(cavity_[0], cavity_[1] + pair);
        mean = 0.5 * (message[0] + message[1]);
    } else {
        const EdgeView pair(graph_, potentials_, from, to.edge);
        for (int32_t v = 0; v < n_to; ++v) {
            message[v] = cavity_[0];
            for (int32_t u = 1; u < n_from; ++u)
                message[v] = std::max(message[v], cavity_[u] + pair(u, v));
            mean += message[v] / n_to;
        }
    }
    for (int32_t v = 0; v < n_to; ++v) message[v] -= mean;
    return mean;
}

template <int kStates>
void TreeReweighted::forward_states(int32_t* labels) {
    for (int32_t node : graph_.order) {
        gather<kStates>(node);
        const int32_t n = kStates ? kStates : graph_.n_states[node];
        std::copy_n(total_.begin(), n, decoded_.begin());
        for (int64_t k = graph_.neighbour_offset[node]; k < graph_.neighbour_offset[node + 1];
             ++k) {
            const LabelGraph::Neighbour& other = graph_.neighbours[k];
            if (graph_.position[other.node] > graph_.position[node]) {
                send<kStates>(node, other);
                continue;
            }
            // The label that was chosen there stands in for its message.
            const EdgeView pair(graph_, potentials_, node, other.edge);
            const double* message = messages_.data() + message_offset_[other.edge];
            if (graph_.first[other.edge] == node)
                message += kStates ? kStates : graph_.n_states[other.node];
            for (int32_t u = 0; u < n; ++u)
                decoded_[u] += pair(u, labels[other.node]) - message[u];
        }
        labels[node] = static_cast<int32_t>(
            std::max_element(decoded_.begin(), decoded_.begin() + n) - decoded_.begin());
    }
}

template <int kStates>
double TreeReweighted::backward_states() {
    double bound = 0.0;
    for (auto node = graph_.order.rbegin(); node != graph_.order.rend(); ++node) {
        gather<kStates>(*node);
        const int32_t n = kStates ? kStates : graph_.n_states[*node];
        const double best = *std::max_element(total_.begin(), total_.begin() + n);
        for (int32_t u = 0; u < n; ++u) total_[u] -= best;
        bound += best;
        for (int64_t k = graph_.neighbour_offset[*node]; k < graph_.neighbour_offset[*node + 1];
             ++k) {
            const LabelGraph::Neighbour& other = graph_.neighbours[k];
            if (graph_.position[other.node] < graph_.position[*node])
                bound += send<kStates>(*node, other);
        }
    }
    return bound;
}

}  // namespace polyleaf
