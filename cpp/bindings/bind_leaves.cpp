// Leaf values of a grown tree.
#include "bindings/common.hpp"
#include "grow/leaves.hpp"

namespace polyleaf::bindings {

namespace {

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

void bind_leaves(nb::module_& module) {
    module.def("leaf_means", &compute_leaf_means, nb::arg("values"), nb::arg("observed"),
               nb::arg("row_weights"), nb::arg("entry_weights"), nb::arg("rows"),
               nb::arg("leaf_offsets"), nb::arg("right"), nb::arg("leaf_index"), nb::arg("means"),
               nb::arg("n_threads"), "Weighted means of the outputs in every leaf.");
}

}  // namespace polyleaf::bindings
