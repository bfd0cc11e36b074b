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

// Leaves cut into pieces of so many rows, which threads share: exact sums may be added in any
// order.
constexpr int64_t kPieceRows = 8192;
struct Piece {
    int64_t leaf, begin, end;
};

std::vector<Piece> pieces_of(const LeafRows& leaves) {
    std::vector<Piece> pieces;
    for (int64_t leaf = 0; leaf < leaves.n_leaves; ++leaf)
        for (int64_t begin = leaves.offsets[leaf]; begin < leaves.offsets[leaf + 1];
             begin += kPieceRows)
            pieces.push_back(
                {leaf, begin, std::min(begin + kPieceRows, leaves.offsets[leaf + 1])});
    return pieces;
}

// Runs body(task of the piece, piece) for all pieces; sums go to totals, (n_leaves, 2 n_outputs).
template <typename Body>
void over_pieces(int64_t n_outputs, const LeafRows& leaves, const EntryWeights& weights,
                 const ExactSums& exact, ThreadTeam& team, std::vector<double>& totals,
                 Body&& body) {
    const std::vector<Piece> pieces = pieces_of(leaves);
    std::vector<double> sums(pieces.size() * 2 * n_outputs, 0.0);
    team.parallel_for(static_cast<int64_t>(pieces.size()), [&](int64_t i, int) {
        LeafTask part;
        part.n_outputs = n_outputs;
        part.rows = leaves.rows + pieces[i].begin;
        part.n_rows = pieces[i].end - pieces[i].begin;
        part.by_row = weights.by_row;
        part.by_entry = weights.by_entry;
        part.magic = exact.magic;
        part.sums = sums.data() + i * 2 * n_outputs;
        part.curvature = part.sums + n_outputs;
        body(part);
    });
    totals.assign(leaves.n_leaves * 2 * n_outputs, 0.0);
    for (size_t i = 0; i < pieces.size(); ++i)
        for (int64_t k = 0; k < 2 * n_outputs; ++k)
            totals[pieces[i].leaf * 2 * n_outputs + k] += sums[i * 2 * n_outputs + k];
    if (exact.reducer)
        exact.reducer->reduce({SumOf::leaf_sums, totals.data(), leaves.n_leaves, 2 * n_outputs});
}

// What move(task) returns, added up over all pieces and workers.
template <typename Move>
double move_pieces(const StepTask& task, ThreadTeam& team, Move&& move) {
    const std::vector<Piece> pieces = pieces_of(task.leaves);
    std::vector<double> parts(pieces.size(), 0.0);
    team.parallel_for(static_cast<int64_t>(pieces.size()), [&](int64_t i, int) {
        LeafTask part;
        part.n_outputs = task.n_outputs;
        part.rows = task.leaves.rows + pieces[i].begin;
        part.n_rows = pieces[i].end - pieces[i].begin;
        part.by_row = task.weights.by_row;
        part.by_entry = task.weights.by_entry;
        part.labels = task.labels;
        part.raw = task.raw;
        part.gradient = task.gradient;
        part.values = task.values + pieces[i].leaf * task.n_outputs;
        part.loss_magic = task.exact.loss_magic;
        parts[i] = move(part);
    });
    double total = 0.0;
    for (double part : parts) total += part;
    if (task.exact.reducer) task.exact.reducer->reduce({SumOf::loss, &total, 1});
    return total;
}

double squared_step_exactly(const StepTask& task, ThreadTeam& team) {
    const Kernels& kernels = kernels_for(16);
    const int64_t d = task.n_outputs;
    std::vector<double> totals;
    over_pieces(d, task.leaves, task.weights, task.exact, team, totals, [&](LeafTask& part) {
        part.gradient = task.gradient;
        kernels.sum_leaf_exactly(part);
        kernels.weigh_leaf_exactly(part);
    });
    double fall = 0.0;
    for (int64_t leaf = 0; leaf < task.leaves.n_leaves; ++leaf) {
        const double* const sums = totals.data() + leaf * 2 * d;
        for (int64_t k = 0; k < d; ++k) {
            const double mean = divided(sums[k], sums[d + k] + task.l2_regularization);
            const float value = static_cast<float>(task.learning_rate * mean);
            task.values[leaf * d + k] = value;
            fall += value * (sums[k] - 0.5 * value * sums[d + k]);
        }
    }
    StepTask move = task;
    move.exact.reducer = nullptr;  // there is nothing to add up
    move_pieces(move, team, [&](const LeafTask& part) {
        kernels.take_from_leaf(part);
        return 0.0;
    });
    return fall;
}

double logistic_step_exactly(const StepTask& task, ThreadTeam& team) {
    const Kernels& kernels = kernels_for(16);
    const int64_t d = task.n_outputs;
    std::vector<double> totals;
    over_pieces(d, task.leaves, task.weights, task.exact, team, totals, [&](LeafTask& part) {
        part.gradient = task.gradient;
        kernels.sum_logistic_leaf_exactly(part);
    });
    const double bound = task.largest_move;
    for (int64_t leaf = 0; leaf < task.leaves.n_leaves; ++leaf)
        for (int64_t k = 0; k < d; ++k) {
            const double* const sums = totals.data() + leaf * 2 * d;
            const double step = divided(sums[k], sums[d + k] + task.l2_regularization);
            task.values[leaf * d + k] =
                static_cast<float>(task.learning_rate * std::min(std::max(step, -bound), bound));
        }
    return move_pieces(task, team, [&](const LeafTask& part) {
        return kernels.move_logistic_leaf_exactly(part);
    });
}

}  // namespace

void leaf_sums(const LeafSumsTask& task, ThreadTeam& team) {
    const Kernels& kernels = kernels_for(16);
    if (task.exact.magic) {
        std::vector<double> totals;
        over_pieces(task.n_outputs, task.leaves, task.weights, task.exact, team, totals,
                    [&](LeafTask& part) {
                        part.gradient = const_cast<float*>(task.values);
                        kernels.sum_leaf_exactly(part);
                    });
        for (int64_t leaf = 0; leaf < task.leaves.n_leaves; ++leaf)
            std::copy_n(totals.data() + leaf * 2 * task.n_outputs, task.n_outputs,
                        task.sums + leaf * task.n_outputs);
        return;
    }
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
    if (task.exact.magic) return squared_step_exactly(task, team);
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
    if (task.exact.magic) return logistic_step_exactly(task, team);
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

void project(const ProjectionTask& task, ThreadTeam& team) {
    const Kernels& kernels = kernels_for(16);
    constexpr int64_t kRowsPerBlock = 1024;
    for (int64_t first = 0; first < task.n_out; first += kProjectLanes) {
        const int64_t n_out = std::min<int64_t>(kProjectLanes, task.n_out - first);
        std::vector<float> matrix(task.n_columns * kProjectLanes, 0.0f);
        for (int64_t k = 0; k < task.n_columns; ++k)
            std::copy_n(task.matrix + k * task.n_out + first, n_out,
                        matrix.data() + k * kProjectLanes);
        const int64_t n_blocks = (task.n_rows + kRowsPerBlock - 1) / kRowsPerBlock;
        team.parallel_for(n_blocks, [&](int64_t block, int) {
            const int64_t begin = block * kRowsPerBlock;
            const int64_t n_rows = std::min(kRowsPerBlock, task.n_rows - begin);
            kernels.project_rows({task.values + begin * task.n_columns, n_rows, task.n_columns,
                                  matrix.data(), task.out + begin * task.n_out + first, n_out,
                                  task.n_out});
        });
    }
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
