// Growing a tree and its leaf values.
#include <nanobind/stl/shared_ptr.h>

#include <cmath>
#include <vector>

#include "bindings/common.hpp"
#include "ramify/grower.hpp"
#include "ramify/leaves.hpp"

namespace ramify::bindings {

namespace {

// Binned features, checked once; holds on to the arrays that Python owns.
class Binned {
  public:
    Binned(int64_t n_rows, Vector<uint8_t> is_categorical, Vector<int64_t> bin_offsets,
           Vector<double> bin_low, Vector<double> bin_high, Vector<int32_t> dense_features,
           std::optional<Cube<uint8_t>> codes_u8, std::optional<Cube<uint32_t>> codes_u32,
           Vector<int32_t> sparse_features, Vector<uint32_t> sparse_default,
           Vector<int64_t> sparse_indptr, Vector<int32_t> sparse_slot,
           Vector<uint32_t> sparse_code)
        : is_categorical_(is_categorical),
          bin_offsets_(bin_offsets),
          bin_low_(bin_low),
          bin_high_(bin_high),
          dense_features_(dense_features),
          codes_u8_(codes_u8),
          codes_u32_(codes_u32),
          sparse_features_(sparse_features),
          sparse_default_(sparse_default),
          sparse_indptr_(sparse_indptr),
          sparse_slot_(sparse_slot),
          sparse_code_(sparse_code) {
        const int64_t p = length(is_categorical);
        require(n_rows >= 1 && n_rows < INT32_MAX, "n_rows must be in [1, 2**31 - 1)");
        require(p >= 1 && p < INT32_MAX, "there must be at least one feature");
        require_length(bin_offsets, p + 1, "bin_offsets");
        require_offsets(bin_offsets, length(bin_low), "bin_offsets");
        require_length(bin_high, length(bin_low), "bin_high");
        require(length(dense_features) + length(sparse_features) == p,
                "every feature must be stored once, dense or sparse");
        require_range(dense_features, 0, p, "dense_features");
        require_range(sparse_features, 0, p, "sparse_features");
        std::vector<uint8_t> stored(p, 0);
        for (int64_t i = 0; i < length(dense_features); ++i) ++stored[dense_features.data()[i]];
        for (int64_t i = 0; i < length(sparse_features); ++i) ++stored[sparse_features.data()[i]];
        for (uint8_t times : stored)
            require(times == 1, "every feature must be stored once, dense or sparse");
        view_.n_rows = n_rows;
        view_.n_features = static_cast<int32_t>(p);
        view_.is_categorical = is_categorical.data();
        view_.bin_offsets = bin_offsets.data();
        view_.bin_low = bin_low.data();
        view_.bin_high = bin_high.data();
        view_.n_dense = static_cast<int32_t>(length(dense_features));
        view_.dense_features = dense_features.data();
        without_gil([&](Interrupt& interrupt) {
            check_dense(interrupt);
            check_sparse(interrupt);
        });
    }

    const BinnedView& view() const { return view_; }

  private:
    template <typename Code>
    void check_codes(const Cube<Code>& codes, uint32_t missing, Interrupt& interrupt) {
        const int64_t n = view_.n_rows;
        require(length(codes) == (view_.n_dense + kTileFeatures - 1) / kTileFeatures &&
                    static_cast<int64_t>(codes.shape(1)) == n && codes.shape(2) == kTileFeatures,
                "codes must have shape (ceil(n_dense / 4), n_rows, 4)");
        const Code* tile = codes.data();
        for (int32_t first = 0; first < view_.n_dense; first += kTileFeatures) {
            interrupt.check();
            // Unused lanes hold 0, like those of a feature with one bin.
            Code n_bins[kTileFeatures] = {1, 1, 1, 1}, bad[kTileFeatures] = {};
            const int n_lanes = std::min(kTileFeatures, view_.n_dense - first);
            for (int lane = 0; lane < n_lanes; ++lane) {
                const int64_t bins = view_.n_bins(view_.dense_features[first + lane]);
                require(bins <= int64_t{missing}, "a feature has more bins than codes");
                n_bins[lane] = static_cast<Code>(bins);
            }
            for (int64_t row = 0; row < n; ++row, tile += kTileFeatures)
                for (int lane = 0; lane < kTileFeatures; ++lane)
                    bad[lane] |= (tile[lane] >= n_bins[lane]) & (tile[lane] != Code(missing));
            for (int lane = 0; lane < n_lanes; ++lane)
                require(!bad[lane], "a code of feature " +
                                        std::to_string(view_.dense_features[first + lane]) +
                                        " is not one of its bins");
        }
    }

