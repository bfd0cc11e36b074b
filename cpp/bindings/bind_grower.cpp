// Growing a tree and its leaf values.
#include <nanobind/stl/shared_ptr.h>

#include <cmath>
#include <vector>

#include "bin/row_orders.hpp"
#include "bindings/binned.hpp"
#include "bindings/common.hpp"
#include "grow/grower.hpp"
#include "grow/leaves.hpp"

namespace polyleaf::bindings {

namespace {

void check_params(const GrowParams& params, const BinnedView& binned) {
    require(params.max_depth >= -1, "max_depth must be -1 (no limit) or at least 0");
    require(params.max_leaf_nodes == -1 || params.max_leaf_nodes >= 1,
            "max_leaf_nodes must be -1 (no limit) or at least 1");
    require(params.min_samples_split >= 2, "min_samples_split must be at least 2");
    require(params.min_samples_leaf >= 1, "min_samples_leaf must be at least 1");
    require(params.max_features >= 1 && params.max_features <= binned.n_features,
            "max_features must be between 1 and the number of features");
    require(std::isfinite(params.l2_regularization) && params.l2_regularization >= 0.0,
            "l2_regularization must be finite and not negative");
    require(std::isfinite(params.min_impurity_decrease) && params.min_impurity_decrease >= 0.0,
            "min_impurity_decrease must be finite and not negative");
    require(params.histogram_min_rows >= 0, "histogram_min_rows must not be negative");
    require_threads(params.n_threads);
}

// Rows in the order of the features, or nothing where they cannot be kept so.
class RowOrders {
  public:
    RowOrders(const Binned& binned, int n_threads) : source_(&binned) {
        require_threads(n_threads);
        if (!can_order_rows(binned.view())) return;
        without_gil([&](Interrupt& interrupt) {
            ThreadTeam team(n_threads, interrupt);
            entries_ = order_rows(binned.view(), team);
        });
    }
    const uint32_t* of(const Binned& binned) const {
        require(&binned == source_, "orders must be those of the binned features");
        return entries_.empty() ? nullptr : entries_.data();
    }

