// Partial dependence of trees.
#include "bindings/common.hpp"
#include "bindings/leaf_averages.hpp"
#include "bindings/tree_arrays.hpp"
#include "explain/dependence.hpp"

namespace polyleaf::bindings {

namespace {

// Keeps the arrays that the trees read.
class BoundDependenceTrees {
  public:
    explicit BoundDependenceTrees(TreeArguments arguments)
        : arguments_(std::move(arguments)), trees_(arguments_.view()) {}

    const DependenceTrees& trees() const { return trees_; }

  private:
    TreeArguments arguments_;
    DependenceTrees trees_;
};

// A grid is one or two features with their values, those of the first before the second's.
template <typename T>
DependenceTrees::Task<T> make_task(const DependenceTrees& trees, const Vector<int32_t>& features,
                                   const Vector<int64_t>& offsets, const Vector<double>& grid,
                                   int64_t first, int64_t last) {
    require(0 <= first && first < last && last <= trees.n_trees(), "no such trees");
    const int64_t n_axes = length(features);
    require(n_axes == 1 || n_axes == 2, "a grid has one or two features");
    require_range(features, 0, trees.n_features(), "features");
    require(n_axes == 1 || features.data()[0] != features.data()[1], "features must differ");
    require_length(offsets, n_axes + 1, "offsets");
    require_offsets(offsets, length(grid), "offsets");
    require(length(grid) < (int64_t{1} << 30), "the grid is too large");
    DependenceTrees::Task<T> task;
    task.first = first;
    task.last = last;
    for (int64_t a = 0; a < n_axes; ++a) {
        GridAxis& axis = task.axes[a];
        axis.feature = features.data()[a];
        axis.values = grid.data() + offsets.data()[a];
        axis.n_values = offsets.data()[a + 1] - offsets.data()[a];
        require(axis.n_values > 0, "every feature must have a value");
    }
    return task;
}

template <typename T>
int64_t n_cells(const DependenceTrees::Task<T>& task) {
    return task.axes[0].n_values * task.axes[1].n_values;
}

template <typename T>
void set_values(DependenceTrees::Task<T>& task, const DependenceTrees& trees,
                const Matrix<double>& values) {
    require_length(values, trees.n_leaves(task.first, task.last), "values");
    task.values = values.data();
    task.n_columns = static_cast<int64_t>(values.shape(1));
}

template <typename T>
void count_rows(const BoundDependenceTrees& self, const Vector<int32_t>& features,
                const Vector<int64_t>& offsets, const Vector<double>& grid, int64_t first,
                int64_t last, const Matrix<T>& X, const Matrix<T>& columns,
                const std::optional<Vector<double>>& weights, OutVector<double> leaf_weights,
                int n_threads) {
    const DependenceTrees& trees = self.trees();
    require_threads(n_threads);
    auto task = make_task<T>(trees, features, offsets, grid, first, last);
    require(static_cast<int64_t>(X.shape(1)) == trees.n_features(), "X must have all features");
    task.n_rows = length(X);
    require(task.n_rows < INT32_MAX, "there are too many rows");
    require(length(columns) == trees.n_features() &&
                static_cast<int64_t>(columns.shape(1)) == task.n_rows,
            "columns must be X the other way round");
    task.X = X.data();
    task.columns = columns.data();
    if (weights) require_length(*weights, task.n_rows, "weights");
    require_length(leaf_weights, trees.n_leaves(first, last), "leaf_weights");
    without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_threads, interrupt);
        trees.count_rows(task, weights ? weights->data() : nullptr, leaf_weights.data(), team);
    });
}

void add_leaves(const BoundDependenceTrees& self, const Vector<int32_t>& features,
                const Vector<int64_t>& offsets, const Vector<double>& grid, int64_t first,
                int64_t last, const Vector<double>& leaf_weights, const Matrix<double>& values,
                OutMatrix<double> differences, int n_threads) {
    const DependenceTrees& trees = self.trees();
    require_threads(n_threads);
    auto task = make_task<double>(trees, features, offsets, grid, first, last);
    set_values(task, trees, values);
    require_length(leaf_weights, trees.n_leaves(first, last), "leaf_weights");
    require_length(differences, n_cells(task), "differences");
    require(static_cast<int64_t>(differences.shape(1)) == task.n_columns,
            "differences must have the columns of values");
    without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_threads, interrupt);
        trees.add_leaves(task, leaf_weights.data(), differences.data(), team);
    });
}

