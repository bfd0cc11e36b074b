#include "predict/row_average.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace polyleaf {

namespace {

constexpr int64_t kRowsPerBlock = 64;

int64_t n_blocks(int64_t n_rows) { return (n_rows + kRowsPerBlock - 1) / kRowsPerBlock; }

void average_row(const RowAverageTask& task, int64_t row) {
    const int64_t width = task.n_channels;
    double* const sums = task.averages + row * width;
    for (int64_t tree = 0; tree < task.n_trees; ++tree) {
        const int32_t leaf = task.leaves[row * task.n_trees + tree];
        const double* const weights =
            task.tree_weights ? task.tree_weights + tree * width : nullptr;
        for (int64_t i = task.leaf_offsets[leaf]; i < task.leaf_offsets[leaf + 1]; ++i) {
            const double share = task.shares[i];
            const double* const values = task.values + int64_t{task.leaf_rows[i]} * width;
            if (weights)
                for (int64_t k = 0; k < width; ++k) sums[k] += weights[k] * (share * values[k]);
            else
                for (int64_t k = 0; k < width; ++k) sums[k] += share * values[k];
        }
    }
    if (task.tree_weights) return;
    for (int64_t k = 0; k < width; ++k) sums[k] /= static_cast<double>(task.n_trees);
}

}  // namespace

void average_rows(const RowAverageTask& task, ThreadTeam& team) {
    team.parallel_for(n_blocks(task.n_rows), [&](int64_t block, int) {
        const int64_t end = std::min(task.n_rows, (block + 1) * kRowsPerBlock);
        for (int64_t row = block * kRowsPerBlock; row < end; ++row) average_row(task, row);
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
