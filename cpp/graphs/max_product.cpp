#include "graphs/max_product.hpp"

#include <algorithm>
#include <cmath>

namespace polyleaf {

namespace {

constexpr int64_t kRowsPerBlock = 64;
// Messages rest when none moves by more than this share of the largest belief.
constexpr double kRest = 1e-9;
// A local search that has not ended by then goes on with what it has.
constexpr int kMostClimbs = 100;

// The number of an edge's pair of states, 0 if either is 0.
inline double pair(const double* parameters, int64_t width, int32_t u, int32_t v) {
    return u == 0 || v == 0 ? 0.0 : parameters[(u - 1) * width + v - 1];
}

}  // namespace

MaxProduct::MaxProduct(const LabelGraph& graph)
    : graph_(graph),
      beliefs_(graph.n_node_parameters()),
      cavity_(graph.max_states),
      score_(graph.max_states),
      other_(graph.n_nodes()) {
    message_offset_.assign(1, 0);
    for (int64_t e = 0; e < graph.n_edges(); ++e)
        message_offset_.push_back(message_offset_.back() + graph.n_states[graph.first[e]] +
                                  graph.n_states[graph.second[e]] - 2);
    messages_.resize(message_offset_.back());
}

void MaxProduct::solve(const double* potentials, int64_t max_sweeps, int32_t* labels) {
    if (graph_.is_binary)
        solve_states<2>(potentials, max_sweeps, labels);
    else
        solve_states<0>(potentials, max_sweeps, labels);
}

template <int kStates>
void MaxProduct::solve_states(const double* potentials, int64_t max_sweeps, int32_t* labels) {
    std::fill(messages_.begin(), messages_.end(), 0.0);
    std::copy(potentials, potentials + graph_.n_node_parameters(), beliefs_.begin());
    for (int64_t round = 0; round < (graph_.is_forest ? 1 : max_sweeps); ++round) {
        const double moved = sweep<kStates>(potentials);
        double largest = 0.0;
        for (double belief : beliefs_) largest = std::max(largest, std::abs(belief));
        if (moved <= kRest * largest) break;
    }
    // Each node in turn, given those before it: on a forest this is the way back from the root.
    for (int32_t node : graph_.order)
        labels[node] = choose<kStates>(potentials, node, labels, false);
    if (graph_.is_forest) return;
    climb<kStates>(potentials, labels);
    // A second start of the local search: each node by its belief alone.
    for (int32_t node : graph_.order) other_[node] = believed<kStates>(node);
    climb<kStates>(potentials, other_.data());
    if (score(potentials, other_.data()) > score(potentials, labels))
        std::copy(other_.begin(), other_.end(), labels);
    agree<kStates>(potentials, labels);
}

double MaxProduct::score(const double* potentials, const int32_t* labels) const {
    double total = 0.0;
    for (int64_t j = 0; j < graph_.n_nodes(); ++j)
        if (labels[j] > 0) total += potentials[graph_.node_offset[j] + labels[j] - 1];
    for (int64_t e = 0; e < graph_.n_edges(); ++e)
        total += pair(potentials + graph_.edge_offset[e], graph_.n_states[graph_.second[e]] - 1,
                      labels[graph_.first[e]], labels[graph_.second[e]]);
    return total;
}

// The state with the largest belief, the first if none is positive.
template <int kStates>
int32_t MaxProduct::believed(int32_t node) const {
    const double* belief = beliefs_.data() + graph_.node_offset[node];
    const int32_t n = kStates ? kStates : graph_.n_states[node];
    int32_t best = 0;
    for (int32_t u = 1; u < n; ++u)
        if (belief[u - 1] > (best ? belief[best - 1] : 0.0)) best = u;
    return best;
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
// after it; or given the labels of all its neighbours. Leaves the scores in score_.
template <int kStates>
int32_t MaxProduct::choose(const double* potentials, int32_t node, const int32_t* labels,
                           bool all) {
    const int32_t n = kStates ? kStates : graph_.n_states[node];
    const double* own = potentials + graph_.node_offset[node];
    score_[0] = 0.0;
    for (int32_t u = 1; u < n; ++u) score_[u] = own[u - 1];
    for (int64_t k = graph_.neighbour_offset[node]; k < graph_.neighbour_offset[node + 1]; ++k) {
        const LabelGraph::Neighbour& other = graph_.neighbours[k];
        const bool is_second = graph_.second[other.edge] == node;
        const int32_t n_second = kStates ? kStates : graph_.n_states[graph_.second[other.edge]];
        if (all || graph_.position[other.node] < graph_.position[node]) {
            const double* edge = potentials + graph_.edge_offset[other.edge];
            const int32_t label = labels[other.node];
            for (int32_t u = 1; u < n; ++u)
                score_[u] += is_second ? pair(edge, n_second - 1, label, u)
                                       : pair(edge, n_second - 1, u, label);
        } else {
            const double* message =
                messages_.data() + message_offset_[other.edge] + (is_second ? 0 : n_second - 1);
            for (int32_t u = 1; u < n; ++u) score_[u] += message[u - 1];
        }
    }
    int32_t best = 0;
    for (int32_t u = 1; u < n; ++u)
        if (score_[u] > score_[best]) best = u;
    return best;
}

// Changes one label at a time while that raises the score.
template <int kStates>
void MaxProduct::climb(const double* potentials, int32_t* labels) {
    bool is_better = true;
    for (int round = 0; is_better && round < kMostClimbs; ++round) {
        is_better = false;
        for (int32_t node : graph_.order) {
            const int32_t best = choose<kStates>(potentials, node, labels, true);
            if (!(score_[best] > score_[labels[node]])) continue;
            labels[node] = best;
            is_better = true;
        }
    }
}

template <int kStates>
void MaxProduct::agree(const double* potentials, const int32_t* labels) {
    for (int32_t node : graph_.order) {
        if (believed<kStates>(node) == labels[node]) continue;
        double* belief = beliefs_.data() + graph_.node_offset[node];
        const int32_t n = kStates ? kStates : graph_.n_states[node];
        choose<kStates>(potentials, node, labels, true);
        for (int32_t u = 1; u < n; ++u) belief[u - 1] = score_[u];
    }
}

void max_product(const LabelGraph& graph, const double* potentials, int64_t n_rows,
                 int64_t max_sweeps, int32_t* labels, double* max_marginals, ThreadTeam& team) {
    std::vector<MaxProduct> workers(team.size(), MaxProduct(graph));
    const int64_t n_blocks = (n_rows + kRowsPerBlock - 1) / kRowsPerBlock;
    const int64_t n_marginals = graph.n_node_parameters();
    team.parallel_for(n_blocks, [&](int64_t block, int thread) {
        MaxProduct& worker = workers[thread];
        const int64_t end = std::min(n_rows, (block + 1) * kRowsPerBlock);
        for (int64_t row = block * kRowsPerBlock; row < end; ++row) {
            team.interrupt().check();
            worker.solve(potentials + row * graph.n_parameters(), max_sweeps,
                         labels + row * graph.n_nodes());
            std::copy_n(worker.max_marginals(), n_marginals, max_marginals + row * n_marginals);
        }
    });
}

}  // namespace polyleaf