void add_leaf_rows(const BoundDependenceTrees& self, const Vector<int32_t>& features,
                   const Vector<int64_t>& offsets, const Vector<double>& grid,
                   const Vector<double>& leaf_weights, const BoundLeafAverages& leaves,
                   const std::optional<Matrix<double>>& tree_weights,
                   OutMatrix<double> differences, int n_threads) {
    const DependenceTrees& trees = self.trees();
    require_threads(n_threads);
    const auto task = make_task<double>(trees, features, offsets, grid, 0, trees.n_trees());
    const int64_t n_leaves = trees.n_leaves(0, trees.n_trees());
    require_length(leaf_weights, n_leaves, "leaf_weights");
    require(leaves.n_leaves() >= n_leaves, "there must be rows for every leaf");
    require_length(differences, n_cells(task), "differences");
    require(static_cast<int64_t>(differences.shape(1)) == leaves.averages().n_channels,
            "differences must have the columns of values");
    if (tree_weights)
        require(length(*tree_weights) == trees.n_trees() &&
                    static_cast<int64_t>(tree_weights->shape(1)) == leaves.averages().n_channels,
                "tree_weights must have shape (n_trees, n_channels)");
    const double* const of_trees = tree_weights ? tree_weights->data() : nullptr;
    without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_threads, interrupt);
        trees.add_leaf_rows(task, leaf_weights.data(), leaves.averages(), of_trees,
                            differences.data(), team);
    });
}

template <typename T>
void add_rows(const BoundDependenceTrees& self, const Vector<int32_t>& features,
              const Vector<int64_t>& offsets, const Vector<double>& grid, int64_t first,
              int64_t last, const Matrix<T>& X, const Matrix<double>& values,
              OutCube<double> differences, int n_threads) {
    const DependenceTrees& trees = self.trees();
    require_threads(n_threads);
    auto task = make_task<T>(trees, features, offsets, grid, first, last);
    set_values(task, trees, values);
    require(static_cast<int64_t>(X.shape(1)) == trees.n_features(), "X must have all features");
    task.X = X.data();
    task.n_rows = length(X);
    require(length(differences) == task.n_rows &&
                static_cast<int64_t>(differences.shape(1)) == n_cells(task) &&
                static_cast<int64_t>(differences.shape(2)) == task.n_columns,
            "differences must have shape (n_rows, n_cells, n_columns)");
    without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_threads, interrupt);
        trees.add_rows(task, differences.data(), team);
    });
}

template <typename T>
void def_rows(nb::class_<BoundDependenceTrees>& cls) {
    cls.def("count_rows", &count_rows<T>, nb::arg("features"), nb::arg("offsets"), nb::arg("grid"),
            nb::arg("first"), nb::arg("last"), nb::arg("X"), nb::arg("columns"),
            nb::arg("weights").none(), nb::arg("leaf_weights"), nb::arg("n_threads"),
            "Counts the rows that reach each leaf; see dependence.hpp.");
    cls.def("add_rows", &add_rows<T>, nb::arg("features"), nb::arg("offsets"), nb::arg("grid"),
            nb::arg("first"), nb::arg("last"), nb::arg("X"), nb::arg("values"),
            nb::arg("differences"), nb::arg("n_threads"),
            "Adds every row's own dependence; see dependence.hpp.");
}

}  // namespace

void bind_dependence(nb::module_& module) {
    nb::class_<BoundDependenceTrees> cls(module, "DependenceTrees",
                                         "Trees on a grid of features; see dependence.hpp.");
    cls.def(
        nb::new_([](Vector<int32_t> n_categories, Vector<int64_t> tree_offsets,
                    Vector<int32_t> feature, Vector<double> threshold, Vector<int32_t> right,
                    Vector<uint8_t> missing_left, Vector<int64_t> category_offset,
                    Vector<uint32_t> category_words) {
            return new BoundDependenceTrees({n_categories, tree_offsets, feature, threshold, right,
                                             missing_left, category_offset, category_words});
        }),
        nb::arg("n_categories"), nb::arg("tree_offsets"), nb::arg("feature"), nb::arg("threshold"),
        nb::arg("right"), nb::arg("missing_left"), nb::arg("category_offset"),
        nb::arg("category_words"));
    def_rows<float>(cls);
    def_rows<double>(cls);
    cls.def("add_leaves", &add_leaves, nb::arg("features"), nb::arg("offsets"), nb::arg("grid"),
            nb::arg("first"), nb::arg("last"), nb::arg("leaf_weights"), nb::arg("values"),
            nb::arg("differences"), nb::arg("n_threads"),
            "Adds the values of leaves by the rows that reach them; see dependence.hpp.");
    cls.def("add_leaf_rows", &add_leaf_rows, nb::arg("features"), nb::arg("offsets"),
            nb::arg("grid"), nb::arg("leaf_weights"), nb::arg("leaves"),
            nb::arg("tree_weights").none(), nb::arg("differences"), nb::arg("n_threads"),
            "The same for all trees, and leaves that hold rows.");
}

}  // namespace polyleaf::bindings
