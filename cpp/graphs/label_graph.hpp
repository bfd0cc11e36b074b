// A graph over labels, and how the numbers that belong to its nodes and edges are laid out.
//
// Node j has the states 0 .. n_states[j] - 1. A function of a labelling that is a sum over nodes
// and edges is written by its *parameters*: per node one number for every state but 0, then per
// edge one number for every pair of states without a 0. A *table* has a number for every pair of
// states of an edge, in the order of (first end, second end).
#pragma once

#include <cstdint>
#include <vector>

namespace polyleaf {

class LabelGraph {
  public:
    // Throws std::invalid_argument for an end out of range, a loop or an edge given twice.
    LabelGraph(const int32_t* n_states, int64_t n_nodes, const int32_t* edges, int64_t n_edges);

    struct Neighbour {
        int32_t node, edge;
    };

    int64_t n_nodes() const { return static_cast<int64_t>(n_states.size()); }
    int64_t n_edges() const { return static_cast<int64_t>(first.size()); }
    int64_t n_parameters() const { return edge_offset.back(); }
    int64_t n_node_parameters() const { return node_offset.back(); }
    int64_t table_size() const { return table_offset.back(); }
    // Largest number of edges on a shortest path between two nodes of one component.
    int64_t diameter() const;

    std::vector<int32_t> n_states;             // per node
    std::vector<int32_t> first, second;        // ends of each edge
    std::vector<int64_t> node_offset;          // into the parameters, n_nodes + 1
    std::vector<int64_t> edge_offset;          // into the parameters, n_edges + 1
    std::vector<int64_t> table_offset;         // into the tables, n_edges + 1
    std::vector<int64_t> neighbour_offset;     // n_nodes + 1
    std::vector<Neighbour> neighbours;         // of all nodes, one node after the other
    std::vector<int32_t> order;                // breadth-first, component by component
    std::vector<int32_t> position;             // of each node in `order`
    std::vector<int32_t> parent, parent_edge;  // in that order; -1 for roots
    bool is_forest = true, is_binary = true;
    int32_t max_states = 1;

  private:
    void lay_out();
    void find_neighbours();
    void walk();
};

}  // namespace polyleaf
