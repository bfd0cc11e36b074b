// Columns of at most two values, such as words and flags: found and listed without sorting.
#include <algorithm>

#include "ramify/binning.hpp"

namespace ramify {

namespace {

// Columns that are read together: whole cache lines of a row.
constexpr int64_t kColumns = 64;

// The values of some columns as they are met, row by row.
template <typename T>
struct ValuePairs {
    T first[kColumns], second[kColumns];  // alike until a second value is met
    int64_t n_second[kColumns] = {};
    bool has_more[kColumns] = {};
    int64_t n, n_left;

    ValuePairs(const T* row, int64_t n) : n(n), n_left(n) {
        std::copy_n(row, n, first);
        std::copy_n(row, n, second);
    }

    void read(const T* row) {
        bool is_new = false;
        for (int64_t k = 0; k < n; ++k) {
            n_second[k] += row[k] != first[k];
            is_new |= (row[k] != first[k]) & (row[k] != second[k]);
        }
        if (is_new) note_new(row);
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
void find_two_values(const TwoValueTask<T>& task, ThreadTeam& team) {
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
    for (int64_t row = 0; row < task.n_rows; ++row) {
        const T* values = task.values + row * task.n_columns;
        for (int64_t slot = 0; slot < task.n_features; ++slot) {
            if (values[task.features[slot]] == static_cast<T>(task.common[slot])) continue;
            if (n < task.n_listed) {
                task.rows[n] = static_cast<int32_t>(row);
                task.slots[n] = static_cast<int32_t>(slot);
            }
            ++n;
        }
    }
    return n;
}

template void find_two_values(const TwoValueTask<float>&, ThreadTeam&);
template void find_two_values(const TwoValueTask<double>&, ThreadTeam&);
template int64_t list_uncommon(const ListTask<float>&);
template int64_t list_uncommon(const ListTask<double>&);

}  // namespace ramify
