// Prediction: rows to leaves.
#include "bindings/common.hpp"
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

template <typename T>
void apply(const Predictor& predictor, const RowsView<T>& rows, OutMatrix<int32_t>& nodes,
           int n_threads) {
    require_threads(n_threads);
    require(length(nodes) == rows.n_rows &&
                static_cast<int64_t>(nodes.shape(1)) == predictor.n_trees(),
            "nodes must have shape (n_rows, n_trees)");
    without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_threads, interrupt);
        predictor.apply(rows, nodes.data(), team);
    });
}

template <typename T>
void apply_dense(const Predictor& predictor, const Matrix<T>& X, OutMatrix<int32_t> nodes,
                 int n_threads) {
    require(static_cast<int64_t>(X.shape(1)) == predictor.n_features(),
            "X has " + std::to_string(X.shape(1)) + " features, the model " +
                std::to_string(predictor.n_features()));
    RowsView<T> rows;
    rows.n_rows = length(X);
    rows.values = X.data();
    apply(predictor, rows, nodes, n_threads);
}

template <typename T>
void apply_csr(const Predictor& predictor, const Vector<int64_t>& indptr,
               const Vector<int32_t>& indices, const Vector<T>& data, OutMatrix<int32_t> nodes,
               int n_threads) {
    require_offsets(indptr, length(indices), "indptr");
    require_length(data, length(indices), "data");
    require_range(indices, 0, predictor.n_features(), "indices");
    RowsView<T> rows;
    rows.n_rows = length(indptr) - 1;
    rows.values = data.data();
    rows.indptr = indptr.data();
    rows.indices = indices.data();
    apply(predictor, rows, nodes, n_threads);
}

template <typename T>
void def_apply(nb::class_<Predictor>& cls) {
    cls.def("apply_dense", &apply_dense<T>, nb::arg("X"), nb::arg("nodes"), nb::arg("n_threads"),
            "Leaf of every row in every tree; X is (n, p).");
    cls.def("apply_csr", &apply_csr<T>, nb::arg("indptr"), nb::arg("indices"), nb::arg("data"),
            nb::arg("nodes"), nb::arg("n_threads"),
            "Leaf of every row in every tree; rows are CSR, absent entries 0.");
}

}  // namespace

void bind_predictor(nb::module_& module) {
    nb::class_<Predictor> cls(module, "Predictor",
                              "Checked trees, ready to send rows down; see predictor.hpp.");
    cls.def(nb::new_(&make_predictor), nb::arg("n_categories"), nb::arg("tree_offsets"),
            nb::arg("feature"), nb::arg("threshold"), nb::arg("right"), nb::arg("missing_left"),
            nb::arg("category_offset"), nb::arg("category_words"));
    def_apply<float>(cls);
    def_apply<double>(cls);
}

}  // namespace polyleaf::bindings
