#include "graphs/tree_labelling.hpp"

#include <algorithm>
#include <limits>

namespace polyleaf {

TreeLabelling::TreeLabelling(const LabelGraph& graph) : graph_(graph) {
    state_offset_.assign(1, 0);
    for (int32_t n : graph.n_states) state_offset_.push_back(state_offset_.back() + n);
    score_.resize(state_offset_.back());
    for (auto at = graph.order.rbegin(); at != graph.order.rend(); ++at) {
        const int32_t node = *at, parent = graph.parent[node], edge = graph.parent_edge[node];
        if (parent < 0) {
            roots_.push_back(node);
            continue;
        }
        const int32_t n = graph.n_states[node], n_parent = graph.n_states[parent];
        const bool is_second = graph.second[edge] == node;
        links_.push_back({node, parent, state_offset_[node], state_offset_[parent],
                          static_cast<int64_t>(choice_.size()), graph.table_offset[edge], n,
                          n_parent, is_second ? 1 : n_parent, is_second ? n : 1});
        choice_.resize(choice_.size() + n_parent);
    }
}

double TreeLabelling::best(const double* tables, const int32_t* ahead, int32_t* labels) {
    const auto value = [tables](int64_t k) { return tables[k]; };
    return graph_.is_binary ? search<2>(value, ahead, labels) : search<0>(value, ahead, labels);
}

void TreeLabelling::least_in_support(const double* tables, const double* support, double floor,
                                     const int32_t* ahead, int32_t* labels) {
    const auto value = [tables, support, floor](int64_t k) {
        return support[k] > floor ? -tables[k] : -std::numeric_limits<double>::infinity();
    };
    if (graph_.is_binary)
        search<2>(value, ahead, labels);
    else
        search<0>(value, ahead, labels);
}

template <int kStates, typename Value>
double TreeLabelling::search(const Value& value, const int32_t* ahead, int32_t* labels) {
    std::fill(score_.begin(), score_.end(), 0.0);
    for (const Link& link : links_) {
        const int32_t n = kStates ? kStates : link.n_states;
        const int32_t n_parent = kStates ? kStates : link.n_parent_states;
        const double* own = score_.data() + link.score;
        double* above = score_.data() + link.parent_score;
        int32_t* choice = choice_.data() + link.choice;
        const int32_t first = ahead[link.node];
        for (int32_t v = 0; v < n_parent; ++v) {
            const int64_t cell = link.cell + v * link.parent_step;
            double best = own[first] + value(cell + first * link.step);
            int32_t chosen = first;
            for (int32_t step = 1; step < n; ++step) {
                const int32_t u = first + step < n ? first + step : first + step - n;
                const double score = own[u] + value(cell + u * link.step);
                chosen = score > best ? u : chosen;
                best = score > best ? score : best;
            }
            choice[v] = chosen;
            above[v] += best;
        }
    }
    double total = 0.0;
    for (int32_t root : roots_) {
        const double* own = score_.data() + state_offset_[root];
        int32_t best = ahead[root];
        for (int32_t u = 0; u < graph_.n_states[root]; ++u)
            if (own[u] > own[best]) best = u;
        labels[root] = best;
        total += own[best];
    }
    for (auto link = links_.rbegin(); link != links_.rend(); ++link)
        labels[link->node] = choice_[link->choice + labels[link->parent]];
    return total;
}

}  // namespace polyleaf
