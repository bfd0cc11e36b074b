#include "graphs/tree_labelling.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace polyleaf {

namespace {

using Double2 = double __attribute__((vector_size(16)));

Double2 load2(const double* from) {
    Double2 values;
    std::memcpy(&values, from, sizeof(values));
    return values;
}

constexpr double kNone = -std::numeric_limits<double>::infinity();

// What the cells of an edge's table are worth.
struct TableValue {
    const double* tables;
    double operator()(int64_t cell) const { return tables[cell]; }
    Double2 pair(int64_t cell) const { return load2(tables + cell); }
};

// The same turned around, and nothing where there is no support.
struct SupportedValue {
    const double* tables;
    const double* support;
    double floor;
    double operator()(int64_t cell) const { return support[cell] > floor ? -tables[cell] : kNone; }
    Double2 pair(int64_t cell) const {
        return load2(support + cell) > floor ? -load2(tables + cell) : Double2{kNone, kNone};
    }
};

}  // namespace

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
    return search(TableValue{tables}, ahead, labels);
}

void TreeLabelling::least_in_support(const double* tables, const double* support, double floor,
                                     const int32_t* ahead, int32_t* labels) {
    search(SupportedValue{tables, support, floor}, ahead, labels);
}

template <typename Value>
double TreeLabelling::search(const Value& value, const int32_t* ahead, int32_t* labels) {
    std::fill(score_.begin(), score_.end(), 0.0);
    if (graph_.is_binary)
        climb_binary(value, ahead);
    else
        climb(value, ahead);
    return descend(ahead, labels);
}

// Both states of a parent side by side, without branches: which state wins cannot be foretold.
template <typename Value>
void TreeLabelling::climb_binary(const Value& value, const int32_t* ahead) {
    for (const Link& link : links_) {
        const Double2 low = value.pair(link.cell), high = value.pair(link.cell + 2);
        const bool is_second = link.step == 1;
        const Double2 of_0 = is_second ? Double2{low[0], high[0]} : low;
        const Double2 of_1 = is_second ? Double2{low[1], high[1]} : high;
        const double* own = score_.data() + link.score;
        double* above = score_.data() + link.parent_score;
        int32_t* choice = choice_.data() + link.choice;
        const int32_t first = ahead[link.node];
        const Double2 score_0 = own[0] + of_0, score_1 = own[1] + of_1;
        const Double2 ours = first ? score_1 : score_0, other = first ? score_0 : score_1;
        const auto is_better = other > ours;
        choice[0] = first ^ static_cast<int32_t>(is_better[0] & 1);
        choice[1] = first ^ static_cast<int32_t>(is_better[1] & 1);
        const Double2 sum = load2(above) + (is_better ? other : ours);
        above[0] = sum[0];
        above[1] = sum[1];
    }
}

template <typename Value>
void TreeLabelling::climb(const Value& value, const int32_t* ahead) {
    for (const Link& link : links_) {
        const int32_t n = link.n_states, n_parent = link.n_parent_states;
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
}

double TreeLabelling::descend(const int32_t* ahead, int32_t* labels) const {
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
