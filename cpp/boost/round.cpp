#include "boost/round.hpp"

#include <algorithm>
#include <vector>

#include "kernels/kernels.hpp"

namespace polyleaf {

namespace {

// A leaf without weight in an output does not move it.
double divided(double sum, double weight) { return weight > 0.0 ? sum / weight : 0.0; }

// Scratch of one thread: sums and curvatures in both precisions.
struct Scratch {
    explicit Scratch(int64_t n_outputs)
        : floats(2 * n_outputs), sums(n_outputs), curvature(n_outputs) {}
    std::vector<float> floats;
    std::vector<double> sums, curvature;
};

std::vector<Scratch> make_scratch(int64_t n_outputs, const ThreadTeam& team) {
    return std::vector<Scratch>(team.size(), Scratch(n_outputs));
}

LeafTask leaf_task(int64_t leaf, int64_t n_outputs, const LeafRows& leaves,
                   const EntryWeights& weights, Scratch& scratch) {
    LeafTask task;
    task.n_outputs = n_outputs;
    task.rows = leaves.rows + leaves.offsets[leaf];
    task.n_rows = leaves.offsets[leaf + 1] - leaves.offsets[leaf];
    task.by_row = weights.by_row;
    task.by_entry = weights.by_entry;
    task.scratch = scratch.floats.data();
    task.sums = scratch.sums.data();
    task.curvature = scratch.curvature.data();
    std::fill(scratch.sums.begin(), scratch.sums.end(), 0.0);
    std::fill(scratch.curvature.begin(), scratch.curvature.end(), 0.0);
    return task;
}

// The weight of a leaf in every output.
void weigh_leaf(const LeafTask& task) {
    if (task.by_entry) {
        for (int64_t i = 0; i < task.n_rows; ++i) {
            const float* w = task.by_entry + task.rows[i] * task.n_outputs;
            for (int64_t k = 0; k < task.n_outputs; ++k) task.curvature[k] += w[k];
        }
        return;
    }
    double total = static_cast<double>(task.n_rows);
    if (task.by_row) {
        total = 0.0;
        for (int64_t i = 0; i < task.n_rows; ++i) total += task.by_row[task.rows[i]];
    }
    std::fill_n(task.curvature, task.n_outputs, total);
}

// Leaves are independent; what they return is added up in their order.
template <typename Leaf>
double over_leaves(int64_t n_leaves, ThreadTeam& team, Leaf&& leaf) {
    std::vector<double> parts(n_leaves, 0.0);
    team.parallel_for(n_leaves, [&](int64_t l, int thread) { parts[l] = leaf(l, thread); });
    double total = 0.0;
    for (double part : parts) total += part;
    return total;
}

}  // namespace

void leaf_sums(const LeafSumsTask& task, ThreadTeam& team) {
    const Kernels& kernels = kernels_for(16);
    std::vector<Scratch> scratch = make_scratch(task.n_outputs, team);
    team.parallel_for(task.leaves.n_leaves, [&](int64_t leaf, int thread) {
        LeafTask part =
            leaf_task(leaf, task.n_outputs, task.leaves, task.weights, scratch[thread]);
        part.gradient = const_cast<float*>(task.values);
        kernels.sum_leaf(part);
        std::copy_n(part.sums, task.n_outputs, task.sums + leaf * task.n_outputs);
    });
}

void move_rows(const MoveTask& task, ThreadTeam& team) {
    const Kernels& kernels = kernels_for(16);
    team.parallel_for(task.leaves.n_leaves, [&](int64_t leaf, int) {
        LeafTask part;
        part.n_outputs = task.n_outputs;
        part.rows = task.leaves.rows + task.leaves.offsets[leaf];
        part.n_rows = task.leaves.offsets[leaf + 1] - task.leaves.offsets[leaf];
        part.values = task.values + leaf * task.n_outputs;
        part.raw = task.raw;
        kernels.add_to_leaf(part);
    });
}

double squared_step(const StepTask& task, ThreadTeam& team) {
    const Kernels& kernels = kernels_for(16);
    const int64_t d = task.n_outputs;
    std::vector<Scratch> scratch = make_scratch(d, team);
    return over_leaves(task.leaves.n_leaves, team, [&](int64_t leaf, int thread) {
        LeafTask part = leaf_task(leaf, d, task.leaves, task.weights, scratch[thread]);
        part.gradient = task.gradient;
        kernels.sum_leaf(part);
        weigh_leaf(part);
        float* const values = task.values + leaf * d;
        double fall = 0.0;
        for (int64_t k = 0; k < d; ++k) {
            const double mean = divided(part.sums[k], part.curvature[k] + task.l2_regularization);
            values[k] = static_cast<float>(task.learning_rate * mean);
            const double v = values[k];
            fall += v * part.sums[k] - 0.5 * v * v * part.curvature[k];
        }
        part.values = values;
        kernels.take_from_leaf(part);
        return fall;
    });
}

double logistic_step(const StepTask& task, ThreadTeam& team) {
    const Kernels& kernels = kernels_for(16);
    const int64_t d = task.n_outputs;
    std::vector<Scratch> scratch = make_scratch(d, team);
    return over_leaves(task.leaves.n_leaves, team, [&](int64_t leaf, int thread) {
        LeafTask part = leaf_task(leaf, d, task.leaves, task.weights, scratch[thread]);
        part.raw = task.raw;
        part.gradient = task.gradient;
        part.labels = task.labels;
        kernels.sum_logistic_leaf(part);
        float* const values = task.values + leaf * d;
        const double bound = task.largest_move;
        for (int64_t k = 0; k < d; ++k) {
            const double step = divided(part.sums[k], part.curvature[k] + task.l2_regularization);
            const double bounded = std::min(std::max(step, -bound), bound);
            values[k] = static_cast<float>(task.learning_rate * bounded);
        }
        part.values = values;
        return kernels.move_logistic_leaf(part);
    });
}

void add_leaves(const AddLeavesTask& task, ThreadTeam& team) {
    constexpr int64_t kRowsPerBlock = 256;
    const int64_t d = task.n_outputs;
    const int64_t n_blocks = (task.n_rows + kRowsPerBlock - 1) / kRowsPerBlock;
    team.parallel_for(n_blocks, [&](int64_t block, int) {
        const int64_t begin = block * kRowsPerBlock;
        const int64_t end = std::min(task.n_rows, begin + kRowsPerBlock);
        // Tree by tree, so that a tree's leaves stay in cache for the rows of the block.
        for (int64_t tree = 0; tree < task.n_trees; ++tree) {
            for (int64_t row = begin; row < end; ++row) {
                const float* const value =
                    task.values + int64_t{task.leaves[row * task.n_trees + tree]} * d;
                float* const raw = task.raw + row * d;
                for (int64_t k = 0; k < d; ++k) raw[k] += value[k];
            }
        }
    });
}

}  // namespace polyleaf
