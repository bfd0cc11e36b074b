// Predictions of leaves that hold training rows.
#include "bindings/common.hpp"
#include "predict/leaf_rows.hpp"

namespace polyleaf::bindings {

namespace {

// Leaves and sparse targets, checked once; holds on to the arrays that Python owns.
class LeafRows {
  public:
    LeafRows(Vector<int64_t> leaf_offsets, Vector<int32_t> leaf_rows, Vector<double> entry_weights,
             Vector<int64_t> target_indptr, Vector<int32_t> target_indices,
             Vector<double> target_data, int64_t n_outputs)
        : leaf_offsets_(leaf_offsets),
          leaf_rows_(leaf_rows),
          entry_weights_(entry_weights),
          target_indptr_(target_indptr),
          target_indices_(target_indices),
          target_data_(target_data) {
        require(length(leaf_offsets) >= 2, "there must be at least one leaf");
        require(length(target_indptr) >= 2, "there must be at least one training row");
        require(n_outputs >= 1 && n_outputs < INT32_MAX, "there must be at least one output");
        require_offsets(leaf_offsets, length(leaf_rows), "leaf_offsets");
        require_range(leaf_rows, 0, length(target_indptr) - 1, "leaf_rows");
        require_length(entry_weights, length(leaf_rows), "entry_weights");
        require_offsets(target_indptr, length(target_indices), "target_indptr");
        require_range(target_indices, 0, n_outputs, "target_indices");
        require_length(target_data, length(target_indices), "target_data");
        view_.n_leaves = length(leaf_offsets) - 1;
        view_.n_train = length(target_indptr) - 1;
        view_.n_outputs = n_outputs;
        view_.leaf_offsets = leaf_offsets.data();
        view_.leaf_rows = leaf_rows.data();
        view_.entry_weights = entry_weights.data();
        view_.target_indptr = target_indptr.data();
        view_.target_indices = target_indices.data();
        view_.target_data = target_data.data();
    }

    const LeafRowsView& view() const { return view_; }

  private:
    Vector<int64_t> leaf_offsets_;
    Vector<int32_t> leaf_rows_;
    Vector<double> entry_weights_;
    Vector<int64_t> target_indptr_;
    Vector<int32_t> target_indices_;
    Vector<double> target_data_;
    LeafRowsView view_;
};

QueryLeaves check_queries(const LeafRows& rows, const Matrix<int32_t>& leaves, int n_threads) {
    require_threads(n_threads);
    const int64_t n = length(leaves), n_trees = static_cast<int64_t>(leaves.shape(1));
    for (int64_t i = 0; i < n * n_trees; ++i) {
        const int32_t leaf = leaves.data()[i];
        if (leaf >= 0 && leaf < rows.view().n_leaves) continue;
        throw std::invalid_argument("leaves[" + std::to_string(i / n_trees) + ", " +
                                    std::to_string(i % n_trees) + "] = " + std::to_string(leaf) +
                                    " is not in [0, " + std::to_string(rows.view().n_leaves) +
                                    ")");
    }
    return {n, n_trees, leaves.data()};
}

template <typename T>
void predict_dense(const LeafRows& rows, const Matrix<int32_t>& leaves, OutMatrix<T> sums,
                   int n_threads) {
    const QueryLeaves queries = check_queries(rows, leaves, n_threads);
    require(length(sums) == queries.n_rows &&
                static_cast<int64_t>(sums.shape(1)) == rows.view().n_outputs,
            "sums must have shape (n_rows, n_outputs)");
    without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_threads, interrupt);
        predict_rows_dense(rows.view(), queries, sums.data(), team);
    });
}

void predict_topk(const LeafRows& rows, const Matrix<int32_t>& leaves, OutMatrix<int32_t> outputs,
                  OutMatrix<double> sums, int n_threads) {
    const QueryLeaves queries = check_queries(rows, leaves, n_threads);
    const int64_t k = static_cast<int64_t>(outputs.shape(1));
    require(length(outputs) == queries.n_rows && length(sums) == queries.n_rows &&
                static_cast<int64_t>(sums.shape(1)) == k,
            "outputs and sums must have shape (n_rows, k)");
    without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_threads, interrupt);
        predict_rows_topk(rows.view(), queries, k, outputs.data(), sums.data(), team);
    });
}

template <typename T>
void def_predict_dense(nb::module_& module) {
    module.def("predict_rows_dense", &predict_dense<T>, nb::arg("rows"), nb::arg("leaves"),
               nb::arg("sums"), nb::arg("n_threads"),
               "Sum the weighted outputs of the training rows in each query's leaves.");
}

}  // namespace

void bind_leaf_rows(nb::module_& module) {
    nb::class_<LeafRows>(module, "LeafRows",
                         "Training rows of leaves and their sparse outputs, checked once.")
        .def(nb::init<Vector<int64_t>, Vector<int32_t>, Vector<double>, Vector<int64_t>,
                      Vector<int32_t>, Vector<double>, int64_t>(),
             nb::arg("leaf_offsets"), nb::arg("leaf_rows"), nb::arg("entry_weights"),
             nb::arg("target_indptr"), nb::arg("target_indices"), nb::arg("target_data"),
             nb::arg("n_outputs"));
    def_predict_dense<float>(module);
    def_predict_dense<double>(module);
    module.def("predict_rows_topk", &predict_topk, nb::arg("rows"), nb::arg("leaves"),
               nb::arg("outputs"), nb::arg("sums"), nb::arg("n_threads"),
               "The outputs with the largest positive sums, without a dense row of outputs.");
}

}  // namespace polyleaf::bindings
