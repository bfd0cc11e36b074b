// The plan of a tree's search, and its table.
#include <nanobind/stl/string.h>

#include "bindings/common.hpp"
#include "grow/plan.hpp"

namespace polyleaf::bindings {

namespace {

using Texts = nb::typed<nb::dict, nb::str, nb::str>;
using Rule = nb::typed<nb::tuple, nb::typed<nb::tuple, nb::str, nb::ellipsis>, nb::str, nb::str,
                       nb::str, nb::str>;

// Name to description.
template <size_t N>
Texts texts_of(const Described (&described)[N]) {
    nb::dict texts;
    for (const Described& entry : described) texts[entry.name] = entry.text;
    return nb::cast<Texts>(texts);
}

template <size_t N>
int number_of(const std::string& name, const Described (&described)[N], const char* what) {
    std::string known;
    for (size_t i = 0; i < N; ++i) {
        if (name == described[i].name) return static_cast<int>(i);
        known += (i == 0 ? "" : ", ") + std::string(described[i].name);
    }
    throw std::invalid_argument(std::string(what) + " must be one of " + known + "; got " + name);
}

nb::typed<nb::list, Rule> rules() {
    nb::list rules;
    for (int i = 0; i < n_plan_rules; ++i) {
        const PlanRule& rule = plan_rules[i];
        nb::list nodes;
        for (int kind = 0; kind < kNodeKinds; ++kind)
            if (rule.nodes >> kind & 1) nodes.append(node_kind_names[kind].name);
        rules.append(nb::make_tuple(nb::tuple(nodes),
                                    feature_kind_names[static_cast<int>(rule.feature)].name,
                                    when_names[static_cast<int>(rule.when)].name,
                                    limit_names[static_cast<int>(rule.limit)].name,
                                    finder_names[static_cast<int>(rule.finder)].name));
    }
    return nb::cast<nb::typed<nb::list, Rule>>(rules);
}

std::optional<std::string> finder(const SearchPlan& plan, const std::string& node,
                                  const std::string& feature, const NodeQuestion& question) {
    const auto kind = static_cast<NodeKind>(number_of(node, node_kind_names, "node"));
    const auto of = static_cast<FeatureKind>(number_of(feature, feature_kind_names, "feature"));
    if (!plan.serves(kind, of)) return std::nullopt;
    return finder_names[static_cast<int>(plan.finder(kind, of, question))].name;
}

nb::typed<nb::dict, nb::str, bool> conditions(const SearchPlan& plan) {
    nb::dict result;
    for (int i = 0; i < kWhens; ++i) result[when_names[i].name] = plan.holds(static_cast<When>(i));
    return nb::cast<nb::typed<nb::dict, nb::str, bool>>(result);
}

}  // namespace

void bind_plan(nb::module_& module) {
    nb::class_<TreeFacts>(module, "TreeFacts", "What the plan of a tree is made from.")
        .def(nb::init<>())
        .def_rw("n_rows", &TreeFacts::n_rows)
        .def_rw("n_features", &TreeFacts::n_features)
        .def_rw("n_dense_numeric", &TreeFacts::n_dense_numeric)
        .def_rw("n_dense_category", &TreeFacts::n_dense_category)
        .def_rw("n_sparse", &TreeFacts::n_sparse)
        .def_rw("has_byte_codes", &TreeFacts::has_byte_codes)
        .def_rw("has_wide_codes", &TreeFacts::has_wide_codes)
        .def_rw("has_categories", &TreeFacts::has_categories)
        .def_rw("are_flags", &TreeFacts::are_flags)
        .def_rw("are_sparse_flags", &TreeFacts::are_sparse_flags)
        .def_rw("n_code_bytes", &TreeFacts::n_code_bytes)
        .def_rw("entries_per_row", &TreeFacts::entries_per_row)
        .def_rw("has_row_orders", &TreeFacts::has_row_orders)
        .def_rw("n_channels", &TreeFacts::n_channels)
        .def_rw("has_sparse_labels", &TreeFacts::has_sparse_labels)
        .def_rw("has_entry_weights", &TreeFacts::has_entry_weights);

    nb::class_<NodeQuestion>(module, "NodeQuestion", "What the plan is asked about a node.")
        .def(nb::init<>())
        .def_rw("n_rows", &NodeQuestion::n_rows)
        .def_rw("n_lists", &NodeQuestion::n_lists)
        .def_rw("n_codes", &NodeQuestion::n_codes)
        .def_rw("has_missing", &NodeQuestion::has_missing)
        .def_rw("has_partner", &NodeQuestion::has_partner)
        .def_rw("n_categories", &NodeQuestion::n_categories);

    nb::class_<SearchPlan>(module, "SearchPlan", "Which finder searches which node of a tree.")
        .def(nb::init<const TreeFacts&, const GrowParams&>(), nb::arg("facts"), nb::arg("params"))
        .def("finder", &finder, nb::arg("node"), nb::arg("feature"), nb::arg("question"),
             "Name of the finder, or None if such nodes have no such features.")
        .def_prop_ro("conditions", &conditions, "Which conditions of the table hold.")
        .def(
            "holds",
            [](const SearchPlan& plan, const std::string& limit, const NodeQuestion& question) {
                return plan.holds(static_cast<Limit>(number_of(limit, limit_names, "limit")),
                                  question);
            },
            nb::arg("limit"), nb::arg("question"), "Whether a limit of the table holds in a node.")
        .def_ro("is_incremental", &SearchPlan::is_incremental)
        .def_ro("is_best_first", &SearchPlan::is_best_first)
        .def_ro("draws_features", &SearchPlan::draws_features)
        .def_ro("has_plain_gains", &SearchPlan::has_plain_gains)
        .def_ro("loads_lazily", &SearchPlan::loads_lazily)
        .def_ro("keeps_flag_sums", &SearchPlan::keeps_flag_sums)
        .def_ro("subtree_rows", &SearchPlan::subtree_rows)
        .def_ro("histogram_rows", &SearchPlan::histogram_rows)
        .def_ro("subtraction_rows", &SearchPlan::subtraction_rows)
        .def_ro("waiting_histograms", &SearchPlan::waiting_histograms)
        .def_ro("flag_sums_rows", &SearchPlan::flag_sums_rows)
        .def_ro("presorted_rows", &SearchPlan::presorted_rows)
        .def_ro("sorted_rows", &SearchPlan::sorted_rows)
        .def_ro("small_rows", &SearchPlan::small_rows);

    module.def(
        "finders", [] { return texts_of(finder_names); }, "What each finder does, by its name.");
    module.def("node_kinds", [] { return texts_of(node_kind_names); });
    module.def("feature_kinds", [] { return texts_of(feature_kind_names); });
    module.def(
        "plan_conditions", [] { return texts_of(when_names); },
        "Conditions of the plan on a tree, in words.");
    module.def(
        "plan_limits", [] { return texts_of(limit_names); },
        "Conditions of the plan on a node, in words.");
    module.def("plan_rules", &rules,
               "The plan's table: kinds of node, kind of feature, condition, limit, finder.");

    module.attr("TILE_FEATURES") = kTileFeatures;
    module.attr("MISSING_U8") = kMissingU8;
    module.attr("MISSING_U32") = kMissingU32;
    module.attr("MOST_ORDERED_ROWS") = kMostOrderedRows;
    module.attr("SPARSE_PER_DENSE") = kSparsePerDense;
    module.attr("HISTOGRAM_MIN_ROWS") = kHistogramMinRows;
    module.attr("SUBTRACTION_MIN_ROWS") = kSubtractionMinRows;
    module.attr("MAX_LIST_ROWS") = kMaxListRows;
    module.attr("SMALL_ROWS") = kSmallRows;
    module.attr("MAX_GREEDY_CATEGORIES") = kMaxGreedyCategories;
}

}  // namespace polyleaf::bindings