  private:
    const Binned* source_;
    std::vector<uint32_t> entries_;
};

GrownTree grow(const Binned& binned, const ChannelsView& channels, const Vector<int32_t>& rows,
               const GrowParams& params, const RowOrders* orders = nullptr) {
    check_params(params, binned.view());
    BinnedView view = binned.view();
    if (orders) view.row_orders = orders->of(binned);
    // A full tree has twice as many nodes, which are numbered in int32.
    require(length(rows) >= 1 && length(rows) <= int64_t{1} << 30,
            "rows must have length between 1 and 2**30; got " + std::to_string(length(rows)));
    require_range(rows, 0, binned.view().n_rows, "rows");
    const std::atomic<bool>* stop = params.stop ? &params.stop->is_set : nullptr;
    return without_gil(
        [&](Interrupt& interrupt) {
            return grow_tree(view, channels, rows.data(), length(rows), params, interrupt);
        },
        stop);
}

// Weights of rows or of entries; every row to be used must weigh something.
void set_weights(ChannelsView& channels, const std::optional<Vector<float>>& row_weights,
                 const std::optional<Matrix<float>>& entry_weights, const Vector<int32_t>& rows,
                 int64_t n) {
    require(!(row_weights && entry_weights), "give row weights or entry weights, not both");
    if (row_weights) {
        require_length(*row_weights, n, "row_weights");
        channels.policy = HessianPolicy::shared;
        channels.hessian = row_weights->data();
        require_range(rows, 0, n, "rows");
        for (int64_t i = 0; i < length(rows); ++i)
            require(channels.hessian[rows.data()[i]] > 0.0f,
                    "the weight of every row in `rows` must be positive");
    }
    if (entry_weights) {
        require(length(*entry_weights) == n &&
                    static_cast<int64_t>(entry_weights->shape(1)) == channels.n_channels,
                "entry_weights must have the shape of the channels");
        channels.policy = HessianPolicy::per_channel;
        channels.hessian = entry_weights->data();
    }
}

GrownTree grow_dense(const Binned& binned, const Matrix<float>& gradient,
                     const std::optional<Vector<float>>& row_weights,
                     const std::optional<Matrix<float>>& entry_weights,
                     const Vector<int32_t>& rows, const GrowParams& params,
                     const RowOrders* orders) {
    const int64_t n = binned.view().n_rows, q = gradient.shape(1);
    require_length(gradient, n, "gradient");
    require(q >= 1 && q < INT32_MAX - 16, "there must be at least one channel");
    ChannelsView channels;
    channels.n_channels = static_cast<int32_t>(q);
    channels.n_columns = q;
    channels.is_gradient = true;
    channels.values_f32 = gradient.data();
    set_weights(channels, row_weights, entry_weights, rows, n);
    return grow(binned, channels, rows, params, orders);
}

GrownTree grow_columns(const Binned& binned, ChannelsView& channels, int64_t n_columns,
                       const Vector<int32_t>& columns,
                       const std::optional<Vector<float>>& row_weights,
                       const std::optional<Matrix<float>>& entry_weights,
                       const Vector<int32_t>& rows, const GrowParams& params) {
    const int64_t q = length(columns);
    require(q >= 1 && q < INT32_MAX - 16, "there must be at least one channel");
    require_range(columns, 0, n_columns, "columns");
    channels.n_channels = static_cast<int32_t>(q);
    channels.n_columns = n_columns;
    channels.columns = columns.data();
    set_weights(channels, row_weights, entry_weights, rows, binned.view().n_rows);
    return grow(binned, channels, rows, params);
}

// The same from target values, which are scaled and weighted as they are read.
GrownTree grow_targets(const Binned& binned, const Matrix<double>& values,
                       const Vector<int32_t>& columns, const Vector<double>& shift,
                       const Vector<double>& factor,
                       const std::optional<Vector<float>>& row_weights,
                       const std::optional<Matrix<float>>& entry_weights,
                       const Vector<int32_t>& rows, const GrowParams& params) {
    require_length(values, binned.view().n_rows, "values");
    require_length(shift, length(columns), "shift");
    require_length(factor, length(columns), "factor");
    ChannelsView channels;
    channels.values_f64 = values.data();
    channels.shift = shift.data();
    channels.factor = factor.data();
    return grow_columns(binned, channels, values.shape(1), columns, row_weights, entry_weights,
                        rows, params);
}

// The same from targets that are scaled already: what many trees share.
GrownTree grow_scaled(const Binned& binned, const Matrix<float>& values,
                      const Vector<int32_t>& columns,
                      const std::optional<Vector<float>>& row_weights,
                      const std::optional<Matrix<float>>& entry_weights,
                      const Vector<int32_t>& rows, const GrowParams& params) {
    require_length(values, binned.view().n_rows, "values");
    ChannelsView channels;
    channels.values_f32 = values.data();
    return grow_columns(binned, channels, values.shape(1), columns, row_weights, entry_weights,
                        rows, params);
}

GrownTree grow_sparse(const Binned& binned, int64_t n_channels, const Vector<int64_t>& indptr,
                      const Vector<int32_t>& indices, const Vector<float>& data,
                      const std::optional<Vector<float>>& row_weights, const Vector<int32_t>& rows,
                      const GrowParams& params) {
    const int64_t n = binned.view().n_rows;
    require(n_channels >= 1 && n_channels < INT32_MAX, "there must be at least one channel");
    require_length(indptr, n + 1, "indptr");
    require_offsets(indptr, length(indices), "indptr");
    require_length(data, length(indices), "data");
    require_range(indices, 0, n_channels, "indices");
    ChannelsView channels;
    channels.n_channels = static_cast<int32_t>(n_channels);
    channels.indptr = indptr.data();
    channels.indices = indices.data();
    channels.data = data.data();
    set_weights(channels, row_weights, std::nullopt, rows, n);
    return grow(binned, channels, rows, params);
}

void write_nodes(const GrownTree& tree, OutVector<int32_t> feature, OutVector<double> threshold,
                 OutVector<int32_t> right, OutVector<uint8_t> missing_left,
                 OutVector<int64_t> category_offset, OutVector<int64_t> n_samples,
                 OutVector<double> weight, OutVector<double> impurity, OutVector<double> gain) {
    const int64_t n = static_cast<int64_t>(tree.nodes.size());
    for (int64_t given : {length(feature), length(threshold), length(right), length(missing_left),
                          length(category_offset), length(n_samples), length(weight),
                          length(impurity), length(gain)})
        require(given == n, "every array must have length n_nodes");
    tree.write_splits({feature.data(), threshold.data(), right.data(), missing_left.data(),
                       category_offset.data()});
    for (int64_t i = 0; i < n; ++i) {
        const TreeNode& node = tree.nodes[i];
        n_samples.data()[i] = node.end - node.begin;
        weight.data()[i] = node.weight;
        impurity.data()[i] = node.impurity;
        gain.data()[i] = node.gain;
    }
}

// What an ensemble keeps of a tree: the splits, where the rows of each leaf begin, and the sum of
// each feature's gains.
void write_splits(const GrownTree& tree, OutVector<int32_t> feature, OutVector<double> threshold,
                  OutVector<int32_t> right, OutVector<uint8_t> missing_left,
                  OutVector<int64_t> category_offset, OutVector<int64_t> leaf_offsets,
                  OutVector<double> feature_gains) {
    const int64_t n = static_cast<int64_t>(tree.nodes.size());
    for (int64_t given : {length(feature), length(threshold), length(right), length(missing_left),
                          length(category_offset)})
        require(given == n, "every array must have length n_nodes");
    require_length(leaf_offsets, (n + 1) / 2 + 1, "leaf_offsets");
    require(length(feature_gains) >= tree.n_features(),
            "feature_gains must have length n_features");
    tree.write_splits({feature.data(), threshold.data(), right.data(), missing_left.data(),
                       category_offset.data()});
    tree.write_leaf_offsets(leaf_offsets.data());
    tree.sum_gains(feature_gains.data(), length(feature_gains));
}

template <typename T>
void copy_out(const std::vector<T>& from, OutVector<T> to) {
    require_length(to, static_cast<int64_t>(from.size()), "the array");
    std::copy(from.begin(), from.end(), to.data());
}

void compute_leaf_means(const Matrix<double>& values,
                        const std::optional<Matrix<uint8_t>>& observed,
                        const std::optional<Vector<double>>& row_weights,
                        const std::optional<Matrix<double>>& entry_weights,
                        const Vector<int32_t>& rows, const Vector<int64_t>& leaf_offsets,
                        const Vector<int32_t>& right, const Vector<int32_t>& leaf_index,
                        OutMatrix<double> means, int n_threads) {
    const int64_t n = length(values), d = values.shape(1), n_leaves = length(leaf_offsets) - 1;
    require_threads(n_threads);
    require(n_leaves >= 1, "there must be at least one leaf");
    require_offsets(leaf_offsets, length(rows), "leaf_offsets");
    require_range(rows, 0, n, "rows");
    require(length(means) == n_leaves && static_cast<int64_t>(means.shape(1)) == d,
            "means must have shape (n_leaves, n_outputs)");
    require(length(right) >= 1, "there must be at least one node");
    require_length(leaf_index, length(right), "leaf_index");
    require_range(leaf_index, -1, n_leaves, "leaf_index");
    for (int64_t i = 0; i < length(right); ++i)
        require(leaf_index.data()[i] >= 0 ||
                    (right.data()[i] > i + 1 && right.data()[i] < length(right)),
                "right child out of range");
    if (observed)
        require(length(*observed) == n && static_cast<int64_t>(observed->shape(1)) == d,
                "observed must have the shape of values");
    if (row_weights) require_length(*row_weights, n, "row_weights");
    if (entry_weights)
        require(length(*entry_weights) == n && static_cast<int64_t>(entry_weights->shape(1)) == d,
                "entry_weights must have the shape of values");
    LeafMeansTask task;
    task.n_leaves = n_leaves;
    task.n_outputs = d;
    task.values = values.data();
    task.observed = observed ? observed->data() : nullptr;
    task.row_weights = row_weights ? row_weights->data() : nullptr;
    task.entry_weights = entry_weights ? entry_weights->data() : nullptr;
    task.rows = rows.data();
    task.leaf_offsets = leaf_offsets.data();
    task.tree = {length(right), right.data(), leaf_index.data()};
    task.means = means.data();
    without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_threads, interrupt);
        leaf_means(task, team);
    });
}

}  // namespace

