#include "grow/leaves.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace polyleaf {

namespace {

constexpr int64_t kLeavesPerBlock = 64;
constexpr int64_t kPlainOutputsPerBlock = 1024;
constexpr int64_t kOutputsPerBlock = 32;

void plain_means(const LeafMeansTask& task, ThreadTeam& team) {
    const int64_t n_leaf_blocks = (task.n_leaves + kLeavesPerBlock - 1) / kLeavesPerBlock;
    const int64_t n_output_blocks =
        (task.n_outputs + kPlainOutputsPerBlock - 1) / kPlainOutputsPerBlock;
    team.parallel_for(n_leaf_blocks * n_output_blocks, [&](int64_t block, int) {
        const int64_t first = block % n_output_blocks * kPlainOutputsPerBlock;
        const int64_t width = std::min(kPlainOutputsPerBlock, task.n_outputs - first);
        const int64_t begin = block / n_output_blocks * kLeavesPerBlock;
        const int64_t end = std::min(task.n_leaves, begin + kLeavesPerBlock);
        for (int64_t leaf = begin; leaf < end; ++leaf) {
            double* const mean = task.means + leaf * task.n_outputs + first;
            const int64_t first_row = task.leaf_offsets[leaf];
            if (task.leaf_offsets[leaf + 1] == first_row + 1) {
                std::copy_n(task.values + task.rows[first_row] * task.n_outputs + first, width,
                            mean);
                continue;
            }
            std::fill_n(mean, width, 0.0);
            double total = 0.0;
            for (int64_t i = first_row; i < task.leaf_offsets[leaf + 1]; ++i) {
                const double* value = task.values + task.rows[i] * task.n_outputs + first;
                const double weight = task.row_weights ? task.row_weights[task.rows[i]] : 1.0;
                total += weight;
                for (int64_t k = 0; k < width; ++k) mean[k] += weight * value[k];
            }
            for (int64_t k = 0; k < width; ++k) mean[k] /= total;
        }
    });
}

// Sums go up from the leaves, values come down from the root, for a few outputs at a time.
void masked_means(const LeafMeansTask& task, ThreadTeam& team) {
    const int64_t n_blocks = (task.n_outputs + kOutputsPerBlock - 1) / kOutputsPerBlock;
    team.parallel_for(n_blocks, [&](int64_t block, int) {
        const int64_t first = block * kOutputsPerBlock;
        const int64_t width = std::min(kOutputsPerBlock, task.n_outputs - first);
        const int64_t n_nodes = task.tree.n_nodes;
        std::vector<double> sums(n_nodes * width, 0.0), weights(n_nodes * width, 0.0);
        for (int64_t node = n_nodes; node-- > 0;) {
            double* const sum = sums.data() + node * width;
            double* const weight = weights.data() + node * width;
            const int32_t leaf = task.tree.leaf_index[node];
            if (leaf < 0) {
                for (const int64_t child : {node + 1, int64_t{task.tree.right[node]}}) {
                    for (int64_t k = 0; k < width; ++k) {
                        sum[k] += sums[child * width + k];
                        weight[k] += weights[child * width + k];
                    }
                }
                continue;
            }
            for (int64_t i = task.leaf_offsets[leaf]; i < task.leaf_offsets[leaf + 1]; ++i) {
                const int64_t at = task.rows[i] * task.n_outputs + first;
                const double row_weight = task.row_weights ? task.row_weights[task.rows[i]] : 1.0;
                for (int64_t k = 0; k < width; ++k) {
                    if (task.observed && !task.observed[at + k]) continue;
                    const double w =
                        row_weight * (task.entry_weights ? task.entry_weights[at + k] : 1.0);
                    sum[k] += w * task.values[at + k];
                    weight[k] += w;
                }
            }
        }
        // From here on `sums` holds values.
        for (int64_t k = 0; k < width; ++k)
            sums[k] =
                weights[k] > 0.0 ? sums[k] / weights[k] : std::numeric_limits<double>::quiet_NaN();
        for (int64_t node = 0; node < n_nodes; ++node) {
            const double* const value = sums.data() + node * width;
            const int32_t leaf = task.tree.leaf_index[node];
            if (leaf >= 0) {
                std::copy_n(value, width, task.means + leaf * task.n_outputs + first);
                continue;
            }
            for (const int64_t child : {node + 1, int64_t{task.tree.right[node]}})
                for (int64_t k = 0; k < width; ++k) {
                    double& own = sums[child * width + k];
                    const double weight = weights[child * width + k];
                    own = weight > 0.0 ? own / weight : value[k];
                }
        }
    });
}

}  // namespace

void leaf_means(const LeafMeansTask& task, ThreadTeam& team) {
    if (task.observed || task.entry_weights)
        masked_means(task, team);
    else
        plain_means(task, team);
}

}  // namespace polyleaf
