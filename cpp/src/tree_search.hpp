// The best labelling of a forest by dynamic programming over edge tables.
#pragma once

#include <vector>

#include "ramify/label_graph.hpp"

namespace ramify {

class TreeSearch {
  public:
    explicit TreeSearch(const LabelGraph& graph);

    // The labelling with the largest sum of table entries.
    void best(const double* tables, int32_t* labels);
    // The labelling with the smallest sum among those whose edges all have a support larger than
    // `floor`. There is one: marginals of a forest are those of a distribution.
    void least_in_support(const double* tables, const double* support, double floor,
                          int32_t* labels);

  private:
    template <int kStates, typename Value>
    void search(const Value& value, int32_t* labels);

    const LabelGraph& graph_;
    std::vector<int64_t> state_offset_;  // per node, into the next two
    std::vector<double> score_;          // of the subtree below, by the node's own state
    std::vector<int64_t> choice_offset_;
    std::vector<int32_t> choice_;  // of the node, by its parent's state
};

}  // namespace ramify
