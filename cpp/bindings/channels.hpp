// Channels as Python hands them over; see ChannelsView for what they mean.
#pragma once

#include <vector>

#include "base/data.hpp"
#include "bindings/common.hpp"

namespace polyleaf::bindings {

// Channels of all rows, checked once for any number of trees; holds on to the arrays that Python
// owns.
class Channels {
  public:
    using RowWeights = std::optional<Vector<float>>;
    using EntryWeights = std::optional<Matrix<float>>;

    // weight * value, dense.
    static Channels of_gradients(const Matrix<float>& values, const RowWeights& row_weights,
                                 const EntryWeights& entry_weights);
    // (values[:, columns] - shift) * factor, which the core computes as it reads them.
    static Channels of_targets(const Matrix<double>& values, const Vector<int32_t>& columns,
                               const Vector<double>& shift, const Vector<double>& factor,
                               const RowWeights& row_weights, const EntryWeights& entry_weights);
    // values[:, columns] of targets that are scaled already, which many trees share.
    static Channels of_scaled_targets(const Matrix<float>& values, const Vector<int32_t>& columns,
                                      const RowWeights& row_weights,
                                      const EntryWeights& entry_weights);
    // Sparse labels, by row.
    static Channels of_labels(int64_t n_channels, const Vector<int64_t>& indptr,
                              const Vector<int32_t>& indices, const Vector<float>& data,
                              const RowWeights& row_weights);

    const ChannelsView& view() const { return view_; }
    int64_t n_rows() const { return n_rows_; }
    // Some rows may weigh nothing, but not those that a tree is grown on.
    void require_weight(const Vector<int32_t>& rows) const;

  private:
    Channels(int64_t n_rows, int64_t n_channels);
    void set_columns(const Vector<int32_t>& columns, int64_t n_columns);
    void set_weights(const RowWeights& row_weights, const EntryWeights& entry_weights);

    template <typename Array>
    auto hold(const Array& array) {
        arrays_.emplace_back(array.handle());
        return array.data();
    }

    int64_t n_rows_;
    ChannelsView view_;
    std::vector<nb::ndarray<>> arrays_;
};

}  // namespace polyleaf::bindings
