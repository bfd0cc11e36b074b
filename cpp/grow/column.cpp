#include "grow/column.hpp"

#include <algorithm>

namespace polyleaf {

namespace {

constexpr size_t kInsertionSortMax = 24;
constexpr size_t kCountingSortMaxCode = 256;

void close_groups(const std::vector<uint64_t>& keys, Column& column) {
    column.order.resize(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
        column.order[i] = static_cast<uint32_t>(keys[i]);
        const uint32_t code = static_cast<uint32_t>(keys[i] >> 32);
        if (i == 0 || code != column.codes.back()) {
            if (i > 0) column.ends.push_back(static_cast<uint32_t>(i));
            column.codes.push_back(code);
        }
    }
    if (!keys.empty()) column.ends.push_back(static_cast<uint32_t>(keys.size()));
}

void radix_sort(std::vector<uint64_t>& keys, std::vector<uint64_t>& other, uint32_t max_code) {
    other.resize(keys.size());
    for (int shift = 32; shift < 64 && (uint64_t{max_code} << 32 >> shift) > 0; shift += 8) {
        size_t starts[257] = {};
        for (uint64_t key : keys) ++starts[(key >> shift & 255) + 1];
        for (int b = 0; b < 256; ++b) starts[b + 1] += starts[b];
        for (uint64_t key : keys) other[starts[key >> shift & 255]++] = key;
        keys.swap(other);
    }
}

void counting_sort(const ColumnScratch& scratch, std::vector<uint32_t>& counts, Column& column,
                   uint32_t max_code) {
    counts.assign(max_code + 1, 0);
    for (uint32_t code : scratch.codes) ++counts[code];
    uint32_t end = 0;
    for (uint32_t code = 0; code <= max_code; ++code) {
        if (counts[code] == 0) continue;
        const uint32_t begin = end;
        end += counts[code];
        counts[code] = begin;
        column.codes.push_back(code);
        column.ends.push_back(end);
    }
    column.order.resize(scratch.codes.size());
    for (size_t i = 0; i < scratch.codes.size(); ++i)
        column.order[counts[scratch.codes[i]]++] = scratch.rows[i];
}

// Sorts scratch.rows by scratch.codes into the column's groups.
void group_rows(Column& column, ColumnScratch& scratch) {
    const size_t n = scratch.codes.size();
    if (n == 0) return;
    const uint32_t max_code = *std::max_element(scratch.codes.begin(), scratch.codes.end());
    if (n > kInsertionSortMax && max_code < kCountingSortMaxCode) {
        counting_sort(scratch, scratch.counts, column, max_code);
        return;
    }
    auto& keys = scratch.keys;
    keys.resize(n);
    for (size_t i = 0; i < n; ++i) keys[i] = uint64_t{scratch.codes[i]} << 32 | scratch.rows[i];
    if (n <= kInsertionSortMax) {
        for (size_t i = 1; i < n; ++i) {
            const uint64_t key = keys[i];
            size_t j = i;
            for (; j > 0 && keys[j - 1] > key; --j) keys[j] = keys[j - 1];
            keys[j] = key;
        }
    } else if (n < 256) {
        std::sort(keys.begin(), keys.end());
    } else {
        radix_sort(keys, scratch.keys_other, max_code);
    }
    close_groups(keys, column);
}

template <typename Code>
void gather(const Code* codes, const int32_t* rows, int64_t n, uint32_t missing, Column& column,
            ColumnScratch& scratch) {
    scratch.codes.resize(n);
    scratch.rows.resize(n);
    size_t kept = 0;
    for (int64_t i = 0; i < n; ++i) {
        const uint32_t code = codes[int64_t{rows[i]} * kTileFeatures];
        if (code == missing) {
            column.missing.push_back(static_cast<uint32_t>(i));
            continue;
        }
        scratch.codes[kept] = code;
        scratch.rows[kept++] = static_cast<uint32_t>(i);
    }
    scratch.codes.resize(kept);
    scratch.rows.resize(kept);
}

}  // namespace

void Column::clear() {
    order.clear();
    ends.clear();
    codes.clear();
    missing.clear();
    n_below = 0;
    n_default = 0;
}

void read_dense(const Workspace& workspace, const NodeRange& range, int32_t home, Column& column,
                ColumnScratch& scratch) {
    column.clear();
    const int64_t base = workspace.dense_base(home);
    const int32_t* rows = workspace.rows.data() + range.begin;
    if (workspace.binned.codes_u8)
        gather(workspace.binned.codes_u8 + base, rows, range.size(), kMissingU8, column, scratch);
    else
        gather(workspace.binned.codes_u32 + base, rows, range.size(), kMissingU32, column,
               scratch);
    group_rows(column, scratch);
    column.n_below = column.n_groups();
}

void read_sparse(const Workspace& workspace, const NodeRange& range, int32_t slot,
                 const SparseEntries& entries, Column& column, ColumnScratch& scratch) {
    column.clear();
    const int64_t n = entries.count(slot);
    scratch.codes.clear();
    scratch.rows.clear();
    for (int64_t i = 0; i < n; ++i) {
        if (entries.codes(slot)[i] == kMissingU32) {
            column.missing.push_back(entries.rows(slot)[i]);
        } else {
            scratch.codes.push_back(entries.codes(slot)[i]);
            scratch.rows.push_back(entries.rows(slot)[i]);
        }
    }
    group_rows(column, scratch);
    column.default_code = workspace.binned.sparse_default[slot];
    column.n_default = range.size() - n;
    column.n_below =
        column.n_default == 0
            ? column.n_groups()
            : std::lower_bound(column.codes.begin(), column.codes.end(), column.default_code) -
                  column.codes.begin();
    // A feature that is mostly missing: the rows that are not listed are the missing ones.
    if (column.n_default > 0 && column.default_code == kMissingU32) {
        std::vector<uint8_t> listed(range.size(), 0);
        for (int64_t i = 0; i < n; ++i) listed[entries.rows(slot)[i]] = 1;
        for (int64_t i = 0; i < range.size(); ++i)
            if (!listed[i]) column.missing.push_back(static_cast<uint32_t>(i));
        column.n_default = 0;
        column.n_below = column.n_groups();
    }
}

}  // namespace polyleaf
