// Explanations: Shapley values of trees.
#include "bindings/common.hpp"
#include "bindings/tree_arrays.hpp"
#include "explain/shap.hpp"

namespace polyleaf::bindings {

namespace {

// Keeps the arrays that the trees read.
class BoundShapTrees {
  public:
    BoundShapTrees(TreeArguments arguments, Vector<double> node_rows)
        : arguments_(std::move(arguments)),
          node_rows_(std::move(node_rows)),
          trees_(checked(arguments_, node_rows_), node_rows_.data()) {}

    const ShapTrees& trees() const { return trees_; }

  private:
    static TreeArrays checked(const TreeArguments& arguments, const Vector<double>& node_rows) {
        const TreeArrays arrays = arguments.view();
        const Predictor predictor(arrays);  // throws unless the nodes form trees
        require_length(node_rows, arrays.n_nodes, "node_rows");
        const double* rows = node_rows.data();
        for (int64_t node = 0; node < arrays.n_nodes; ++node) {
            require(rows[node] >= 0.0 && rows[node] <= 1e18, "node_rows must be counts of rows");
            require(arrays.feature[node] < 0 || rows[node] > 0.0, "a split node must have rows");
        }
        return arrays;
    }
    TreeArguments arguments_;
    Vector<double> node_rows_;
    ShapTrees trees_;
};

template <typename T>
void add_shap_values(const BoundShapTrees& self, const Matrix<T>& X,
                     const std::optional<Matrix<T>>& background, const Matrix<float>& values,
                     const std::optional<Matrix<int32_t>>& chosen,
                     const std::optional<Matrix<int32_t>>& pairs, int64_t first, int64_t last,
                     OutCube<float> contributions, int64_t column, int n_threads) {
    const ShapTrees& trees = self.trees();
    require_threads(n_threads);
    require(0 <= first && first < last && last <= trees.n_trees(), "no such trees");
    const int64_t n_features = trees.n_features();
    ShapTrees::Task<T> task;
    task.first = first;
    task.last = last;
    task.n_rows = length(X);
    task.rows = X.data();
    require(static_cast<int64_t>(X.shape(1)) == n_features, "X must have all features");
    require_length(values, trees.n_leaves(first, last), "values");
    task.values = values.data();
    task.n_values = task.n_columns = static_cast<int64_t>(values.shape(1));
    if (background) {
        require(
            static_cast<int64_t>(background->shape(1)) == n_features && length(*background) > 0,
            "background must have rows, and all features");
        task.background = background->data();
        task.n_background = length(*background);
    }
    if (chosen) {
        require_length(*chosen, task.n_rows, "chosen");
        task.chosen = chosen->data();
        task.n_columns = static_cast<int64_t>(chosen->shape(1));
        require(are_in_range(task.chosen, task.n_rows * task.n_columns, 0, task.n_values),
                "chosen must be columns of values");
    }
    if (pairs) {
        require(pairs->shape(1) == 2, "pairs must have two columns");
        require(!background, "pairs are explained without background rows");
        task.pairs = pairs->data();
        task.n_pairs = length(*pairs);
        require(are_in_range(task.pairs, 2 * task.n_pairs, 0, n_features), "no such features");
    }
    task.stride = static_cast<int64_t>(contributions.shape(2));
    task.column = column;
    require(
        length(contributions) == task.n_rows &&
            static_cast<int64_t>(contributions.shape(1)) == (pairs ? task.n_pairs : n_features) &&
            column >= 0 && column + task.n_columns <= task.stride,
        "contributions must have shape (n_rows, n_features, n_columns)");
    task.contributions = contributions.data();
    without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_threads, interrupt);
        trees.add(task, team);
    });
}

template <typename T>
void def_add(nb::class_<BoundShapTrees>& cls) {
    cls.def("add", &add_shap_values<T>, nb::arg("X"), nb::arg("background").none(),
            nb::arg("values"), nb::arg("chosen").none(), nb::arg("pairs").none(), nb::arg("first"),
            nb::arg("last"), nb::arg("contributions"), nb::arg("column"), nb::arg("n_threads"),
            "Adds the Shapley values of some trees; see shap.hpp.");
}

}  // namespace

void bind_explain(nb::module_& module) {
    nb::class_<BoundShapTrees> cls(module, "ShapTrees",
                                   "Trees with the training rows of their nodes; see shap.hpp.");
    cls.def(nb::new_([](Vector<int32_t> n_categories, Vector<int64_t> tree_offsets,
                        Vector<int32_t> feature, Vector<double> threshold, Vector<int32_t> right,
                        Vector<uint8_t> missing_left, Vector<int64_t> category_offset,
                        Vector<uint32_t> category_words, Vector<double> node_rows) {
                return new BoundShapTrees({n_categories, tree_offsets, feature, threshold, right,
                                           missing_left, category_offset, category_words},
                                          node_rows);
            }),
            nb::arg("n_categories"), nb::arg("tree_offsets"), nb::arg("feature"),
            nb::arg("threshold"), nb::arg("right"), nb::arg("missing_left"),
            nb::arg("category_offset"), nb::arg("category_words"), nb::arg("node_rows"));
    def_add<float>(cls);
    def_add<double>(cls);
}

}  // namespace polyleaf::bindings
