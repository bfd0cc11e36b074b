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

// The code of feature f of row r is codes[r * stride + f]. Missing values have the code behind the
// last bin.
struct ByteRows {
    ByteRows(const BinnedView& binned, ThreadTeam& team);

    int64_t stride = 0;
    AlignedVector<uint8_t> codes;
};

}  // namespace polyleaf