    void check_dense(Interrupt& interrupt) {
        if (view_.n_dense == 0) return;
        require(codes_u8_.has_value() != codes_u32_.has_value(),
                "dense codes must be given once, as uint8 or as uint32");
        if (codes_u8_) {
            check_codes(*codes_u8_, kMissingU8, interrupt);
            view_.codes_u8 = codes_u8_->data();
        } else {
            check_codes(*codes_u32_, kMissingU32, interrupt);
            view_.codes_u32 = codes_u32_->data();
        }
    }

    void check_sparse(Interrupt& interrupt) {
        const int64_t n_sparse = length(sparse_features_), nnz = length(sparse_slot_);
        require_length(sparse_default_, n_sparse, "sparse_default");
        require_length(sparse_indptr_, view_.n_rows + 1, "sparse_indptr");
        require_offsets(sparse_indptr_, nnz, "sparse_indptr");
        require_length(sparse_code_, nnz, "sparse_code");
        require_range(sparse_slot_, 0, n_sparse, "sparse_slot");
        auto is_bin = [&](int64_t slot, uint32_t code) {
            return code == kMissingU32 || code < view_.n_bins(sparse_features_.data()[slot]);
        };
        for (int64_t slot = 0; slot < n_sparse; ++slot)
            require(is_bin(slot, sparse_default_.data()[slot]),
                    "a default code is not one of its feature's bins");
        is_two_valued_.resize(n_sparse);
        for (int64_t slot = 0; slot < n_sparse; ++slot)
            is_two_valued_[slot] = view_.n_bins(sparse_features_.data()[slot]) <= 2 &&
                                   sparse_default_.data()[slot] != kMissingU32;
        const int32_t* slots = sparse_slot_.data();
        for (int64_t row = 0; row < view_.n_rows; ++row) {
            if (row % 4096 == 0) interrupt.check();
            for (int64_t e = sparse_indptr_.data()[row]; e < sparse_indptr_.data()[row + 1]; ++e) {
                require(e == sparse_indptr_.data()[row] || slots[e] > slots[e - 1],
                        "sparse_slot must rise within a row");
                const uint32_t code = sparse_code_.data()[e];
                if (code == kMissingU32) is_two_valued_[slots[e]] = 0;
                require(is_bin(slots[e], code) && code != sparse_default_.data()[slots[e]],
                        "a sparse code is not one of its feature's bins, or is its default");
            }
        }
        view_.n_sparse = static_cast<int32_t>(n_sparse);
        view_.sparse_features = sparse_features_.data();
        view_.sparse_default = sparse_default_.data();
        view_.sparse_indptr = sparse_indptr_.data();
        view_.sparse_slot = slots;
        view_.sparse_code = sparse_code_.data();
        view_.is_two_valued = is_two_valued_.data();
    }

