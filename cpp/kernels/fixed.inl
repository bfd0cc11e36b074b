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

template <int L, bool IsListed, bool Counts>
void build_fixed_rows(const FixedBuildTask& task) {
    const int32_t n_features = task.last_feature - task.first_feature;
    const uint8_t* const codes = task.codes + task.first_feature;
    const int32_t* const offsets = task.offsets + task.first_feature;
    const int32_t* const count_offsets =
        Counts ? task.count_offsets + task.first_feature : nullptr;
    int32_t* const sums = task.sums;
    int32_t* const counts = task.counts;
    const int64_t stride = task.stride;
    for (int64_t i = 0; i < task.n_rows; ++i) {
        const int64_t row = IsListed ? int64_t{task.rows[i]} : task.first + i;
        if (IsListed && i + kFixedRowsAhead < task.n_rows) {
            const int64_t ahead = task.rows[i + kFixedRowsAhead];
            __builtin_prefetch(codes + ahead * stride);
            __builtin_prefetch(task.values + ahead * L);
            // Records of 48 or 64 bytes may begin in one cache line and end in the next.
            if (L > 16) __builtin_prefetch(task.values + ahead * L + L - 1);
        }
        const Record<L> record(task.values + row * L);
        const uint8_t* const code = codes + row * stride;
        for (int32_t f = 0; f < n_features; ++f) {
            record.add_to(sums + offsets[f] + int32_t{code[f]} * L);
            if (Counts) ++counts[count_offsets[f] + code[f]];
        }
    }
}

// The sums of the usual code of every slot.
template <int L, bool Counts>
void complete_fixed_lists(const FixedListTask& task, const int32_t* total) {
    for (int32_t slot = 0; slot < task.n_slots; ++slot) {
        int32_t* const sums = task.sums + task.offsets[slot];
        int32_t rest[L], n_rest = static_cast<int32_t>(task.n_rows);
        for (int k = 0; k < L; ++k) rest[k] = total[k];
        for (int32_t code = 0; code < task.n_codes[slot]; ++code) {
            for (int k = 0; k < L; ++k) rest[k] -= sums[code * L + k];
            if (Counts) n_rest -= task.counts[task.count_offsets[slot] + code];
        }
        const int32_t usual = task.usual[slot];
        for (int k = 0; k < L; ++k) sums[usual * L + k] = rest[k];
        if (Counts) task.counts[task.count_offsets[slot] + usual] = n_rest;
    }
}

// Entries of some rows behind each other. A loop over the entries of a row ends at another place
// each time, which no processor foresees; here all rows but those of many entries take one step.
template <int L, bool Counts>
class EntryBuffer {
  public:
    explicit EntryBuffer(const FixedListTask& task) : task_(task) {}

    void add(int64_t row) {
        const uint32_t* const entries = task_.entries + task_.starts[row];
        const int64_t n = task_.starts[row + 1] - task_.starts[row];
        if (n > kMostEntries) return sum_at_once(entries, n, row);
        if (n_ + n > kRoom) flush();
        for (int64_t e = 0; e == 0 || e < n; e += kStep) {
            std::memcpy(entries_ + n_ + e, entries + e, kStep * sizeof(uint32_t));
            for (int k = 0; k < kStep; ++k) rows_[n_ + e + k] = static_cast<int32_t>(row);
        }
        n_ += n;
    }
    void flush() {
        const FixedListTask task = task_;  // stores to sums cannot change it
        for (int64_t i = 0; i < n_; ++i) add_entry(task, entries_[i], rows_[i]);
        n_ = 0;
    }

  private:
    static constexpr int64_t kStep = 8, kMostEntries = 256, kRoom = 2048;

    void sum_at_once(const uint32_t* entries, int64_t n, int64_t row) {
        for (int64_t e = 0; e < n; ++e) add_entry(task_, entries[e], row);
    }
    static inline void add_entry(const FixedListTask& task, uint32_t entry, int64_t row) {
        const uint32_t slot = entry >> 8;
        const int32_t code = entry & 255;
        const Record<L> record(task.values + row * L);
        record.add_to(task.sums + task.offsets[slot] + code * L);
        if (Counts) ++task.counts[task.count_offsets[slot] + code];
    }

    const FixedListTask task_;
    int64_t n_ = 0;
    uint32_t entries_[kRoom + kStep];
    int32_t rows_[kRoom + kStep];
};

