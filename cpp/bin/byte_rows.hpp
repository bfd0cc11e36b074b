// Codes of all features row by row, one byte each, as sums in fixed point read them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned.hpp"
#include "base/data.hpp"
#include "base/parallel.hpp"

namespace polyleaf {

// Whether every feature has at most 255 bins, and dense ones come in bytes.
bool can_be_bytes(const BinnedView& binned);

// Kernels read so many entries at once.
constexpr int64_t kEntriesBeyond = 8;

// Codes of features of which most rows have the same: what the other rows have, row by row. Sums
// per bin then take a step per entry, not per row and feature.
struct ListedCodes {
    std::vector<int32_t> features;    // by slot
    std::vector<uint8_t> usual;       // by slot: the code of all rows without an entry
    AlignedVector<int64_t> starts;    // (n_rows + 1,)
    AlignedVector<uint32_t> entries;  // slot << 8 | code; and kEntriesBeyond zeros
};

// The code of feature f of row r is codes[r * stride + places[f]]. Missing values have the code
// behind the last bin. Features that are listed have the last places.
struct ByteRows {
    ByteRows(const BinnedView& binned, ThreadTeam& team);

    int64_t stride = 0;
    AlignedVector<uint8_t> codes;
    std::vector<int32_t> places;  // by feature
    std::vector<int32_t> full;    // features that are not listed, by place
    ListedCodes listed;

  private:
    void choose_listed(const BinnedView& binned);
    bool is_together(const BinnedView& binned, int32_t home) const;
    void fill(const BinnedView& binned, ThreadTeam& team);
    void list(const BinnedView& binned, ThreadTeam& team);
};

}  // namespace polyleaf