    Vector<uint8_t> is_categorical_;
    Vector<int64_t> bin_offsets_;
    Vector<double> bin_low_, bin_high_;
    Vector<int32_t> dense_features_;
    std::optional<Cube<uint8_t>> codes_u8_;
    std::optional<Cube<uint32_t>> codes_u32_;
    Vector<int32_t> sparse_features_;
    Vector<uint32_t> sparse_default_;
    Vector<int64_t> sparse_indptr_;
    Vector<int32_t> sparse_slot_;
    Vector<uint32_t> sparse_code_;
    std::vector<uint8_t> is_two_valued_;
    BinnedView view_;
};

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

GrownTree grow(const Binned& binned, const ChannelsView& channels, const Vector<int32_t>& rows,
               const GrowParams& params) {
    check_params(params, binned.view());
    // A full tree has twice as many nodes, which are numbered in int32.
    require(length(rows) >= 1 && length(rows) <= int64_t{1} << 30,
            "rows must have length between 1 and 2**30; got " + std::to_string(length(rows)));
    require_range(rows, 0, binned.view().n_rows, "rows");
    const std::atomic<bool>* stop = params.stop ? &params.stop->is_set : nullptr;
    return without_gil(
        [&](Interrupt& interrupt) {
            return grow_tree(binned.view(), channels, rows.data(), length(rows), params,
                             interrupt);
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
                     const Vector<int32_t>& rows, const GrowParams& params) {
    const int64_t n = binned.view().n_rows, q = gradient.shape(1);
    require_length(gradient, n, "gradient");
    require(q >= 1 && q < INT32_MAX - 16, "there must be at least one channel");
    ChannelsView channels;
    channels.n_channels = static_cast<int32_t>(q);
    channels.n_columns = q;
    channels.is_gradient = true;
    channels.values_f32 = gradient.data();
    set_weights(channels, row_weights, entry_weights, rows, n);
    return grow(binned, channels, rows, params);
}

// The same from target values, which are scaled and weighted as they are read.
GrownTree grow_targets(const Binned& binned, const Matrix<double>& values,
                       const Vector<int32_t>& columns, const Vector<double>& shift,
                       const Vector<double>& factor,
                       const std::optional<Vector<float>>& row_weights,
                       const std::optional<Matrix<float>>& entry_weights,
                       const Vector<int32_t>& rows, const GrowParams& params) {
    const int64_t n = binned.view().n_rows, q = length(columns);
    require_length(values, n, "values");
    require(q >= 1 && q < INT32_MAX - 16, "there must be at least one channel");
    require_range(columns, 0, values.shape(1), "columns");
    require_length(shift, q, "shift");
    require_length(factor, q, "factor");
    ChannelsView channels;
    channels.n_channels = static_cast<int32_t>(q);
    channels.n_columns = static_cast<int64_t>(values.shape(1));
    channels.values_f64 = values.data();
    channels.columns = columns.data();
    channels.shift = shift.data();
    channels.factor = factor.data();
    set_weights(channels, row_weights, entry_weights, rows, n);
    return grow(binned, channels, rows, params);
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
    for (int64_t i = 0; i < n; ++i) {
        const TreeNode& node = tree.nodes[i];
        const bool is_leaf = node.feature == kNoFeature;
        feature.data()[i] = node.feature;
        threshold.data()[i] = is_leaf ? 0.0 : node.threshold;
        right.data()[i] = is_leaf ? -1 : node.right;
        missing_left.data()[i] = !is_leaf && node.missing_left;
        category_offset.data()[i] = node.category_offset;
        n_samples.data()[i] = node.end - node.begin;
        weight.data()[i] = node.weight;
        impurity.data()[i] = node.impurity;
        gain.data()[i] = node.gain;
    }
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
                      Vector<uint32_t>>(),
             nb::arg("n_rows"), nb::arg("is_categorical").noconvert(),
             nb::arg("bin_offsets").noconvert(), nb::arg("bin_low").noconvert(),
             nb::arg("bin_high").noconvert(), nb::arg("dense_features").noconvert(),
             nb::arg("codes_u8").noconvert().none(), nb::arg("codes_u32").noconvert().none(),
             nb::arg("sparse_features").noconvert(), nb::arg("sparse_default").noconvert(),
             nb::arg("sparse_indptr").noconvert(), nb::arg("sparse_slot").noconvert(),
             nb::arg("sparse_code").noconvert());

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
               nb::arg("params"), "Grow a tree on dense channels (n, q) of weight * value.");
    module.def("grow_targets", &grow_targets, nb::arg("binned"), nb::arg("values").noconvert(),
               nb::arg("columns").noconvert(), nb::arg("shift").noconvert(),
               nb::arg("factor").noconvert(), nb::arg("row_weights").noconvert().none(),
               nb::arg("entry_weights").noconvert().none(), nb::arg("rows").noconvert(),
               nb::arg("params"),
               "Grow a tree on (values[:, columns] - shift) * factor, weighted, without a copy.");
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

}  // namespace ramify::bindings
