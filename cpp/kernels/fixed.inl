// Sums in fixed point per bin of all features, and their scans.
#pragma once

#include <cstring>

#include "kernels/fixed_kernels.hpp"
#include "kernels/lanes.inl"

namespace polyleaf::POLYLEAF_ISA {

// Rows lie far apart: ask for them some ahead.
constexpr int64_t kFixedRowsAhead = 16;

typedef int32_t int4 __attribute__((vector_size(16)));
typedef int32_t int8 __attribute__((vector_size(32)));
typedef int32_t int16 __attribute__((vector_size(64)));
typedef int16_t short4 __attribute__((vector_size(8)));
typedef int16_t short8 __attribute__((vector_size(16)));
typedef int16_t short16 __attribute__((vector_size(32)));

template <int W>
struct NativeInts;
template <>
struct NativeInts<4> {
    using type = int4;
    using half = short4;
};
template <>
struct NativeInts<8> {
    using type = int8;
    using half = short8;
};
template <>
struct NativeInts<16> {
    using type = int16;
    using half = short16;
};

// `Record<L>` is what a row adds to the bins that it falls into.
template <int L>
struct Record {
    static constexpr int W = L % kWidth == 0 ? kWidth : L % 8 == 0 && kWidth > 8 ? 8 : 4;
    static constexpr int M = L / W;
    using V = typename NativeInts<W>::type;
    using Half = typename NativeInts<W>::half;
    V v[M];

    inline explicit Record(const int16_t* values) {
        for (int i = 0; i < M; ++i) {
            Half half;
            std::memcpy(&half, values + i * W, sizeof(half));
            v[i] = __builtin_convertvector(half, V);
        }
    }
    inline void add_to(int32_t* sums) const {
        for (int i = 0; i < M; ++i) {
            V old;
            std::memcpy(&old, sums + i * W, sizeof(V));
            old += v[i];
            std::memcpy(sums + i * W, &old, sizeof(V));
        }
    }
};

// Rows and one sum share a word: the count, in its lower half, never carries over.
template <>
struct Record<2> {
    uint64_t word;

    inline explicit Record(const int16_t* values) {
        const uint32_t low = static_cast<uint32_t>(int32_t{values[0]});
        const uint32_t high = static_cast<uint32_t>(int32_t{values[1]});
        word = uint64_t{high} << 32 | low;
    }
    inline void add_to(int32_t* sums) const {
        uint64_t old;
        std::memcpy(&old, sums, sizeof(old));
        old += word;
        std::memcpy(sums, &old, sizeof(old));
    }
};

template <int L, bool IsListed>
void build_fixed_rows(const FixedBuildTask& task) {
    const int32_t n_features = task.last_feature - task.first_feature;
    const uint8_t* const codes = task.codes + task.first_feature;
    const int32_t* const offsets = task.offsets + task.first_feature;
    int32_t* const sums = task.sums;
    const int64_t stride = task.stride;
    for (int64_t i = 0; i < task.n_rows; ++i) {
        const int64_t row = IsListed ? int64_t{task.rows[i]} : task.first + i;
        if (IsListed && i + kFixedRowsAhead < task.n_rows) {
            const int64_t ahead = task.rows[i + kFixedRowsAhead];
            __builtin_prefetch(codes + ahead * stride);
            __builtin_prefetch(task.values + ahead * L);
        }
        const Record<L> record(task.values + row * L);
        const uint8_t* const code = codes + row * stride;
        for (int32_t f = 0; f < n_features; ++f)
            record.add_to(sums + offsets[f] + int32_t{code[f]} * L);
    }
}

inline void build_fixed(const FixedBuildTask& task) {
    auto build = [&](auto lanes) {
        constexpr int L = decltype(lanes)::value;
        task.rows ? build_fixed_rows<L, true>(task) : build_fixed_rows<L, false>(task);
    };
    switch (task.lanes) {
        case 2:
            return build(Constant<2>{});
        case 4:
            return build(Constant<4>{});
        case 8:
            return build(Constant<8>{});
        case 16:
            return build(Constant<16>{});
        case 24:
            return build(Constant<24>{});
        default:
            return build(Constant<32>{});
    }
}

template <int L>
void scan_fixed_lanes(const FixedScanTask& task) {
    constexpr int D = L < 8 ? L : 8;  // sums that are kept apart, for the vectoriser
    int32_t prefix[L] = {};
    double units[L], mean[L], total[L] = {};
    for (int k = 0; k < L; ++k) units[k] = task.units[k], mean[k] = task.mean[k];
    for (int k = 0; task.total && k < L; ++k) total[k] = task.total[k];
    for (int k = 0; task.initial && k < L; ++k) prefix[k] = task.initial[k];
    for (int64_t bin = 0; bin < task.n_bins; ++bin) {
        const int32_t* const record = task.sums + bin * L;
        const double weight = task.weights[bin];
        double squares[D] = {}, products[D] = {};
        for (int first = 0; first < L; first += D)
            for (int k = first; k < first + D; ++k) {
                prefix[k] += record[k];
                const double sum = units[k] * prefix[k];
                const double rest = sum - weight * mean[k];
                squares[k - first] += rest * rest;
                products[k - first] += sum * total[k];
            }
        for (int half = D / 2; half > 0; half /= 2)
            for (int k = 0; k < half; ++k) {
                squares[k] += squares[k + half];
                products[k] += products[k + half];
            }
        task.norms[bin] += squares[0];
        if (task.total) task.products[bin] += products[0];
    }
}

inline void scan_fixed(const FixedScanTask& task) {
    switch (task.lanes) {
        case 2:
            return scan_fixed_lanes<2>(task);
        case 4:
            return scan_fixed_lanes<4>(task);
        case 8:
            return scan_fixed_lanes<8>(task);
        case 16:
            return scan_fixed_lanes<16>(task);
        case 24:
            return scan_fixed_lanes<24>(task);
        default:
            return scan_fixed_lanes<32>(task);
    }
}

inline void scan_fixed_weighted(const FixedWeightedScanTask& task) {
    int32_t prefix[kMostFixedLanes] = {};
    for (int k = 0; task.initial && k < task.lanes; ++k) prefix[k] = task.initial[k];
    const double* const units = task.units + task.first;
    const double* const total = task.total + task.first;
    const int q = task.n_channels;
    const double lambda = task.l2_regularization;
    for (int64_t bin = 0; bin < task.n_bins; ++bin) {
        const int32_t* const record = task.sums + bin * task.lanes;
        for (int k = 0; k < task.lanes; ++k) prefix[k] += record[k];
        const int32_t* const sums = prefix + task.first;
        double score = 0.0;
        for (int k = 0; k < q; ++k) {
            const double a = units[k] * sums[k], b = total[k] - a;
            const double left = units[q + k] * sums[q + k], right = total[q + k] - left;
            const double least = task.least[task.first + q + k];
            score += left > least ? a * a / (left + lambda) : 0.0;
            score += right > least ? b * b / (right + lambda) : 0.0;
        }
        task.scores[bin] += score;
    }
}

inline void largest_of_columns(const LargestTask& task) {
    for (int64_t row = 0; row < task.n_rows; ++row) {
        const float* const __restrict values = task.values + row * task.stride;
        float* const __restrict largest = task.largest;
        for (int32_t k = 0; k < task.width; ++k) {
            const float size = values[k] < 0.0f ? -values[k] : values[k];
            largest[k] = size > largest[k] ? size : largest[k];
        }
    }
}

}  // namespace polyleaf::POLYLEAF_ISA
