#include "graphs/all_labellings.hpp"

#include <algorithm>
#include <limits>

#include "graphs/pair_scores.hpp"

namespace polyleaf {

namespace {

constexpr int64_t kMostLabellings = 1 << 14;
constexpr int64_t kMostNodes = 64;

// Eight maxima side by side, which compilers turn into vector instructions.
double largest(const double* values, int64_t n) {
    constexpr int64_t kLanes = 8;
    double best[kLanes];
    std::fill_n(best, kLanes, -std::numeric_limits<double>::infinity());
    int64_t k = 0;
    for (; k + kLanes <= n; k += kLanes)
        for (int64_t lane = 0; lane < kLanes; ++lane)
            best[lane] = values[k + lane] > best[lane] ? values[k + lane] : best[lane];
    for (; k < n; ++k) best[0] = std::max(best[0], values[k]);
    return *std::max_element(best, best + kLanes);
}

}  // namespace

bool AllLabellings::is_possible(const LabelGraph& graph) {
    if (graph.n_nodes() > kMostNodes) return false;
    int64_t count = 1;
    for (int32_t n : graph.n_states)
        if (count <= kMostLabellings) count *= n;
    return count <= kMostLabellings;
}

AllLabellings::AllLabellings(const LabelGraph& graph)
    : graph_(graph), edge_between_(graph.n_nodes() * graph.n_nodes(), -1) {
    int64_t count = 1;
    for (int32_t n : graph.n_states) count *= n;
    table_.resize(count);
    added_.resize(count);
    fold_.resize(count);
    for (int32_t e = 0; e < graph.n_edges(); ++e) {
        edge_between_[graph.first[e] * graph.n_nodes() + graph.second[e]] = e;
        edge_between_[graph.second[e] * graph.n_nodes() + graph.first[e]] = e;
    }
}

void AllLabellings::fill(const double* potentials) {
    table_[0] = 0.0;
    int64_t size = 1;
    for (int32_t node = 0; node < graph_.n_nodes(); ++node) {
        for (int32_t state = 1; state < graph_.n_states[node]; ++state) {
            added_[0] = potentials[graph_.node_offset[node] + state - 1];
            int64_t done = 1;
            for (int32_t other = 0; other < node; ++other) {
                const int32_t edge = edge_between_[node * graph_.n_nodes() + other];
                for (int32_t v = 1; v < graph_.n_states[other]; ++v) {
                    const double pair =
                        edge < 0 ? 0.0 : EdgeView(graph_, potentials, node, edge)(state, v);
                    double* to = added_.data() + v * done;
                    for (int64_t k = 0; k < done; ++k) to[k] = added_[k] + pair;
                }
                done *= graph_.n_states[other];
            }
            double* to = table_.data() + state * size;
            for (int64_t k = 0; k < size; ++k) to[k] = table_[k] + added_[k];
        }
        size *= graph_.n_states[node];
    }
}

double AllLabellings::solve(const double* potentials, int32_t* labels) {
    fill(potentials);
    const int64_t count = static_cast<int64_t>(table_.size());
    const double best = largest(table_.data(), count);
    int64_t at = std::find(table_.begin(), table_.end(), best) - table_.begin();
    if (at == count) at = 0;  // scores that are no numbers
    for (int64_t node = 0; node < graph_.n_nodes(); ++node) {
        labels[node] = static_cast<int32_t>(at % graph_.n_states[node]);
        at /= graph_.n_states[node];
    }
    return best;
}

void AllLabellings::max_marginals(const int32_t* labels, double* marginals) {
    std::copy(table_.begin(), table_.end(), fold_.begin());
    int64_t size = static_cast<int64_t>(table_.size());
    for (int64_t node = graph_.n_nodes() - 1; node >= 0; --node) {
        const int32_t n = graph_.n_states[node];
        size /= n;
        double* own = marginals + graph_.node_offset[node];
        const double of_first = largest(fold_.data(), size);
        for (int32_t u = 1; u < n; ++u)
            own[u - 1] = largest(fold_.data() + u * size, size) - of_first;
        for (int32_t u = 1; u < n; ++u) {
            const double* from = fold_.data() + u * size;
            for (int64_t k = 0; k < size; ++k) fold_[k] = from[k] > fold_[k] ? from[k] : fold_[k];
        }
        // A tie must not speak against the labelling.
        if (labels[node] > 0 && own[labels[node] - 1] <= 0.0)
            own[labels[node] - 1] = std::numeric_limits<double>::min();
    }
}

}  // namespace polyleaf
