#include "grow/flag_sums.hpp"

#include <algorithm>

#include "kernels/kernels.hpp"

namespace polyleaf {

namespace {

// A thread adds up at least so many rows at a time; chunks are few enough for their sums to take
// little memory.
constexpr int64_t kChunkRows = 2048, kMostChunks = 16;

}  // namespace

FlagSums::FlagSums(const Workspace& workspace)
    : workspace_(&workspace),
      sums_(static_cast<size_t>(workspace.binned.n_sparse) * workspace.lanes, 0.0),
      weights_(workspace.binned.n_sparse),
      counts_(workspace.binned.n_sparse) {}

void FlagSums::add_rows(const NodeRange& range, const float* gradient) {
    const Workspace& workspace = *workspace_;
    const Kernels& kernels = kernels_for(workspace.lanes);
    for (int64_t begin = range.begin; begin < range.end; begin += kRowsPerCheck) {
        workspace.interrupt.check();
        EntrySumsTask task;
        task.rows = workspace.rows.data() + begin;
        task.gradient = gradient + (begin - range.begin) * workspace.lanes;
        if (!workspace.weights.empty()) task.weights = workspace.weights.data() + begin;
        task.n_rows = std::min(range.end, begin + kRowsPerCheck) - begin;
        task.indptr = workspace.binned.sparse_indptr;
        task.slots = workspace.binned.sparse_slot;
        task.sums = sums_.data();
        task.weight_sums = weights_.data();
        task.counts = counts_.data();
        kernels.sum_entries(task);
    }
}

void FlagSums::add(const FlagSums& other) {
    for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
    for (size_t i = 0; i < weights_.size(); ++i) weights_[i] += other.weights_[i];
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

void FlagSums::subtract(const FlagSums& other) {
    for (size_t i = 0; i < sums_.size(); ++i) sums_[i] -= other.sums_[i];
    for (size_t i = 0; i < weights_.size(); ++i) weights_[i] -= other.weights_[i];
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] -= other.counts_[i];
}

FlagSums listed_sums(const Workspace& workspace, const NodeRange& range, const float* gradient,
                     ThreadTeam* team) {
    const size_t bytes = flag_sums_bytes(workspace.binned.n_sparse, workspace.channels.n_channels);
    const int64_t most =
        std::min<int64_t>(kMostChunks, kMostFlagSumsBytes / std::max<size_t>(1, bytes));
    const int64_t n_chunks =
        team ? std::clamp<int64_t>(range.size() / kChunkRows, 1, std::max<int64_t>(1, most)) : 1;
    std::vector<FlagSums> parts(n_chunks, FlagSums(workspace));
    auto sum_chunk = [&](int64_t chunk, int) {
        const NodeRange rows{range.begin + chunk * range.size() / n_chunks,
                             range.begin + (chunk + 1) * range.size() / n_chunks};
        parts[chunk].add_rows(rows, gradient + (rows.begin - range.begin) * workspace.lanes);
    };
    if (n_chunks == 1)
        sum_chunk(0, 0);
    else
        team->parallel_for(n_chunks, sum_chunk);
    for (int64_t chunk = 1; chunk < n_chunks; ++chunk) parts[0].add(parts[chunk]);
    return std::move(parts[0]);
}

}  // namespace polyleaf
