// Prediction: rows to leaves.
#include <algorithm>

#include "bindings/common.hpp"
#include "bindings/leaf_averages.hpp"
#include "bindings/tree_arrays.hpp"
#include "predict/predictor.hpp"

namespace polyleaf::bindings {

namespace {

Predictor* make_predictor(const Vector<int32_t>& n_categories, const Vector<int64_t>& tree_offsets,
                          const Vector<int32_t>& feature, const Vector<double>& threshold,
                          const Vector<int32_t>& right, const Vector<uint8_t>& missing_left,
                          const Vector<int64_t>& category_offset,
                          const Vector<uint32_t>& category_words) {
    const TreeArguments arguments{n_categories, tree_offsets, feature,         threshold,
                                  right,        missing_left, category_offset, category_words};
    return new Predictor(arguments.view());
}

// A thread costs more than it brings for fewer descents than these.
constexpr int64_t kDescentsPerThread = 20000;

int useful_threads(int n_threads, int64_t n_rows, int64_t n_trees) {
    require_threads(n_threads);
    return static_cast<int>(
        std::min<int64_t>(n_threads, 1 + n_rows * n_trees / kDescentsPerThread));
}

template <typename T>
RowsView<T> dense_rows(const Predictor& predictor, const Matrix<T>& X) {
    require(static_cast<int64_t>(X.shape(1)) == predictor.n_features(),
            "X has " + std::to_string(X.shape(1)) + " features, the model " +
                std::to_string(predictor.n_features()));
    RowsView<T> rows;
    rows.n_rows = length(X);
    rows.values = X.data();
    return rows;
}

template <typename T>
RowsView<T> csr_rows(const Predictor& predictor, const Vector<int64_t>& indptr,
                     const Vector<int32_t>& indices, const Vector<T>& data) {
    require_offsets(indptr, length(indices), "indptr");
    require_length(data, length(indices), "data");
    require_range(indices, 0, predictor.n_features(), "indices");
    RowsView<T> rows;
    rows.n_rows = length(indptr) - 1;
    rows.values = data.data();
    rows.indptr = indptr.data();
    rows.indices = indices.data();
    return rows;
}

template <typename T, typename Body>
void with_team(const Predictor& predictor, const RowsView<T>& rows, int n_threads, Body&& body) {
    const int n_useful = useful_threads(n_threads, rows.n_rows, predictor.n_trees());
    without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_useful, interrupt);
        body(team);
    });
}

template <typename T>
void apply(const Predictor& predictor, const RowsView<T>& rows, OutMatrix<int32_t>& nodes,
           bool over_all, int n_threads) {
    require(length(nodes) == rows.n_rows &&
                static_cast<int64_t>(nodes.shape(1)) == predictor.n_trees(),
            "nodes must have shape (n_rows, n_trees)");
    int32_t* const out = nodes.data();
    with_team(predictor, rows, n_threads, [&](ThreadTeam& team) {
        if (over_all)
            predictor.find_leaves(rows, out, team);
        else
            predictor.apply(rows, out, team);
    });
}

template <typename T>
void add(const Predictor& predictor, const RowsView<T>& rows, const Matrix<float>& values,
         const std::optional<Vector<int32_t>>& channels, OutMatrix<float>& raw, int n_threads) {
    LeafValues leaves;
    leaves.n_columns = static_cast<int64_t>(values.shape(1));
    leaves.n_channels = static_cast<int64_t>(raw.shape(1));
    require(length(raw) == rows.n_rows, "raw must have a row for each of X");
    require(length(values) == predictor.n_leaves(), "values must have a row for each leaf");
    require(leaves.n_columns == (channels ? 1 : leaves.n_channels),
            "values must have the columns of raw, or one where trees have channels");
    if (channels) {
        require_length(*channels, predictor.n_trees(), "channels");
        require_range(*channels, 0, leaves.n_channels, "channels");
        leaves.channels = channels->data();
    }
    leaves.values = values.data();
    leaves.raw = raw.data();
    with_team(predictor, rows, n_threads,
              [&](ThreadTeam& team) { predictor.add(rows, leaves, team); });
}

template <typename T>
void average(const Predictor& predictor, const RowsView<T>& rows, const BoundLeafAverages& leaves,
             const std::optional<Matrix<double>>& tree_weights, OutMatrix<double>& averages,
             int n_threads) {
    const int64_t width = leaves.averages().n_channels;
    require(leaves.n_leaves() >= predictor.n_leaves(), "there must be rows for every leaf");
    require(length(averages) == rows.n_rows && static_cast<int64_t>(averages.shape(1)) == width,
            "averages must have shape (n_rows, n_channels)");
    if (tree_weights)
        require(length(*tree_weights) == predictor.n_trees() &&
                    static_cast<int64_t>(tree_weights->shape(1)) == width,
                "tree_weights must have shape (n_trees, n_channels)");
    const double* const weights = tree_weights ? tree_weights->data() : nullptr;
    double* const out = averages.data();
    with_team(predictor, rows, n_threads, [&](ThreadTeam& team) {
        predictor.average(rows, leaves.averages(), weights, out, team);
    });
}

