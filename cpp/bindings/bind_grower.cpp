// Growing a tree.
#include <nanobind/stl/shared_ptr.h>

#include <cmath>
#include <vector>

#include "bin/row_orders.hpp"
#include "bindings/binned.hpp"
#include "bindings/channels.hpp"
#include "bindings/python_reducer.hpp"
#include "grow/fixed_grower.hpp"
#include "grow/grower.hpp"

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
    require(std::isfinite(params.category_penalty) && params.category_penalty >= 0.0,
            "category_penalty must be finite and not negative");
    require(std::isfinite(params.min_impurity_decrease) && params.min_impurity_decrease >= 0.0,
            "min_impurity_decrease must be finite and not negative");
    require(params.histogram_min_rows >= 0, "histogram_min_rows must not be negative");
    require(params.float_rows >= 0, "float_rows must not be negative");
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

// A tree in fixed point. rows may be empty if there is a reducer.
GrownTree grow_fixed(const BinnedView& view, const Channels& channels, const Vector<int32_t>& rows,
                     const GrowParams& params, const std::optional<AllReduce>& reduce) {
    require(can_sum_fixed(view, channels.view()),
            "sums in fixed point need dense channels, and features of at most 255 bins");
    require(!params.double_precision, "sums are in fixed point or in double precision, not both");
    require(!reduce || params.float_rows == 0,
            "with a reducer no node can be finished in floats: float_rows must be 0");
    require(do_rise(rows.data(), length(rows)), "rows must rise for sums in fixed point");
    std::optional<CollectiveReducer> reducer;
    if (reduce) reducer.emplace(*reduce);
    return without_gil(
        [&](Interrupt& interrupt) {
            return grow_fixed_tree(view, channels.view(), rows.data(), length(rows), params,
                                   interrupt, reducer ? &*reducer : nullptr);
        },
        params.stop ? &params.stop->is_set : nullptr);
}

GrownTree grow(const Binned& binned, const Channels& channels, const Vector<int32_t>& rows,
               const GrowParams& params, const RowOrders* orders,
               const std::optional<AllReduce>& reduce) {
    BinnedView view = binned.view();
    check_params(params, view);
    if (orders) view.row_orders = orders->of(binned);
    require(channels.n_rows() == view.n_rows,
            "channels must have a row for each of the " + std::to_string(view.n_rows) +
                " binned rows; got " + std::to_string(channels.n_rows()));
    // A full tree has twice as many nodes, which are numbered in int32.
    require((length(rows) >= 1 || reduce) && length(rows) <= int64_t{1} << 30,
            "rows must have length between 1 and 2**30; got " + std::to_string(length(rows)));
    require_range(rows, 0, view.n_rows, "rows");
    channels.require_weight(rows);
    if (params.fixed_sums) return grow_fixed(view, channels, rows, params, reduce);
    require(!reduce, "only sums in fixed point can be reduced: set fixed_sums");
    const std::atomic<bool>* stop = params.stop ? &params.stop->is_set : nullptr;
    return without_gil(
        [&](Interrupt& interrupt) {
            return grow_tree(view, channels.view(), rows.data(), length(rows), params, interrupt);
        },
        stop);
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
        n_samples.data()[i] = node.n_samples >= 0 ? node.n_samples : node.end - node.begin;
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

nb::typed<nb::dict, nb::str, int> finder_counts(const GrownTree& tree) {
    nb::dict counts;
    for (int i = 0; i < kFinders; ++i)
        if (tree.finder_counts.nodes[i] > 0)
            counts[finder_names[i].name] = tree.finder_counts.nodes[i];
    return nb::cast<nb::typed<nb::dict, nb::str, int>>(counts);
}

template <typename T>
void copy_out(const std::vector<T>& from, OutVector<T> to) {
    require_length(to, static_cast<int64_t>(from.size()), "the array");
    std::copy(from.begin(), from.end(), to.data());
}

}  // namespace

void bind_grower(nb::module_& module) {
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
        .def_rw("category_penalty", &GrowParams::category_penalty)
        .def_rw("double_precision", &GrowParams::double_precision)
        .def_rw("seed", &GrowParams::seed)
        .def_rw("n_threads", &GrowParams::n_threads)
        .def_rw("histogram_min_rows", &GrowParams::histogram_min_rows)
        .def_rw("fixed_sums", &GrowParams::fixed_sums)
        .def_rw("float_rows", &GrowParams::float_rows)
        .def_rw("measures_impurity", &GrowParams::measures_impurity)
        .def_rw("stop", &GrowParams::stop, nb::arg().none());

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
        .def_ro("plan", &GrownTree::plan)
        .def_prop_ro("finder_counts", &finder_counts,
                     "How many nodes each finder served; a node may need several.")
        .def("write_nodes", &write_nodes, nb::arg("feature"), nb::arg("threshold"),
             nb::arg("right"), nb::arg("missing_left"), nb::arg("category_offset"),
             nb::arg("n_samples"), nb::arg("weight"), nb::arg("impurity"), nb::arg("gain"))
        .def("write_splits", &write_splits, nb::arg("feature"), nb::arg("threshold"),
             nb::arg("right"), nb::arg("missing_left"), nb::arg("category_offset"),
             nb::arg("leaf_offsets"), nb::arg("feature_gains"))
        .def(
            "write_category_words",
            [](const GrownTree& tree, OutVector<uint32_t> words) {
                copy_out(tree.category_words, words);
            },
            nb::arg("words"))
        .def(
            "write_rows",
            [](const GrownTree& tree, OutVector<int32_t> rows) { copy_out(tree.rows, rows); },
            nb::arg("rows"));

    module.def("grow_tree", &grow, nb::arg("binned"), nb::arg("channels"), nb::arg("rows"),
               nb::arg("params"), nb::arg("orders") = nb::none(), nb::arg("reduce") = nb::none(),
               "Grow a tree on channels; `orders` of the features save sorting dense ones. "
               "reduce(numbers, by): makes numbers of this worker those of all, in place; `by` is "
               "'sum' or 'max'. Needs fixed_sums.");
    module.def(
        "can_sum_fixed",
        [](const Binned& binned, const Channels& channels) {
            return can_sum_fixed(binned.view(), channels.view());
        },
        nb::arg("binned"), nb::arg("channels"),
        "Whether a tree on these channels can be grown by sums in fixed point.");
}

}  // namespace polyleaf::bindings
