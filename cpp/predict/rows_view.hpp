// Rows to predict, as the core reads them.
#pragma once

#include <cstdint>

namespace polyleaf {

// Dense (n, p) rows, or CSR with sorted or unsorted column indices; absent entries are 0.
template <typename T>
struct RowsView {
    int64_t n_rows = 0;
    const T* values = nullptr;         // dense (n_rows, n_features), or CSR data
    const int64_t* indptr = nullptr;   // CSR only
    const int32_t* indices = nullptr;  // CSR only
};

}  // namespace polyleaf
