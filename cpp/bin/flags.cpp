// Columns of at most two values, such as words and flags: found and listed without sorting.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "base/data.hpp"
#include "bin/binning.hpp"

namespace polyleaf {

namespace {

// Columns that are read together: much of a row, whose values are next to each other.
constexpr int64_t kColumns = 512;
// Columns that are compared at once.
constexpr int64_t kLanes = 32;

// The values of some columns as they are met, row by row.
template <typename T>
struct ValuePairs {
    using Count = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;  // as wide as a value
    T first[kColumns], second[kColumns];  // alike until a second value is met
    Count n_second[kColumns] = {};
    bool has_more[kColumns] = {};
    int64_t n, n_left;

    ValuePairs(const T* row, int64_t n) : n(n), n_left(n) {
        std::copy_n(row, n, first);
        std::copy_n(row, n, second);
    }

    void read(const T* row) {
        Count is_new = 0;
        int64_t k = 0;
        for (; k + kLanes <= n; k += kLanes)
            for (int64_t i = k; i < k + kLanes; ++i) is_new |= count(row[i], i);
        for (; k < n; ++k) is_new |= count(row[k], k);
        if (is_new != 0) note_new(row);
    }

    Count count(T value, int64_t k) {
        const Count differs = value != first[k];
        n_second[k] += differs;
        return differs & static_cast<Count>(value != second[k]);
    }

    // NaN equals nothing, so that it is always new.
    void note_new(const T* row) {
        for (int64_t k = 0; k < n; ++k) {
            if (has_more[k] || row[k] == first[k] || row[k] == second[k]) continue;
            if (first[k] == second[k] && row[k] == row[k]) {
                second[k] = row[k];
            } else {
                has_more[k] = true;
                --n_left;
            }
        }
    }
};

}  // namespace

template <typename T>
void find_flags(const FlagTask<T>& task, ThreadTeam& team) {
    const int64_t n_blocks = (task.n_columns + kColumns - 1) / kColumns;
    team.parallel_for(n_blocks, [&](int64_t block, int) {
        const int64_t begin = block * kColumns, n = std::min(kColumns, task.n_columns - begin);
        ValuePairs<T> pairs(task.values + begin, n);
        for (int64_t row = 0; row < task.n_rows && pairs.n_left > 0; ++row)
            pairs.read(task.values + row * task.n_columns + begin);
        for (int64_t k = 0; k < n; ++k) {
            const T first = pairs.first[k], second = pairs.second[k];
            task.low[begin + k] = static_cast<double>(std::min(first, second));
            task.high[begin + k] = static_cast<double>(std::max(first, second));
            const int64_t n_second = pairs.n_second[k];
            const int64_t n_high = second < first ? task.n_rows - n_second : n_second;
            task.n_high[begin + k] = pairs.has_more[k] ? -1 : n_high;
        }
    });
}

template <typename T>
int64_t list_uncommon(const ListTask<T>& task) {
    int64_t n = 0;
    std::vector<T> common(task.n_features);
    for (int64_t slot = 0; slot < task.n_features; ++slot)
        common[slot] = static_cast<T>(task.common[slot]);
    std::vector<int32_t> slots(task.n_features);  // of a row, found without a branch
    for (int64_t row = 0; row < task.n_rows; ++row) {
        const T* values = task.values + row * task.n_columns;
        int64_t n_found = 0;
        for (int64_t slot = 0; slot < task.n_features; ++slot) {
            slots[n_found] = static_cast<int32_t>(slot);
            n_found += values[task.features[slot]] != common[slot];
        }
        const int64_t n_written = std::clamp<int64_t>(task.n_listed - n, 0, n_found);
        std::fill_n(task.rows + n, n_written, static_cast<int32_t>(row));
        std::copy_n(slots.data(), n_written, task.slots + n);
        n += n_found;
    }
    return n;
}

void count_entries(const int32_t* indices, int64_t n_indices, int64_t n, int64_t* counts) {
    std::fill_n(counts, n, 0);
    for (int64_t i = 0; i < n_indices; ++i) ++counts[indices[i]];
}

template <typename Code>
bool split_entries(const SplitTask<Code>& task) {
    int64_t n = 0;
    int32_t* const slots = task.slots;
    const int32_t* const places = task.place;
    const int64_t n_listed = task.n_listed;
    auto list = [&](int32_t feature) {
        if (n < n_listed) slots[n] = places[feature];
        ++n;
    };
    auto inverted_at = [&](int64_t i) {  // those are few, and hardly ever looked at
        return i < task.n_inverted ? task.inverted[i] : INT32_MAX;
    };
    for (int64_t row = 0; row < task.n_rows; ++row) {
        task.list_indptr[row] = n;
        int64_t i = 0;  // inverted features so far
        int32_t next = inverted_at(0);
        for (int64_t e = task.indptr[row], end = task.indptr[row + 1]; e < end; ++e) {
            const int32_t feature = task.indices[e];
            if (feature >= next) {
                while (inverted_at(i) < feature) list(task.inverted[i++]);
                const bool is_inverted = inverted_at(i) == feature;
                next = inverted_at(i += is_inverted);
                if (is_inverted) continue;
            }
            const int64_t place = places[feature];
            if (place >= 0) {
                list(feature);
                continue;
            }
            const int64_t tile = (-1 - place) / kTileFeatures, at = (-1 - place) % kTileFeatures;
            task.tiles[(tile * task.n_rows + row) * kTileFeatures + at] =
                static_cast<Code>(task.code[feature]);
        }
        while (i < task.n_inverted) list(task.inverted[i++]);
    }
    task.list_indptr[task.n_rows] = n;
    return n == n_listed;
}

template bool split_entries(const SplitTask<uint8_t>&);
template bool split_entries(const SplitTask<uint32_t>&);
template void find_flags(const FlagTask<float>&, ThreadTeam&);
template void find_flags(const FlagTask<double>&, ThreadTeam&);
template int64_t list_uncommon(const ListTask<float>&);
template int64_t list_uncommon(const ListTask<double>&);

}  // namespace polyleaf
