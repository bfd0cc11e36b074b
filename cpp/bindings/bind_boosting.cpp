// A round of boosting behind the tree, and the sum of trees.
#include "bindings/common.hpp"
#include "bindings/python_reducer.hpp"
#include "boost/moments.hpp"
#include "boost/round.hpp"

namespace polyleaf::bindings {

namespace {

using OptionalRowWeights = std::optional<Vector<float>>;
using OptionalEntryWeights = std::optional<Matrix<float>>;

template <typename Array>
void require_shape(const Array& array, int64_t n, int64_t d, const char* name) {
    require(length(array) == n && static_cast<int64_t>(array.shape(1)) == d,
            std::string(name) + " must have shape (" + std::to_string(n) + ", " +
                std::to_string(d) + ")");
}

LeafRows checked_leaves(const Vector<int32_t>& rows, const Vector<int64_t>& offsets, int64_t n) {
    require(length(offsets) >= 2, "there must be at least one leaf");
    require_offsets(offsets, length(rows), "leaf_offsets");
    require_range(rows, 0, n, "rows");
    return {length(offsets) - 1, rows.data(), offsets.data()};
}

EntryWeights checked_weights(const OptionalRowWeights& by_row,
                             const OptionalEntryWeights& by_entry, int64_t n, int64_t d) {
    require(!(by_row && by_entry), "give row weights or entry weights, not both");
    EntryWeights weights;
    if (by_row) {
        require_length(*by_row, n, "row_weights");
        weights.by_row = by_row->data();
    }
    if (by_entry) {
        require_shape(*by_entry, n, d, "entry_weights");
        weights.by_entry = by_entry->data();
    }
    return weights;
}

// Magic numbers of exact sums (2 d,) and of the loss (1,), and the collective that they pass.
class ExactArguments {
  public:
    ExactArguments(const std::optional<Vector<double>>& magic,
                   const std::optional<AllReduce>& reduce, int64_t d) {
        require(magic || !reduce, "only exact sums can be reduced: give magic numbers");
        if (!magic) return;
        require_length(*magic, 2 * d + 1, "magic");
        sums_.magic = magic->data();
        sums_.loss_magic = magic->data()[2 * d];
        if (reduce) sums_.reducer = &reducer_.emplace(*reduce);
    }
    const ExactSums& sums() const { return sums_; }

  private:
    ExactSums sums_;
    std::optional<CollectiveReducer> reducer_;
};

template <typename Body>
auto with_team(int n_threads, Body&& body) {
    require_threads(n_threads);
    return without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_threads, interrupt);
        return body(team);
    });
}

void bound_leaf_sums(const Matrix<float>& values, const OptionalRowWeights& row_weights,
                     const OptionalEntryWeights& entry_weights, const Vector<int32_t>& rows,
                     const Vector<int64_t>& leaf_offsets, OutMatrix<double> sums, int n_threads,
                     const std::optional<Vector<double>>& magic,
                     const std::optional<AllReduce>& reduce) {
    const int64_t n = length(values), d = values.shape(1);
    const ExactArguments exact(magic, reduce, d);
    LeafSumsTask task;
    task.n_outputs = d;
    task.values = values.data();
    task.weights = checked_weights(row_weights, entry_weights, n, d);
    task.leaves = checked_leaves(rows, leaf_offsets, n);
    require_shape(sums, task.leaves.n_leaves, d, "sums");
    task.sums = sums.data();
    task.exact = exact.sums();
    with_team(n_threads, [&](ThreadTeam& team) { leaf_sums(task, team); });
}

void bound_move_rows(OutMatrix<float> raw, const Vector<int32_t>& rows,
                     const Vector<int64_t>& leaf_offsets, const Matrix<float>& values,
                     int n_threads) {
    const int64_t d = raw.shape(1);
    MoveTask task;
    task.n_outputs = d;
    task.leaves = checked_leaves(rows, leaf_offsets, length(raw));
    require_shape(values, task.leaves.n_leaves, d, "values");
    task.values = values.data();
    task.raw = raw.data();
    with_team(n_threads, [&](ThreadTeam& team) { move_rows(task, team); });
}

