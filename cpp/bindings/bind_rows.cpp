// Means and quantiles of the training rows in leaves.
#include "bindings/common.hpp"
#include "predict/row_average.hpp"

namespace polyleaf::bindings {

namespace {

void require_range_2d(const Matrix<int32_t>& array, int64_t high, const char* name) {
    const int64_t size = length(array) * static_cast<int64_t>(array.shape(1));
    for (int64_t i = 0; i < size; ++i)
        if (array.data()[i] < 0 || array.data()[i] >= high)
            throw std::invalid_argument(std::string(name) + " must lie in [0, " +
                                        std::to_string(high) + ")");
}

void average(const Matrix<int32_t>& leaves, const Vector<int64_t>& leaf_offsets,
             const Vector<int32_t>& leaf_rows, const Vector<double>& shares,
             const Matrix<double>& values, const std::optional<Matrix<double>>& tree_weights,
             OutMatrix<double> averages, int n_threads) {
    require_threads(n_threads);
    RowAverageTask task;
    task.n_rows = length(leaves);
    task.n_trees = static_cast<int64_t>(leaves.shape(1));
    task.n_channels = static_cast<int64_t>(values.shape(1));
    require(task.n_trees >= 1, "there must be at least one tree");
    require_offsets(leaf_offsets, length(leaf_rows), "leaf_offsets");
    require_length(shares, length(leaf_rows), "shares");
    require_range(leaf_rows, 0, length(values), "leaf_rows");
    require_range_2d(leaves, length(leaf_offsets) - 1, "leaves");
    require(length(averages) == task.n_rows &&
                static_cast<int64_t>(averages.shape(1)) == task.n_channels,
            "averages must have shape (n_rows, n_channels)");
    if (tree_weights) {
        require(length(*tree_weights) == task.n_trees &&
                    static_cast<int64_t>(tree_weights->shape(1)) == task.n_channels,
                "tree_weights must have shape (n_trees, n_channels)");
        task.tree_weights = tree_weights->data();
    }
    task.leaves = leaves.data();
    task.leaf_offsets = leaf_offsets.data();
    task.leaf_rows = leaf_rows.data();
    task.shares = shares.data();
    task.values = values.data();
    task.averages = averages.data();
    without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_threads, interrupt);
        average_rows(task, team);
    });
}

void quantiles_of(const Vector<int64_t>& indptr, const Vector<int32_t>& indices,
                  const Vector<double>& weights, const Matrix<double>& values,
                  const Vector<double>& quantiles, OutCube<double> found, int n_threads) {
    require_threads(n_threads);
    RowQuantileTask task;
    require_offsets(indptr, length(indices), "indptr");
    task.n_rows = length(indptr) - 1;
    task.n_channels = static_cast<int64_t>(values.shape(1));
    task.n_quantiles = length(quantiles);
    require_length(weights, length(indices), "weights");
    require_range(indices, 0, length(values), "indices");
    double last = 0.0;
    for (int64_t q = 0; q < task.n_quantiles; ++q) {
        require(quantiles.data()[q] >= last && quantiles.data()[q] <= 1.0,
                "quantiles must ascend from 0 to 1");
        last = quantiles.data()[q];
    }
    require(length(found) == task.n_rows &&
                static_cast<int64_t>(found.shape(1)) == task.n_channels &&
                static_cast<int64_t>(found.shape(2)) == task.n_quantiles,
            "found must have shape (n_rows, n_channels, n_quantiles)");
    task.indptr = indptr.data();
    task.indices = indices.data();
    task.weights = weights.data();
    task.values = values.data();
    task.quantiles = quantiles.data();
    task.found = found.data();
    without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_threads, interrupt);
        row_quantiles(task, team);
    });
}

}  // namespace

void bind_rows(nb::module_& module) {
    module.def("average_rows", &average, nb::arg("leaves"), nb::arg("leaf_offsets"),
               nb::arg("leaf_rows"), nb::arg("shares"), nb::arg("values"), nb::arg("tree_weights"),
               nb::arg("averages"), nb::arg("n_threads"),
               "Average training rows over leaves and trees, in place.");
    module.def("row_quantiles", &quantiles_of, nb::arg("indptr"), nb::arg("indices"),
               nb::arg("weights"), nb::arg("values"), nb::arg("quantiles"), nb::arg("found"),
               nb::arg("n_threads"), "Weighted quantiles of training rows, per row and channel.");
}

}  // namespace polyleaf::bindings
