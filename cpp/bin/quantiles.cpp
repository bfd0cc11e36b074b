// Bins of the values of a column: quantiles that never separate equal values.
#include <algorithm>
#include <vector>

#include "bin/binning.hpp"

namespace polyleaf {

namespace {

// Columns of a row that are read together: a cache line holds as many numbers.
constexpr int64_t kColumnsAtATime = 8;

// Marks the values that fill a bin of their own, however the others share the rest.
std::vector<char> find_frequent(const int64_t* counts, int64_t n, int64_t n_bins) {
    std::vector<char> is_frequent(n, 0);
    std::vector<int64_t> found;
    int64_t n_rest = 0;
    for (int64_t i = 0; i < n; ++i) n_rest += counts[i];
    while (true) {
        found.clear();
        for (int64_t i = 0; i < n; ++i)
            if (!is_frequent[i] && counts[i] * n_bins > n_rest) found.push_back(i);
        if (found.empty() || n_bins <= static_cast<int64_t>(found.size())) return is_frequent;
        for (int64_t i : found) {
            is_frequent[i] = 1;
            n_rest -= counts[i];
        }
        n_bins -= static_cast<int64_t>(found.size());
    }
}

// Walks over the values once and closes a bin when it is full or a frequent value is next.
// `before` (n + 1,) counts the rows before each value.
void cut_around_frequent(const int64_t* counts, const std::vector<int64_t>& before, int64_t n_bins,
                         int64_t* ends) {
    const int64_t n = static_cast<int64_t>(before.size()) - 1;
    const std::vector<char> is_frequent = find_frequent(counts, n, n_bins);
    std::vector<int64_t> positions;  // of frequent values, and the end
    int64_t n_rare = before[n];      // rows of the others that are in no bin yet
    for (int64_t i = 0; i < n; ++i) {
        if (!is_frequent[i]) continue;
        positions.push_back(i);
        n_rare -= counts[i];
    }
    const int64_t n_frequent = static_cast<int64_t>(positions.size());
    positions.push_back(n);
    int64_t start = 0, n_passed = 0;  // frequent values that are in a bin already
    for (int64_t bins_left = n_bins; bins_left > 0; --bins_left) {
        const int64_t next_frequent = positions[n_passed];
        const int64_t rare_bins = bins_left - (n_frequent - n_passed);
        int64_t end = next_frequent + 1;  // rare values join it when no bin is left for them
        if (bins_left == 1) {
            end = n;
        } else if (start != next_frequent && rare_bins > 0) {
            const double full = static_cast<double>(before[start]) +
                                static_cast<double>(n_rare) / static_cast<double>(rare_bins);
            const auto at = std::lower_bound(
                before.begin(), before.end(), full,
                [](int64_t rows, double most) { return static_cast<double>(rows) < most; });
            end = std::min(std::max<int64_t>(at - before.begin(), start + 1), next_frequent);
        }
        end = std::min(end, n - (bins_left - 1));  // leaves a value for every further bin
        n_rare -= before[end] - before[start];
        if (end > next_frequent) {
            n_rare += counts[next_frequent];
            ++n_passed;
        }
        ends[n_bins - bins_left] = end;
        start = end;
    }
}

void cut_evenly(const std::vector<int64_t>& before, int64_t n_bins, int64_t* ends) {
    const int64_t total = before.back();
    auto from = before.begin() + 1;
    for (int64_t bin = 0; bin < n_bins; ++bin) {
        from = std::lower_bound(from, before.end(), (bin + 1) * total / n_bins);
        ends[bin] = from - before.begin();
    }
}

// What a thread works with, kept from column to column.
struct CutMemory {
    std::vector<int64_t> first, counts, before, ends;  // `first`: where each value begins
};

void cut_counts(const int64_t* counts, int64_t n, int64_t n_bins, std::vector<int64_t>& before,
                int64_t* ends) {
    if (n <= n_bins) {
        for (int64_t i = 0; i < n; ++i) ends[i] = i + 1;
        return;
    }
    before.assign(n + 1, 0);
    int64_t most = 0;
    for (int64_t i = 0; i < n; ++i) {
        before[i + 1] = before[i] + counts[i];
        most = std::max(most, counts[i]);
    }
    // If no count exceeds the width of a bin, no two quantiles meet in one value.
    if (most * n_bins <= before[n])
        cut_evenly(before, n_bins, ends);
    else
        cut_around_frequent(counts, before, n_bins, ends);
}

template <typename T>
void cut_column(const QuantileTask<T>& task, int64_t column, CutMemory& memory) {
    const T* ordered = task.ordered + column * task.n_rows;
    double* low = task.low + column * task.max_bins;
    double* high = task.high + column * task.max_bins;
    const auto is_known = [](T value) { return value == value; };
    const int64_t n_known =
        std::partition_point(ordered, ordered + task.n_rows, is_known) - ordered;
    std::vector<int64_t>& first = memory.first;
    first.resize(n_known + 1);
    int64_t n_values = 0;
    for (int64_t i = 0; i < n_known; ++i) {  // without a branch: ties cannot be foreseen
        first[n_values] = i;
        n_values += i == 0 || ordered[i] != ordered[i - 1];
    }
    first[n_values] = n_known;
    memory.counts.resize(n_values);
    for (int64_t v = 0; v < n_values; ++v) memory.counts[v] = first[v + 1] - first[v];
    const int64_t n_bins = std::min(n_values, task.max_bins);
    memory.ends.resize(n_bins);
    cut_counts(memory.counts.data(), n_values, task.max_bins, memory.before, memory.ends.data());
    int64_t commonest = 0, n_commonest = 0, begin = 0;
    for (int64_t bin = 0; bin < n_bins; ++bin) {
        const int64_t end = first[memory.ends[bin]];
        low[bin] = static_cast<double>(ordered[begin]) + 0.0;  // -0.0 is 0.0
        high[bin] = static_cast<double>(ordered[end - 1]) + 0.0;
        if (end - begin > n_commonest) {
            commonest = bin;
            n_commonest = end - begin;
        }
        begin = end;
    }
    task.n_bins[column] = n_bins;
    task.commonest[column] = commonest;
    task.n_commonest[column] = n_commonest;
}

}  // namespace

void cut_into_bins(const int64_t* counts, int64_t n, int64_t n_bins, int64_t* ends) {
    std::vector<int64_t> before;
    cut_counts(counts, n, n_bins, before, ends);
}

template <typename T>
void cut_columns(const QuantileTask<T>& task, ThreadTeam& team) {
    std::vector<CutMemory> memories(team.size());
    team.parallel_for(task.n_columns, [&](int64_t column, int thread) {
        cut_column(task, column, memories[thread]);
    });
}

template <typename T>
void gather_columns(const T* values, int64_t n_rows, int64_t n_columns, const int32_t* features,
                    int64_t n_features, T* block, ThreadTeam& team) {
    const int64_t n_parts = (n_features + kColumnsAtATime - 1) / kColumnsAtATime;
    team.parallel_for(n_parts, [&](int64_t part, int) {
        const int64_t begin = part * kColumnsAtATime;
        const int64_t end = std::min(n_features, begin + kColumnsAtATime);
        for (int64_t row = 0; row < n_rows; ++row)
            for (int64_t k = begin; k < end; ++k)
                block[k * n_rows + row] = values[row * n_columns + features[k]];
    });
}

template void cut_columns(const QuantileTask<float>&, ThreadTeam&);
template void cut_columns(const QuantileTask<double>&, ThreadTeam&);
template void gather_columns(const float*, int64_t, int64_t, const int32_t*, int64_t, float*,
                             ThreadTeam&);
template void gather_columns(const double*, int64_t, int64_t, const int32_t*, int64_t, double*,
                             ThreadTeam&);

}  // namespace polyleaf
