// Max-margin labelling of graphs: inference and steps of training.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings/common.hpp"
#include "graphs/inference.hpp"
#include "graphs/label_graph.hpp"
#include "graphs/margin_block.hpp"

namespace polyleaf::bindings {

namespace {

LabelGraph* make_graph(const Vector<int32_t>& n_states, const Matrix<int32_t>& edges) {
    require(length(edges) == 0 || edges.shape(1) == 2, "edges must have shape (n_edges, 2)");
    require(length(n_states) < INT32_MAX && length(edges) < INT32_MAX, "the graph is too large");
    return new LabelGraph(n_states.data(), length(n_states), edges.data(), length(edges));
}

template <typename T>
void require_shape(const T& array, int64_t n_rows, int64_t n_columns, const char* name) {
    require(length(array) == n_rows && static_cast<int64_t>(array.shape(1)) == n_columns,
            std::string(name) + " must have shape (" + std::to_string(n_rows) + ", " +
                std::to_string(n_columns) + ")");
}

void require_labels(const LabelGraph& graph, const int32_t* label, int64_t n_rows) {
    for (int64_t i = 0; i < n_rows; ++i)
        for (int32_t n_states : graph.n_states) {
            if (*label < 0 || *label >= n_states)
                throw std::invalid_argument("labels must lie below n_states");
            ++label;
        }
}

void infer(const LabelGraph& graph, const Matrix<double>& potentials, OutMatrix<int32_t> labels,
           OutMatrix<double> max_marginals, OutVector<double> scores, OutVector<double> bounds,
           int64_t max_sweeps, const std::string& way, int n_threads) {
    const int64_t n_rows = length(potentials);
    require_threads(n_threads);
    require_shape(potentials, n_rows, graph.n_parameters(), "potentials");
    require_shape(labels, n_rows, graph.n_nodes(), "labels");
    require_shape(max_marginals, n_rows, graph.n_node_parameters(), "max_marginals");
    require_length(scores, n_rows, "scores");
    require_length(bounds, n_rows, "bounds");
    require(way == "solve" || way == "improve" || way == "loopy", "there is no such way");
    if (way == "improve") require_labels(graph, labels.data(), n_rows);
    const LabelWay chosen = way == "solve"     ? LabelWay::kSolve
                            : way == "improve" ? LabelWay::kImprove
                                               : LabelWay::kLoopy;
    const LabelledRows rows{labels.data(), max_marginals.data(), scores.data(), bounds.data()};
    without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_threads, interrupt);
        infer_rows(graph, potentials.data(), n_rows, max_sweeps, chosen, rows, team);
    });
}

std::tuple<double, double, double, double> visit(
    const LabelGraph& graph, double edge_cost, const Vector<double>& node_cost,
    const Matrix<int32_t>& labels, const Vector<double>& mass,
    const std::optional<Matrix<double>>& label_cost, const Matrix<double>& gram,
    OutMatrix<double> scores, OutMatrix<double> coefficients, int max_steps, double enough_gap,
    double gap_share, int64_t max_sweeps) {
    MarginBlock block;
    block.n_rows = length(labels);
    require_length(node_cost, graph.n_nodes(), "node_cost");
    require_length(mass, block.n_rows, "mass");
    require_shape(labels, block.n_rows, graph.n_nodes(), "labels");
    require_shape(gram, block.n_rows, block.n_rows, "gram");
    require_shape(scores, block.n_rows, graph.n_parameters(), "scores");
    require_shape(coefficients, block.n_rows, graph.n_parameters(), "coefficients");
    if (label_cost) require_shape(*label_cost, block.n_rows, graph.n_nodes(), "label_cost");
    require_labels(graph, labels.data(), block.n_rows);
    block.labels = labels.data();
    block.mass = mass.data();
    block.label_cost = label_cost ? label_cost->data() : nullptr;
    block.gram = gram.data();
    block.scores = scores.data();
    block.coefficients = coefficients.data();
    const MarginLoss loss{edge_cost, node_cost.data()};
    const StepRule rule{max_steps, enough_gap, gap_share, max_sweeps};
    const MarginSums sums = without_gil(
        [&](Interrupt& interrupt) { return visit_block(graph, loss, block, rule, interrupt); });
    return {sums.slack, sums.loss, sums.quadratic, sums.ascent};
}

}  // namespace

void bind_graph(nb::module_& module) {
    nb::class_<LabelGraph>(module, "LabelGraph", "A graph over labels; see label_graph.hpp.")
        .def(nb::new_(&make_graph), nb::arg("n_states"), nb::arg("edges"))
        .def_prop_ro("is_forest", [](const LabelGraph& graph) { return graph.is_forest; })
        .def_prop_ro("is_exact", [](const LabelGraph& graph) { return is_exact(graph); })
        .def_prop_ro("n_parameters", &LabelGraph::n_parameters)
        .def_prop_ro("n_node_parameters", &LabelGraph::n_node_parameters)
        .def("diameter", &LabelGraph::diameter)
        .def("infer", &infer, nb::arg("potentials"), nb::arg("labels"), nb::arg("max_marginals"),
             nb::arg("scores"), nb::arg("bounds"), nb::arg("max_sweeps"), nb::arg("way"),
             nb::arg("n_threads"),
             "Best labelling, max-marginals, score and bound of every row; see inference.hpp.")
        .def("visit_block", &visit, nb::arg("edge_cost"), nb::arg("node_cost"), nb::arg("labels"),
             nb::arg("mass"), nb::arg("label_cost"), nb::arg("gram"), nb::arg("scores"),
             nb::arg("coefficients"), nb::arg("max_steps"), nb::arg("enough_gap"),
             nb::arg("gap_share"), nb::arg("max_sweeps"),
             "Steps for a block of examples: slack, loss, quadratic term and ascent; see "
             "margin_block.hpp.");
}

}  // namespace polyleaf::bindings
