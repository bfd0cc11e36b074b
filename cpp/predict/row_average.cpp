#include "predict/row_average.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/predict_kernels.hpp"

namespace polyleaf {

namespace {

constexpr int64_t kRowsPerBlock = 64;

int64_t n_blocks(int64_t n_rows) { return (n_rows + kRowsPerBlock - 1) / kRowsPerBlock; }

constexpr int64_t kTreesTogether = 8;

// Some trees at a time over a block of rows, so that their leaves stay in the cache; every row
// adds in the order of the trees.
void average_block(const RowAverageTask& task, int64_t begin, int64_t n) {
    const int64_t width = task.n_channels;
    AddSharesTask part;
    part.n_rows = n;
    part.n_channels = width;
    part.row_stride = task.n_trees;
    part.leaf_offsets = task.leaf_offsets;
    part.leaf_rows = task.leaf_rows;
    part.shares = task.shares;
    part.values = task.values;
    part.sums = task.averages + begin * width;
    for (int64_t tree = 0; tree < task.n_trees; tree += kTreesTogether) {
        part.n_trees = std::min(kTreesTogether, task.n_trees - tree);
        part.leaves = task.leaves + begin * task.n_trees + tree;
        part.weights = task.tree_weights ? task.tree_weights + tree * width : nullptr;
        predict_kernels().add_shares(part);
    }
    if (task.tree_weights) return;
    for (int64_t i = 0; i < n * width; ++i) part.sums[i] /= static_cast<double>(task.n_trees);
}

}  // namespace

LeafAverages::LeafAverages(int64_t n_leaves, int64_t n_channels, const int64_t* leaf_offsets,
                           const int32_t* leaf_rows, const double* shares, const double* values)
    : n_channels(n_channels),
      leaf_offsets(leaf_offsets),
      leaf_rows(leaf_rows),
      shares(shares),
      values(values),
      only_rows(n_leaves, -1) {
    for (int64_t leaf = 0; leaf < n_leaves; ++leaf) {
        const int64_t first = leaf_offsets[leaf];
        if (leaf_offsets[leaf + 1] == first + 1 && shares[first] == 1.0)
            only_rows[leaf] = leaf_rows[first];
    }
}

void add_leaf_rows(const LeafAverages& averages, const LeafBlock& block,
                   const double* tree_weights, double* sums) {
    AddSharesTask task;
    task.n_rows = block.n_rows;
    task.n_trees = block.n_trees;
    task.n_channels = averages.n_channels;
    task.leaves = block.leaves;
    task.tree_stride = block.stride;
    task.leaf_offsets = averages.leaf_offsets;
    task.leaf_rows = averages.leaf_rows;
    task.shares = averages.shares;
    task.only_rows = averages.only_rows.data();
    task.values = averages.values;
    task.weights = tree_weights;
    task.sums = sums;
    predict_kernels().add_shares(task);
}

void average_rows(const RowAverageTask& task, ThreadTeam& team) {
    team.parallel_for(n_blocks(task.n_rows), [&](int64_t block, int) {
        const int64_t begin = block * kRowsPerBlock;
        average_block(task, begin, std::min(task.n_rows - begin, kRowsPerBlock));
    });
}

void row_quantiles(const RowQuantileTask& task, ThreadTeam& team) {
    team.parallel_for(n_blocks(task.n_rows), [&](int64_t block, int) {
        std::vector<std::pair<double, double>> sorted;  // value, weight
        const int64_t end = std::min(task.n_rows, (block + 1) * kRowsPerBlock);
        for (int64_t row = block * kRowsPerBlock; row < end; ++row) {
            for (int64_t k = 0; k < task.n_channels; ++k) {
                sorted.clear();
                double total = 0.0;
                for (int64_t i = task.indptr[row]; i < task.indptr[row + 1]; ++i) {
                    const int64_t at = int64_t{task.indices[i]} * task.n_channels + k;
                    sorted.emplace_back(task.values[at], task.weights[i]);
                    total += task.weights[i];
                }
                std::sort(sorted.begin(), sorted.end());
                double* const found = task.found + (row * task.n_channels + k) * task.n_quantiles;
                if (!(total > 0.0)) {
                    std::fill_n(found, task.n_quantiles, std::numeric_limits<double>::quiet_NaN());
                    continue;
                }
                // Weights are sums of rounded shares: what reaches q but for rounding, reaches it.
                double reached = 0.0;
                size_t next = 0;
                for (int64_t q = 0; q < task.n_quantiles; ++q) {
                    const double wanted = task.quantiles[q] * total * (1.0 - 1e-12);
                    while (next < sorted.size() && (next == 0 || reached < wanted))
                        reached += sorted[next++].second;
                    found[q] = sorted[next - 1].first;
                }
            }
        }
    });
}

}  // namespace polyleaf
