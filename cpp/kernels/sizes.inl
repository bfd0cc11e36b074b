// The largest size of every column of a matrix, or the sums of sizes, rounded (ExactUnit).
#pragma once

#include "kernels/doubles.inl"
#include "kernels/fixed_kernels.hpp"

namespace polyleaf::POLYLEAF_ISA {

// Rows are read as long ones of so many numbers at most, which fill vectors however few columns
// there are.
constexpr int64_t kLongRow = 1024;

template <typename T>
inline T size_of(T value) {
    return value < 0 ? -value : value;
}

// A row after the other, where rows do not fill vectors.
inline void measure_rows(const SizesTask& task, int64_t first) {
    const int64_t q = task.n_columns;
    for (int64_t row = first; row < task.n_rows; ++row) {
        const float* const values = task.values + row * q;
        for (int64_t k = 0; task.largest && k < q; ++k) {
            const float size = size_of(values[k]);
            task.largest[k] = size > task.largest[k] ? size : task.largest[k];
        }
        for (int64_t k = 0; task.sums && k < q; ++k)
            task.sums[k] += (double{size_of(values[k])} + task.magic[k]) - task.magic[k];
    }
}

// `width` numbers at a time, a multiple of kWidth and of the number of columns.
inline void measure_largest(const SizesTask& task, int64_t n_long, int64_t width) {
    using Vector = Native<kWidth>::type;
    Vector most[kLongRow / kWidth] = {};
    const int64_t n_vectors = width / kWidth;
    for (int64_t row = 0; row < n_long; ++row)
        for (int64_t v = 0; v < n_vectors; ++v) {
            Vector values;
            std::memcpy(&values, task.values + row * width + v * kWidth, sizeof(values));
            const Vector sizes = size_of(values);
            most[v] = sizes > most[v] ? sizes : most[v];
        }
    for (int64_t k = 0; k < width; ++k) {
        float& largest = task.largest[k % task.n_columns];
        const float size = most[k / kWidth][k % kWidth];
        largest = size > largest ? size : largest;
    }
}

inline void sum_sizes(const SizesTask& task, int64_t n_long, int64_t width) {
    constexpr int kHalf = kWidth / 2;
    using Pair = NativePair<kHalf>;
    using Vector = typename Pair::doubles;
    Vector sums[kLongRow / kHalf] = {}, magic[kLongRow / kHalf] = {};
    for (int64_t k = 0; k < width; ++k)
        magic[k / kHalf][k % kHalf] = task.magic[k % task.n_columns];
    const int64_t n_vectors = width / kHalf;
    for (int64_t row = 0; row < n_long; ++row)
        for (int64_t v = 0; v < n_vectors; ++v) {
            typename Pair::floats values;
            std::memcpy(&values, task.values + row * width + v * kHalf, sizeof(values));
            sums[v] += (Pair::widen(size_of(values)) + magic[v]) - magic[v];
        }
    for (int64_t k = 0; k < width; ++k)
        task.sums[k % task.n_columns] += sums[k / kHalf][k % kHalf];
}

inline void measure_sizes(const SizesTask& task) {
    const int64_t q = task.n_columns;
    int64_t n_together = 1;
    while (q * n_together % kWidth != 0) n_together *= 2;
    const int64_t width = q * n_together;
    if (width > kLongRow) return measure_rows(task, 0);
    const int64_t n_long = task.n_rows / n_together;
    if (task.largest) measure_largest(task, n_long, width);
    if (task.sums) sum_sizes(task, n_long, width);
    measure_rows(task, n_long * n_together);
}

}  // namespace polyleaf::POLYLEAF_ISA