template <typename T>
void def_average(nb::class_<Predictor>& cls) {
    cls.def(
        "average_dense",
        [](const Predictor& self, const Matrix<T>& X, const BoundLeafAverages& leaves,
           const std::optional<Matrix<double>>& tree_weights, OutMatrix<double> averages,
           int n_threads) {
            average(self, dense_rows(self, X), leaves, tree_weights, averages, n_threads);
        },
        nb::arg("X"), nb::arg("leaves"), nb::arg("tree_weights").none(), nb::arg("averages"),
        nb::arg("n_threads"),
        "Add the means of every row's leaves to averages, tree after tree; divide by the number "
        "of trees if they have no weights.");
    cls.def(
        "average_csr",
        [](const Predictor& self, const Vector<int64_t>& indptr, const Vector<int32_t>& indices,
           const Vector<T>& data, const BoundLeafAverages& leaves,
           const std::optional<Matrix<double>>& tree_weights, OutMatrix<double> averages,
           int n_threads) {
            average(self, csr_rows(self, indptr, indices, data), leaves, tree_weights, averages,
                    n_threads);
        },
        nb::arg("indptr"), nb::arg("indices"), nb::arg("data"), nb::arg("leaves"),
        nb::arg("tree_weights").none(), nb::arg("averages"), nb::arg("n_threads"),
        "The same for CSR rows, absent entries 0.");
}

template <typename T>
void def_apply(nb::class_<Predictor>& cls) {
    cls.def(
        "apply_dense",
        [](const Predictor& self, const Matrix<T>& X, OutMatrix<int32_t> nodes, int n_threads,
           bool over_all) { apply(self, dense_rows(self, X), nodes, over_all, n_threads); },
        nb::arg("X"), nb::arg("nodes"), nb::arg("n_threads"), nb::arg("over_all") = false,
        "Leaf of every row in every tree; X is (n, p). A node of the tree, or, if over_all, its "
        "number among the leaves of all trees.");
    cls.def(
        "apply_csr",
        [](const Predictor& self, const Vector<int64_t>& indptr, const Vector<int32_t>& indices,
           const Vector<T>& data, OutMatrix<int32_t> nodes, int n_threads, bool over_all) {
            apply(self, csr_rows(self, indptr, indices, data), nodes, over_all, n_threads);
        },
        nb::arg("indptr"), nb::arg("indices"), nb::arg("data"), nb::arg("nodes"),
        nb::arg("n_threads"), nb::arg("over_all") = false,
        "Leaf of every row in every tree; rows are CSR, absent entries 0.");
    cls.def(
        "add_dense",
        [](const Predictor& self, const Matrix<T>& X, const Matrix<float>& values,
           const std::optional<Vector<int32_t>>& channels, OutMatrix<float> raw,
           int n_threads) { add(self, dense_rows(self, X), values, channels, raw, n_threads); },
        nb::arg("X"), nb::arg("values"), nb::arg("channels"), nb::arg("raw"), nb::arg("n_threads"),
        "Add the values of every row's leaves to raw, tree after tree.");
    cls.def(
        "add_csr",
        [](const Predictor& self, const Vector<int64_t>& indptr, const Vector<int32_t>& indices,
           const Vector<T>& data, const Matrix<float>& values,
           const std::optional<Vector<int32_t>>& channels, OutMatrix<float> raw, int n_threads) {
            add(self, csr_rows(self, indptr, indices, data), values, channels, raw, n_threads);
        },
        nb::arg("indptr"), nb::arg("indices"), nb::arg("data"), nb::arg("values"),
        nb::arg("channels"), nb::arg("raw"), nb::arg("n_threads"),
        "The same for CSR rows, absent entries 0.");
}

}  // namespace

void bind_predictor(nb::module_& module) {
    nb::class_<BoundLeafAverages>(module, "LeafAverages",
                                  "Checked leaves with their training rows.")
        .def(nb::init<Vector<int64_t>, Vector<int32_t>, Vector<double>, Matrix<double>>(),
             nb::arg("leaf_offsets"), nb::arg("leaf_rows"), nb::arg("shares"), nb::arg("values"));
    nb::class_<Predictor> cls(module, "Predictor",
                              "Checked trees, ready to send rows down; see predictor.hpp.");
    cls.def(nb::new_(&make_predictor), nb::arg("n_categories"), nb::arg("tree_offsets"),
            nb::arg("feature"), nb::arg("threshold"), nb::arg("right"), nb::arg("missing_left"),
            nb::arg("category_offset"), nb::arg("category_words"));
    def_apply<float>(cls);
    def_apply<double>(cls);
    def_average<float>(cls);
    def_average<double>(cls);
}

}  // namespace polyleaf::bindings
