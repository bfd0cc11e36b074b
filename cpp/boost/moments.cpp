#include "boost/moments.hpp"

#include <algorithm>
#include <vector>

namespace polyleaf {

namespace {

constexpr int64_t kChunkRows = 4096;
// A few rows are one long row, so that inner loops are long however few columns there are.
constexpr int64_t kLongRow = 64;

// Rows of the task, `n_together` of them at a time; what belongs to a column is repeated.
struct LongRows {
    explicit LongRows(int64_t n_columns)
        : n_together(std::max<int64_t>(1, kLongRow / std::max<int64_t>(1, n_columns))),
          width(n_columns * n_together) {}

    std::vector<double> repeated(const double* of_columns) const {
        const int64_t q = width / n_together;
        std::vector<double> all(width);
        for (int64_t k = 0; k < width; ++k) all[k] = of_columns[k % q];
        return all;
    }
    // Calls add(values, how many of them) of all rows from begin to end.
    template <typename Add>
    void for_each(const double* values, int64_t begin, int64_t end, Add&& add) const {
        const int64_t q = width / n_together;
        int64_t row = begin;
        for (; row + n_together <= end; row += n_together) add(values + row * q, width);
        if (row < end) add(values + row * q, (end - row) * q);
    }

    int64_t n_together, width;
};

void note_largest(const double* __restrict values, const double* __restrict shift, int64_t n,
                  double* __restrict largest) {
    for (int64_t k = 0; k < n; ++k) {
        const double rest = values[k] - shift[k], size = rest < 0.0 ? -rest : rest;
        largest[k] = size > largest[k] ? size : largest[k];
    }
}

void add_deviations(const double* __restrict values, const double* __restrict shift,
                    const double* __restrict magic, int64_t n, int64_t width,
                    double* __restrict sums) {
    for (int64_t k = 0; k < n; ++k) {
        const double rest = values[k] - shift[k];
        sums[k] += (rest + magic[k]) - magic[k];
        sums[width + k] += (rest * rest + magic[width + k]) - magic[width + k];
    }
}

template <typename Body>
void for_chunks(int64_t n_rows, ThreadTeam& team, Body&& body) {
    team.parallel_for((n_rows + kChunkRows - 1) / kChunkRows, [&](int64_t chunk, int thread) {
        body(chunk * kChunkRows, std::min(n_rows, (chunk + 1) * kChunkRows), thread);
    });
}

}  // namespace

void largest_deviations(const MomentsTask& task, double* largest, ThreadTeam& team) {
    const int64_t q = task.n_columns;
    const LongRows rows(q);
    const std::vector<double> shift = rows.repeated(task.shift);
    std::vector<std::vector<double>> parts(team.size(), std::vector<double>(rows.width, 0.0));
    for_chunks(task.n_rows, team, [&](int64_t begin, int64_t end, int thread) {
        rows.for_each(task.values, begin, end, [&](const double* values, int64_t n) {
            note_largest(values, shift.data(), n, parts[thread].data());
        });
    });
    std::fill_n(largest, q, 0.0);
    for (const std::vector<double>& part : parts)
        for (int64_t k = 0; k < rows.width; ++k)
            largest[k % q] = std::max(largest[k % q], part[k]);
}

void sum_deviations(const MomentsTask& task, const double* magic, double* sums, ThreadTeam& team) {
    const int64_t q = task.n_columns;
    const LongRows rows(q);
    const std::vector<double> shift = rows.repeated(task.shift);
    std::vector<double> all_magic = rows.repeated(magic);
    const std::vector<double> of_squares = rows.repeated(magic + q);
    all_magic.insert(all_magic.end(), of_squares.begin(), of_squares.end());
    std::vector<std::vector<double>> parts(team.size(), std::vector<double>(2 * rows.width, 0.0));
    for_chunks(task.n_rows, team, [&](int64_t begin, int64_t end, int thread) {
        rows.for_each(task.values, begin, end, [&](const double* values, int64_t n) {
            add_deviations(values, shift.data(), all_magic.data(), n, rows.width,
                           parts[thread].data());
        });
    });
    std::fill_n(sums, 2 * q, 0.0);
    for (const std::vector<double>& part : parts)
        for (int64_t k = 0; k < 2 * rows.width; ++k)
            sums[(k < rows.width ? 0 : q) + k % q] += part[k];
}

}  // namespace polyleaf
