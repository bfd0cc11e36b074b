// One feature as a node sees it: its rows grouped by code, ready for a walk from either end.
#pragma once

#include <cstdint>
#include <vector>

#include "workspace.hpp"

namespace ramify {

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

// A node's entries of the sparse features, feature by feature.
class SparseEntries {
  public:
    explicit SparseEntries(int32_t n_slots) : begin_(n_slots), count_(n_slots), wanted_(n_slots) {}

    // slots: the features to collect, or null for all of them.
    void collect(const Workspace& workspace, const NodeRange& range,
                 const std::vector<int32_t>* slots);
    const std::vector<int32_t>& touched() const { return touched_; }
    int64_t count(int32_t slot) const { return count_[slot]; }
    const uint32_t* rows(int32_t slot) const { return rows_.data() + begin_[slot]; }
    const uint32_t* codes(int32_t slot) const { return codes_.data() + begin_[slot]; }

  private:
    std::vector<int64_t> begin_, count_;
    std::vector<uint8_t> wanted_;
    std::vector<int32_t> touched_;
    std::vector<uint32_t> rows_, codes_;
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

}  // namespace ramify
