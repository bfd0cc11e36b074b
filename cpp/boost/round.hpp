// One round of boosting behind the tree: leaf sums in all outputs, leaf values, and the move of
// raw predictions and gradients, leaf by leaf while the rows are in cache.
#pragma once

#include <cstdint>

#include "base/parallel.hpp"
#include "grow/reducer.hpp"

namespace polyleaf {

// Rows, leaf after leaf.
struct LeafRows {
    int64_t n_leaves = 0;
    const int32_t* rows = nullptr;
    const int64_t* offsets = nullptr;  // (n_leaves + 1,)
};

// At most one of the two is set; null: every entry weighs 1.
struct EntryWeights {
    const float* by_row = nullptr;    // (n,)
    const float* by_entry = nullptr;  // (n, n_outputs)
};

// How sums are kept if they must not depend on the order of the rows (ExactUnit).
struct ExactSums {
    // (2 n_outputs,): of weighted gradients, and of weights or curvatures; null: in any order.
    const double* magic = nullptr;
    double loss_magic = 0.0;
    Reducer* reducer = nullptr;  // null: there is one worker
};

// sums[leaf][k]: the weighted sum of values[row][k] over the leaf's rows.
struct LeafSumsTask {
    int64_t n_outputs = 0;
    const float* values = nullptr;  // IN (n, n_outputs)
    EntryWeights weights;           // IN
    LeafRows leaves;                // IN
    ExactSums exact;                // IN
    double* sums = nullptr;         // OUT (n_leaves, n_outputs)
};
void leaf_sums(const LeafSumsTask& task, ThreadTeam& team);

// raw[row] += values[leaf of the row].
struct MoveTask {
    int64_t n_outputs = 0;
    LeafRows leaves;                // IN
    const float* values = nullptr;  // IN (n_leaves, n_outputs)
    float* raw = nullptr;           // IN OUT (n, n_outputs)
};
void move_rows(const MoveTask& task, ThreadTeam& team);

// A whole round: leaf values, and the gradients that they leave behind.
struct StepTask {
    int64_t n_outputs = 0;
    EntryWeights weights;             // IN
    LeafRows leaves;                  // IN
    const uint8_t* labels = nullptr;  // IN (n, n_outputs) 0 or 1; logistic loss only
    double learning_rate = 1.0, l2_regularization = 0.0;
    float largest_move = 0.0f;  // bound of a leaf value before shrinkage; logistic loss only
    float* raw = nullptr;       // IN OUT (n, n_outputs); logistic loss only
    float* gradient = nullptr;  // IN OUT (n, n_outputs) negative gradients, not weighted
    ExactSums exact;            // IN
    float* values = nullptr;    // OUT (n_leaves, n_outputs), shrunk
};

// Squared error, where the negative gradient is the residual: mean residuals, taken off. Returns
// by how much half the weighted sum of squares fell.
double squared_step(const StepTask& task, ThreadTeam& team);

// Logistic loss: one Newton step per leaf and output. Returns the weighted loss after it.
double logistic_step(const StepTask& task, ThreadTeam& team);

// out = values . matrix, (n_rows, n_out), row by row.
struct ProjectionTask {
    const float* values = nullptr;  // IN (n_rows, n_columns)
    int64_t n_rows = 0, n_columns = 0;
    const float* matrix = nullptr;  // IN (n_columns, n_out)
    int64_t n_out = 0;
    float* out = nullptr;  // OUT
};
void project(const ProjectionTask& task, ThreadTeam& team);

// raw[row] += the sum over trees of values[leaves[row][tree]].
struct AddLeavesTask {
    int64_t n_rows = 0, n_trees = 0, n_outputs = 0;
    const int32_t* leaves = nullptr;  // IN (n_rows, n_trees)
    const float* values = nullptr;    // IN (n_leaves, n_outputs)
    float* raw = nullptr;             // IN OUT (n_rows, n_outputs)
};
void add_leaves(const AddLeavesTask& task, ThreadTeam& team);

}  // namespace polyleaf