MomentsTask moments_task(const Matrix<double>& values, const Vector<double>& shift) {
    MomentsTask task;
    task.values = values.data();
    task.n_rows = length(values);
    task.n_columns = static_cast<int64_t>(values.shape(1));
    require(task.n_columns >= 1, "values must have a column");
    require_length(shift, task.n_columns, "shift");
    task.shift = shift.data();
    return task;
}

void bound_largest_deviations(const Matrix<double>& values, const Vector<double>& shift,
                              OutVector<double> largest, int n_threads) {
    const MomentsTask task = moments_task(values, shift);
    require_length(largest, task.n_columns, "largest");
    with_team(n_threads,
              [&](ThreadTeam& team) { largest_deviations(task, largest.data(), team); });
}

void bound_sum_deviations(const Matrix<double>& values, const Vector<double>& shift,
                          const Matrix<double>& magic, OutMatrix<double> sums, int n_threads) {
    const MomentsTask task = moments_task(values, shift);
    require_shape(magic, 2, task.n_columns, "magic");
    require_shape(sums, 2, task.n_columns, "sums");
    with_team(n_threads,
              [&](ThreadTeam& team) { sum_deviations(task, magic.data(), sums.data(), team); });
}

double bound_squared_step(OutMatrix<float> residual, const OptionalRowWeights& row_weights,
                          const OptionalEntryWeights& entry_weights, const Vector<int32_t>& rows,
                          const Vector<int64_t>& leaf_offsets, double learning_rate,
                          double l2_regularization, OutMatrix<float> values, int n_threads,
                          const std::optional<Vector<double>>& magic,
                          const std::optional<AllReduce>& reduce) {
    const int64_t n = length(residual), d = residual.shape(1);
    const ExactArguments exact(magic, reduce, d);
    StepTask task;
    task.n_outputs = d;
    task.weights = checked_weights(row_weights, entry_weights, n, d);
    task.leaves = checked_leaves(rows, leaf_offsets, n);
    task.learning_rate = learning_rate;
    task.l2_regularization = l2_regularization;
    task.gradient = residual.data();
    require_shape(values, task.leaves.n_leaves, d, "values");
    task.values = values.data();
    task.exact = exact.sums();
    return with_team(n_threads, [&](ThreadTeam& team) { return squared_step(task, team); });
}

double bound_logistic_step(OutMatrix<float> raw, OutMatrix<float> gradient,
                           const Matrix<uint8_t>& labels, const OptionalRowWeights& row_weights,
                           const OptionalEntryWeights& entry_weights, const Vector<int32_t>& rows,
                           const Vector<int64_t>& leaf_offsets, double learning_rate,
                           double l2_regularization, float largest_move, OutMatrix<float> values,
                           int n_threads, const std::optional<Vector<double>>& magic,
                           const std::optional<AllReduce>& reduce) {
    const int64_t n = length(raw), d = raw.shape(1);
    const ExactArguments exact(magic, reduce, d);
    StepTask task;
    task.n_outputs = d;
    task.weights = checked_weights(row_weights, entry_weights, n, d);
    task.leaves = checked_leaves(rows, leaf_offsets, n);
    task.learning_rate = learning_rate;
    task.l2_regularization = l2_regularization;
    task.largest_move = largest_move;
    require_shape(gradient, n, d, "gradient");
    require_shape(labels, n, d, "labels");
    require_shape(values, task.leaves.n_leaves, d, "values");
    task.raw = raw.data();
    task.gradient = gradient.data();
    task.labels = labels.data();
    task.values = values.data();
    task.exact = exact.sums();
    return with_team(n_threads, [&](ThreadTeam& team) { return logistic_step(task, team); });
}