void init_grower(nb::module_& module) {
    nb::class_<StopFlag>(module, "StopFlag", "Once set, it stops the growth in other threads.")
        .def(nb::init<>())
        .def("set", [](StopFlag& flag) { flag.is_set.store(true); })
        .def_prop_ro("is_set", [](const StopFlag& flag) { return flag.is_set.load(); });

    nb::class_<GrowParams>(module, "GrowParams", "Parameters of one tree.")
        .def(nb::init<>())
        .def_rw("max_depth", &GrowParams::max_depth)
        .def_rw("max_leaf_nodes", &GrowParams::max_leaf_nodes)
        .def_rw("min_samples_split", &GrowParams::min_samples_split)
        .def_rw("min_samples_leaf", &GrowParams::min_samples_leaf)
        .def_rw("min_impurity_decrease", &GrowParams::min_impurity_decrease)
        .def_rw("max_features", &GrowParams::max_features)
        .def_rw("random_cuts", &GrowParams::random_cuts)
        .def_rw("l2_regularization", &GrowParams::l2_regularization)
        .def_rw("double_precision", &GrowParams::double_precision)
        .def_rw("seed", &GrowParams::seed)
        .def_rw("n_threads", &GrowParams::n_threads)
        .def_rw("histogram_min_rows", &GrowParams::histogram_min_rows)
        .def_rw("stop", &GrowParams::stop, nb::arg().none());

    nb::class_<Binned>(module, "Binned", "Binned features, checked once for any number of fits.")
        .def(nb::init<int64_t, Vector<uint8_t>, Vector<int64_t>, Vector<double>, Vector<double>,
                      Vector<int32_t>, std::optional<Cube<uint8_t>>, std::optional<Cube<uint32_t>>,
                      Vector<int32_t>, Vector<uint32_t>, Vector<int64_t>, Vector<int32_t>,
                      std::optional<Vector<uint32_t>>>(),
             nb::arg("n_rows"), nb::arg("is_categorical").noconvert(),
             nb::arg("bin_offsets").noconvert(), nb::arg("bin_low").noconvert(),
             nb::arg("bin_high").noconvert(), nb::arg("dense_features").noconvert(),
             nb::arg("codes_u8").noconvert().none(), nb::arg("codes_u32").noconvert().none(),
             nb::arg("sparse_features").noconvert(), nb::arg("sparse_default").noconvert(),
             nb::arg("sparse_indptr").noconvert(), nb::arg("sparse_slot").noconvert(),
             nb::arg("sparse_code").noconvert().none());

    module.def("uses_row_orders", &uses_row_orders, nb::arg("n_rows"), nb::arg("n_channels"));
    nb::class_<RowOrders>(module, "RowOrders", "All rows in the order of every feature.")
        .def(nb::init<const Binned&, int>(), nb::arg("binned"), nb::arg("n_threads"),
             nb::keep_alive<1, 2>());

    nb::class_<GrownTree>(module, "GrownTree", "A tree as it left the grower.")
        .def_prop_ro("n_nodes", [](const GrownTree& tree) { return tree.nodes.size(); })
        .def_prop_ro("n_category_words",
                     [](const GrownTree& tree) { return tree.category_words.size(); })
        .def_prop_ro("n_rows", [](const GrownTree& tree) { return tree.rows.size(); })
        .def_ro("work", &GrownTree::work)
        .def("write_nodes", &write_nodes, nb::arg("feature").noconvert(),
             nb::arg("threshold").noconvert(), nb::arg("right").noconvert(),
             nb::arg("missing_left").noconvert(), nb::arg("category_offset").noconvert(),
             nb::arg("n_samples").noconvert(), nb::arg("weight").noconvert(),
             nb::arg("impurity").noconvert(), nb::arg("gain").noconvert())
        .def("write_splits", &write_splits, nb::arg("feature").noconvert(),
             nb::arg("threshold").noconvert(), nb::arg("right").noconvert(),
             nb::arg("missing_left").noconvert(), nb::arg("category_offset").noconvert(),
             nb::arg("leaf_offsets").noconvert(), nb::arg("feature_gains").noconvert())
        .def(
            "write_category_words",
            [](const GrownTree& tree, OutVector<uint32_t> words) {
                copy_out(tree.category_words, words);
            },
            nb::arg("words").noconvert())
        .def(
            "write_rows",
            [](const GrownTree& tree, OutVector<int32_t> rows) { copy_out(tree.rows, rows); },
            nb::arg("rows").noconvert());

    module.def("grow_dense", &grow_dense, nb::arg("binned"), nb::arg("gradient").noconvert(),
               nb::arg("row_weights").noconvert().none(),
               nb::arg("entry_weights").noconvert().none(), nb::arg("rows").noconvert(),
               nb::arg("params"), nb::arg("orders") = nb::none(),
               "Grow a tree on dense channels (n, q) of weight * value.");
    module.def("grow_targets", &grow_targets, nb::arg("binned"), nb::arg("values").noconvert(),
               nb::arg("columns").noconvert(), nb::arg("shift").noconvert(),
               nb::arg("factor").noconvert(), nb::arg("row_weights").noconvert().none(),
               nb::arg("entry_weights").noconvert().none(), nb::arg("rows").noconvert(),
               nb::arg("params"),
               "Grow a tree on (values[:, columns] - shift) * factor, weighted, without a copy.");
    module.def("grow_scaled", &grow_scaled, nb::arg("binned"), nb::arg("values").noconvert(),
               nb::arg("columns").noconvert(), nb::arg("row_weights").noconvert().none(),
               nb::arg("entry_weights").noconvert().none(), nb::arg("rows").noconvert(),
               nb::arg("params"), "Grow a tree on values[:, columns], weighted, without a copy.");
    module.def("grow_sparse", &grow_sparse, nb::arg("binned"), nb::arg("n_channels"),
               nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
               nb::arg("data").noconvert(), nb::arg("row_weights").noconvert().none(),
               nb::arg("rows").noconvert(), nb::arg("params"),
               "Grow a tree on sparse labels (CSR) without making them dense.");
    module.def("leaf_means", &compute_leaf_means, nb::arg("values").noconvert(),
               nb::arg("observed").noconvert().none(), nb::arg("row_weights").noconvert().none(),
               nb::arg("entry_weights").noconvert().none(), nb::arg("rows").noconvert(),
               nb::arg("leaf_offsets").noconvert(), nb::arg("right").noconvert(),
               nb::arg("leaf_index").noconvert(), nb::arg("means").noconvert(),
               nb::arg("n_threads"), "Weighted means of the outputs in every leaf.");
}

}  // namespace polyleaf::bindings
