// Leaves with their training rows, checked once; holds on to the arrays that Python owns.
#pragma once

#include "bindings/common.hpp"
#include "predict/row_average.hpp"

namespace polyleaf::bindings {

class BoundLeafAverages {
  public:
    BoundLeafAverages(Vector<int64_t> leaf_offsets, Vector<int32_t> leaf_rows,
                      Vector<double> shares, Matrix<double> values)
        : leaf_offsets_(leaf_offsets), leaf_rows_(leaf_rows), shares_(shares), values_(values) {
        require_offsets(leaf_offsets, length(leaf_rows), "leaf_offsets");
        require_length(shares, length(leaf_rows), "shares");
        require_range(leaf_rows, 0, length(values), "leaf_rows");
        averages_ =
            LeafAverages(length(leaf_offsets) - 1, static_cast<int64_t>(values.shape(1)),
                         leaf_offsets.data(), leaf_rows.data(), shares.data(), values.data());
    }

    const LeafAverages& averages() const { return averages_; }
    int64_t n_leaves() const { return static_cast<int64_t>(averages_.only_rows.size()); }

  private:
    Vector<int64_t> leaf_offsets_;
    Vector<int32_t> leaf_rows_;
    Vector<double> shares_;
    Matrix<double> values_;
    LeafAverages averages_;
};

}  // namespace polyleaf::bindings
