#include "tree_search.hpp"

#include <algorithm>
#include <limits>

namespace ramify {

TreeSearch::TreeSearch(const LabelGraph& graph) : graph_(graph) {
    state_offset_.assign(1, 0);
    choice_offset_.assign(1, 0);
    for (int64_t j = 0; j < graph.n_nodes(); ++j) {
        const int32_t parent = graph.parent[j];
        state_offset_.push_back(state_offset_.back() + graph.n_states[j]);
        choice_offset_.push_back(choice_offset_.back() +
                                 (parent < 0 ? 0 : graph.n_states[parent]));
    }
    score_.resize(state_offset_.back());
    choice_.resize(choice_offset_.back());
}

void TreeSearch::best(const double* tables, int32_t* labels) {
    const auto value = [tables](int64_t k) { return tables[k]; };
    if (graph_.is_binary)
        search<2>(value, labels);
    else
        search<0>(value, labels);
}

void TreeSearch::least_in_support(const double* tables, const double* support, double floor,
                                  int32_t* labels) {
    const auto value = [tables, support, floor](int64_t k) {
        return support[k] > floor ? -tables[k] : -std::numeric_limits<double>::infinity();
    };
    if (graph_.is_binary)
        search<2>(value, labels);
    else
        search<0>(value, labels);
}

template <int kStates, typename Value>
void TreeSearch::search(const Value& value, int32_t* labels) {
    std::fill(score_.begin(), score_.end(), 0.0);
    for (auto at = graph_.order.rbegin(); at != graph_.order.rend(); ++at) {
        const int32_t node = *at, parent = graph_.parent[node], edge = graph_.parent_edge[node];
        if (parent < 0) continue;
        const int32_t n = kStates ? kStates : graph_.n_states[node];
        const int32_t n_parent = kStates ? kStates : graph_.n_states[parent];
        const bool is_second = graph_.second[edge] == node;
        const int64_t step = is_second ? 1 : n_parent, parent_step = is_second ? n : 1;
        const double* own = score_.data() + state_offset_[node];
        double* above = score_.data() + state_offset_[parent];
        int32_t* choice = choice_.data() + choice_offset_[node];
        for (int32_t v = 0; v < n_parent; ++v) {
            const int64_t cell = graph_.table_offset[edge] + v * parent_step;
            double best = own[0] + value(cell);
            int32_t chosen = 0;
            for (int32_t u = 1; u < n; ++u) {
                const double score = own[u] + value(cell + u * step);
                chosen = score > best ? u : chosen;
                best = score > best ? score : best;
            }
            choice[v] = chosen;
            above[v] += best;
        }
    }
    for (int32_t node : graph_.order) {
        const int32_t parent = graph_.parent[node];
        if (parent >= 0) {
            labels[node] = choice_[choice_offset_[node] + labels[parent]];
            continue;
        }
        const auto own = score_.begin() + state_offset_[node];
        labels[node] =
            static_cast<int32_t>(std::max_element(own, own + graph_.n_states[node]) - own);
    }
}

}  // namespace ramify
