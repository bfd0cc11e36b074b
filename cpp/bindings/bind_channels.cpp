// Channels: what a tree is grown on.
#include "bindings/channels.hpp"

namespace polyleaf::bindings {

Channels::Channels(int64_t n_rows, int64_t n_channels) : n_rows_(n_rows) {
    require(n_channels >= 1 && n_channels < INT32_MAX - 16, "there must be at least one channel");
    view_.n_channels = static_cast<int32_t>(n_channels);
}

void Channels::set_columns(const Vector<int32_t>& columns, int64_t n_columns) {
    require_range(columns, 0, n_columns, "columns");
    view_.n_columns = n_columns;
    view_.columns = hold(columns);
}

void Channels::set_weights(const RowWeights& row_weights, const EntryWeights& entry_weights) {
    require(!(row_weights && entry_weights), "give row weights or entry weights, not both");
    if (row_weights) {
        require_length(*row_weights, n_rows_, "row_weights");
        view_.policy = HessianPolicy::shared;
        view_.hessian = hold(*row_weights);
    }
    if (entry_weights) {
        require(length(*entry_weights) == n_rows_ &&
                    static_cast<int64_t>(entry_weights->shape(1)) == view_.n_channels,
                "entry_weights must have the shape of the channels");
        view_.policy = HessianPolicy::per_channel;
        view_.hessian = hold(*entry_weights);
    }
}

void Channels::require_weight(const Vector<int32_t>& rows) const {
    if (view_.policy != HessianPolicy::shared) return;
    for (int64_t i = 0; i < length(rows); ++i)
        require(view_.hessian[rows.data()[i]] > 0.0f,
                "the weight of every row in `rows` must be positive");
}

Channels Channels::of_gradients(const Matrix<float>& values, const RowWeights& row_weights,
                                const EntryWeights& entry_weights) {
    Channels channels(length(values), static_cast<int64_t>(values.shape(1)));
    channels.view_.n_columns = channels.view_.n_channels;
    channels.view_.is_gradient = true;
    channels.view_.values_f32 = channels.hold(values);
    channels.set_weights(row_weights, entry_weights);
    return channels;
}

Channels Channels::of_targets(const Matrix<double>& values, const Vector<int32_t>& columns,
                              const Vector<double>& shift, const Vector<double>& factor,
                              const RowWeights& row_weights, const EntryWeights& entry_weights) {
    Channels channels(length(values), length(columns));
    channels.set_columns(columns, static_cast<int64_t>(values.shape(1)));
    require_length(shift, length(columns), "shift");
    require_length(factor, length(columns), "factor");
    channels.view_.values_f64 = channels.hold(values);
    channels.view_.shift = channels.hold(shift);
    channels.view_.factor = channels.hold(factor);
    channels.set_weights(row_weights, entry_weights);
    return channels;
}

Channels Channels::of_scaled_targets(const Matrix<float>& values, const Vector<int32_t>& columns,
                                     const RowWeights& row_weights,
                                     const EntryWeights& entry_weights) {
    Channels channels(length(values), length(columns));
    channels.set_columns(columns, static_cast<int64_t>(values.shape(1)));
    channels.view_.values_f32 = channels.hold(values);
    channels.set_weights(row_weights, entry_weights);
    return channels;
}

Channels Channels::of_labels(int64_t n_channels, const Vector<int64_t>& indptr,
                             const Vector<int32_t>& indices, const Vector<float>& data,
                             const RowWeights& row_weights) {
    Channels channels(length(indptr) - 1, n_channels);
    require_offsets(indptr, length(indices), "indptr");
    require_length(data, length(indices), "data");
    require_range(indices, 0, n_channels, "indices");
    channels.view_.indptr = channels.hold(indptr);
    channels.view_.indices = channels.hold(indices);
    channels.view_.data = channels.hold(data);
    channels.set_weights(row_weights, std::nullopt);
    return channels;
}

void bind_channels(nb::module_& module) {
    nb::class_<Channels>(module, "Channels",
                         "What a tree is grown on, checked once for any number of trees.")
        .def_static("of_gradients", &Channels::of_gradients, nb::arg("values"),
                    nb::arg("row_weights") = nb::none(), nb::arg("entry_weights") = nb::none(),
                    "Dense channels (n, q) of weight * value.")
        .def_static("of_targets", &Channels::of_targets, nb::arg("values"), nb::arg("columns"),
                    nb::arg("shift"), nb::arg("factor"), nb::arg("row_weights") = nb::none(),
                    nb::arg("entry_weights") = nb::none(),
                    "(values[:, columns] - shift) * factor, without a copy.")
        .def_static("of_scaled_targets", &Channels::of_scaled_targets, nb::arg("values"),
                    nb::arg("columns"), nb::arg("row_weights") = nb::none(),
                    nb::arg("entry_weights") = nb::none(), "values[:, columns], without a copy.")
        .def_static("of_labels", &Channels::of_labels, nb::arg("n_channels"), nb::arg("indptr"),
                    nb::arg("indices"), nb::arg("data"), nb::arg("row_weights") = nb::none(),
                    "Sparse labels (CSR) that are not weighted yet.")
        .def_prop_ro("n_rows", &Channels::n_rows)
        .def_prop_ro("n_channels",
                     [](const Channels& channels) { return channels.view().n_channels; });
}

}  // namespace polyleaf::bindings