template <int L, bool IsListed, bool Counts>
void build_fixed_lists_rows(const FixedListTask& task) {
    const int64_t* const starts = task.starts;
    alignas(64) int32_t total[L] = {};
    EntryBuffer<L, Counts> buffer(task);
    for (int64_t i = 0; i < task.n_rows; ++i) {
        const int64_t row = IsListed ? int64_t{task.rows[i]} : task.first + i;
        if (IsListed && i + 2 * kFixedRowsAhead < task.n_rows) {
            const int64_t ahead = task.rows[i + 2 * kFixedRowsAhead];
            __builtin_prefetch(starts + ahead);
            __builtin_prefetch(task.values + ahead * L);
            if (L > 16) __builtin_prefetch(task.values + ahead * L + L - 1);
            __builtin_prefetch(task.entries + starts[task.rows[i + kFixedRowsAhead]]);
        }
        Record<L>(task.values + row * L).add_to(total);
        buffer.add(row);
    }
    buffer.flush();
    complete_fixed_lists<L, Counts>(task, total);
}

// Calls body(lanes, whether rows are listed, whether rows are counted apart) of constants.
template <typename Task, typename Body>
void with_fixed_lanes(const Task& task, Body&& body) {
    auto build = [&](auto lanes) {
        // Rows are counted apart where channels fill whole registers.
        if constexpr (decltype(lanes)::value % 16 == 0)
            if (task.counts)
                return task.rows ? body(lanes, Constant<1>{}, Constant<1>{})
                                 : body(lanes, Constant<0>{}, Constant<1>{});
        return task.rows ? body(lanes, Constant<1>{}, Constant<0>{})
                         : body(lanes, Constant<0>{}, Constant<0>{});
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

inline void build_fixed(const FixedBuildTask& task) {
    with_fixed_lanes(task, [&](auto lanes, auto is_listed, auto counts) {
        build_fixed_rows<lanes.value, is_listed.value != 0, counts.value != 0>(task);
    });
}

inline void build_fixed_lists(const FixedListTask& task) {
    with_fixed_lanes(task, [&](auto lanes, auto is_listed, auto counts) {
        build_fixed_lists_rows<lanes.value, is_listed.value != 0, counts.value != 0>(task);
    });
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

inline int32_t to_number(float value, float scale) {
    constexpr float kMagic = 12582912.0f;  // adding and taking it off rounds to an integer
    return static_cast<int32_t>((value * scale + kMagic) - kMagic);
}

// N values of each row.
template <int N>
void quantise_columns(const QuantiseTask& task) {
    float scales[N];
    for (int k = 0; k < N; ++k) scales[k] = task.scales[k];
    for (int64_t i = 0; i < task.n_rows; ++i) {
        const float* const __restrict values = task.values + i * task.value_stride;
        int16_t* const __restrict out = task.numbers + i * task.lanes;
        int16_t numbers[N];
        for (int k = 0; k < N; ++k)
            numbers[k] = static_cast<int16_t>(to_number(values[k], scales[k]));
        if (task.n_head > 0) out[0] = 1;
        std::memcpy(out + task.n_head, numbers, sizeof(numbers));
        for (int k = task.n_head + N; k < task.lanes; ++k) out[k] = 0;
    }
}

// Two numbers of 16 bits are one of 32.
inline void quantise_column(const QuantiseTask& task) {
    const float scale = task.scales[0];
    for (int64_t i = 0; i < task.n_rows; ++i) {
        int32_t record = to_number(task.values[i], scale);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        record = static_cast<int32_t>(static_cast<uint32_t>(record) << 16 | 1u);
#else
        record = (record & 0xffff) | 1 << 16;
#endif
        std::memcpy(task.numbers + 2 * i, &record, sizeof(record));
    }
}

inline void quantise(const QuantiseTask& task) {
    if (task.n_values == 1 && task.lanes == 2 && task.n_head == 1 && task.value_stride == 1)
        return quantise_column(task);
    if (task.n_values == 4) return quantise_columns<4>(task);
    if (task.n_values == 16) return quantise_columns<16>(task);
    for (int64_t i = 0; i < task.n_rows; ++i) {
        const float* const values = task.values + i * task.value_stride;
        int16_t* const out = task.numbers + i * task.lanes;
        if (task.n_head > 0) out[0] = 1;
        int at = task.n_head;
        for (int k = 0; k < task.n_values; ++k, ++at)
            out[at] = static_cast<int16_t>(to_number(values[k], task.scales[k]));
        for (; at < task.lanes; ++at) out[at] = 0;
    }
}

}  // namespace polyleaf::POLYLEAF_ISA