void bound_add_leaves(const Matrix<int32_t>& leaves, const Matrix<float>& values,
                      OutMatrix<float> raw, int n_threads) {
    AddLeavesTask task;
    task.n_rows = length(leaves);
    task.n_trees = static_cast<int64_t>(leaves.shape(1));
    task.n_outputs = static_cast<int64_t>(values.shape(1));
    for (int64_t i = 0; i < task.n_rows * task.n_trees; ++i)
        if (leaves.data()[i] < 0 || leaves.data()[i] >= length(values))
            throw std::invalid_argument("leaves must lie in [0, n_leaves)");
    require_shape(raw, task.n_rows, task.n_outputs, "raw");
    task.leaves = leaves.data();
    task.values = values.data();
    task.raw = raw.data();
    with_team(n_threads, [&](ThreadTeam& team) { add_leaves(task, team); });
}

void bound_project(const Matrix<float>& values, const Matrix<float>& matrix, OutMatrix<float> out,
                   int n_threads) {
    ProjectionTask task;
    task.values = values.data();
    task.n_rows = length(values);
    task.n_columns = static_cast<int64_t>(values.shape(1));
    require(length(matrix) == task.n_columns, "matrix must have a row for each column of values");
    task.matrix = matrix.data();
    task.n_out = static_cast<int64_t>(matrix.shape(1));
    require_shape(out, task.n_rows, task.n_out, "out");
    task.out = out.data();
    with_team(n_threads, [&](ThreadTeam& team) { project(task, team); });
}

}  // namespace

void bind_boosting(nb::module_& module) {
    module.def("largest_deviations", &bound_largest_deviations, nb::arg("values"),
               nb::arg("shift"), nb::arg("largest"), nb::arg("n_threads"),
               "The largest size of values - shift in every column.");
    module.def("sum_deviations", &bound_sum_deviations, nb::arg("values"), nb::arg("shift"),
               nb::arg("magic"), nb::arg("sums"), nb::arg("n_threads"),
               "Sums of values - shift and of its squares, rounded by magic numbers.");
    module.def("leaf_sums", &bound_leaf_sums, nb::arg("values"), nb::arg("row_weights"),
               nb::arg("entry_weights"), nb::arg("rows"), nb::arg("leaf_offsets"), nb::arg("sums"),
               nb::arg("n_threads"), nb::arg("magic") = nb::none(), nb::arg("reduce") = nb::none(),
               "Weighted sums of the rows of every leaf. magic: of exact sums (2 d + 1,), which "
               "may pass reduce(numbers, by).");
    module.def("project", &bound_project, nb::arg("values"), nb::arg("matrix"), nb::arg("out"),
               nb::arg("n_threads"), "values @ matrix, each row whatever the others.");
    module.def("move_rows", &bound_move_rows, nb::arg("raw"), nb::arg("rows"),
               nb::arg("leaf_offsets"), nb::arg("values"), nb::arg("n_threads"),
               "Add the value of its leaf to every row.");
    module.def("squared_step", &bound_squared_step, nb::arg("residual"), nb::arg("row_weights"),
               nb::arg("entry_weights"), nb::arg("rows"), nb::arg("leaf_offsets"),
               nb::arg("learning_rate"), nb::arg("l2_regularization"), nb::arg("values"),
               nb::arg("n_threads"), nb::arg("magic") = nb::none(), nb::arg("reduce") = nb::none(),
               "Take mean residuals off; returns the fall of half the sum of squares.");
    module.def("logistic_step", &bound_logistic_step, nb::arg("raw"), nb::arg("gradient"),
               nb::arg("labels"), nb::arg("row_weights"), nb::arg("entry_weights"),
               nb::arg("rows"), nb::arg("leaf_offsets"), nb::arg("learning_rate"),
               nb::arg("l2_regularization"), nb::arg("largest_move"), nb::arg("values"),
               nb::arg("n_threads"), nb::arg("magic") = nb::none(), nb::arg("reduce") = nb::none(),
               "One Newton step per leaf and output; returns the logistic loss after it.");
    module.def("add_leaves", &bound_add_leaves, nb::arg("leaves"), nb::arg("values"),
               nb::arg("raw"), nb::arg("n_threads"),
               "Add the values of every row's leaves, tree by tree.");
}

}  // namespace polyleaf::bindings
