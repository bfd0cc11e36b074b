#include "graphs/label_graph.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace polyleaf {

namespace {

// A model of more is none that fits into memory, and offsets stay far from overflow.
constexpr int64_t kMostParameters = int64_t{1} << 31;

void require_edge(bool condition, int64_t edge, const char* what) {
    if (!condition) throw std::invalid_argument("edge " + std::to_string(edge) + " " + what);
}

}  // namespace

LabelGraph::LabelGraph(const int32_t* states, int64_t n_nodes, const int32_t* edges,
                       int64_t n_edges)
    : n_states(states, states + n_nodes) {
    if (n_nodes < 1) throw std::invalid_argument("there must be at least one node");
    for (int32_t count : n_states)
        if (count < 1) throw std::invalid_argument("every node must have a state");
    std::vector<std::pair<int32_t, int32_t>> sorted;
    for (int64_t e = 0; e < n_edges; ++e) {
        const int32_t a = edges[2 * e], b = edges[2 * e + 1];
        require_edge(a >= 0 && a < n_nodes && b >= 0 && b < n_nodes, e, "has no such end");
        require_edge(a != b, e, "is a loop");
        first.push_back(a);
        second.push_back(b);
        sorted.emplace_back(std::minmax(a, b));
    }
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
        throw std::invalid_argument("an edge is given twice");
    lay_out();
    find_neighbours();
    walk();
}

void LabelGraph::lay_out() {
    node_offset.assign(1, 0);
    for (int32_t count : n_states) {
        node_offset.push_back(node_offset.back() + count - 1);
        max_states = std::max(max_states, count);
        is_binary = is_binary && count == 2;
    }
    edge_offset.assign(1, node_offset.back());
    table_offset.assign(1, 0);
    for (int64_t e = 0; e < n_edges(); ++e) {
        const int64_t a = n_states[first[e]], b = n_states[second[e]];
        edge_offset.push_back(edge_offset.back() + (a - 1) * (b - 1));
        table_offset.push_back(table_offset.back() + a * b);
        if (table_offset.back() > kMostParameters)
            throw std::invalid_argument("the graph has too many edge labels");
    }
}

void LabelGraph::find_neighbours() {
    neighbour_offset.assign(n_nodes() + 1, 0);
    for (int64_t e = 0; e < n_edges(); ++e) {
        ++neighbour_offset[first[e] + 1];
        ++neighbour_offset[second[e] + 1];
    }
    for (int64_t j = 0; j < n_nodes(); ++j) neighbour_offset[j + 1] += neighbour_offset[j];
    neighbours.resize(2 * n_edges());
    std::vector<int64_t> next(neighbour_offset.begin(), neighbour_offset.end() - 1);
    for (int32_t e = 0; e < n_edges(); ++e) {
        neighbours[next[first[e]]++] = {second[e], e};
        neighbours[next[second[e]]++] = {first[e], e};
    }
}

void LabelGraph::walk() {
    position.assign(n_nodes(), -1);
    parent.assign(n_nodes(), -1);
    parent_edge.assign(n_nodes(), -1);
    order.reserve(n_nodes());
    int64_t n_roots = 0;
    for (int32_t root = 0; root < n_nodes(); ++root) {
        if (position[root] >= 0) continue;
        ++n_roots;
        position[root] = static_cast<int32_t>(order.size());
        order.push_back(root);
        for (size_t at = position[root]; at < order.size(); ++at) {
            const int32_t node = order[at];
            for (int64_t k = neighbour_offset[node]; k < neighbour_offset[node + 1]; ++k) {
                const Neighbour& next = neighbours[k];
                if (position[next.node] >= 0) continue;
                position[next.node] = static_cast<int32_t>(order.size());
                order.push_back(next.node);
                parent[next.node] = node;
                parent_edge[next.node] = next.edge;
            }
        }
    }
    is_forest = n_edges() == n_nodes() - n_roots;
}

int64_t LabelGraph::diameter() const {
    int64_t longest = 0;
    std::vector<int64_t> distance(n_nodes());
    std::vector<int32_t> queue;
    for (int32_t source = 0; source < n_nodes(); ++source) {
        std::fill(distance.begin(), distance.end(), -1);
        queue.assign(1, source);
        distance[source] = 0;
        for (size_t at = 0; at < queue.size(); ++at) {
            const int32_t node = queue[at];
            for (int64_t k = neighbour_offset[node]; k < neighbour_offset[node + 1]; ++k) {
                const int32_t next = neighbours[k].node;
                if (distance[next] >= 0) continue;
                distance[next] = distance[node] + 1;
                queue.push_back(next);
            }
        }
        longest = std::max(longest, distance[queue.back()]);
    }
    return longest;
}

}  // namespace polyleaf
