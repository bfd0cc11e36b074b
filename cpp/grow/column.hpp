// One feature as a node sees it: its rows grouped by code, ready for a walk from either end.
#pragma once

#include <cstdint>
#include <vector>

#include "grow/sparse_entries.hpp"
#include "grow/workspace.hpp"

namespace polyleaf {

// Groups are in ascending order of code. Rows of the default code of a sparse feature are not
// listed: they lie between the groups below and the groups above it.
struct Column {
    std::vector<uint32_t> order;  // listed rows (positions within the node), group after group
    std::vector<uint32_t> ends;   // (n_groups,) end of each group in `order`
    std::vector<uint32_t> codes;  // (n_groups,)
    size_t n_below = 0;           // groups before the default rows; all of them if there are none
    int64_t n_default = 0;
    uint32_t default_code = 0;
    std::vector<uint32_t> missing;

    size_t n_groups() const { return ends.size(); }
    size_t n_distinct() const { return n_groups() + (n_default > 0); }
    uint32_t begin_of(size_t group) const { return group == 0 ? 0 : ends[group - 1]; }
    uint32_t min_code() const {
        return n_below > 0 || n_default == 0 ? codes.front() : default_code;
    }
    uint32_t max_code() const {
        return n_below < n_groups() || n_default == 0 ? codes.back() : default_code;
    }
    void clear();
};

struct ColumnScratch {
    std::vector<uint64_t> keys, keys_other;
    std::vector<uint32_t> codes, rows, counts;
};

// Groups the node's rows by code; dense feature `home`.
void read_dense(const Workspace& workspace, const NodeRange& range, int32_t home, Column& column,
                ColumnScratch& scratch);
void read_sparse(const Workspace& workspace, const NodeRange& range, int32_t slot,
                 const SparseEntries& entries, Column& column, ColumnScratch& scratch);

}  // namespace polyleaf
