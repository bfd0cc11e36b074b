// Inducing rules, their heads, and predicting with them.
#include <nanobind/stl/vector.h>

#include "bindings/rule_views.hpp"

namespace polyleaf::bindings {

namespace {

InducedRule induce(const Columns& columns, const Matrix<double>& values, int64_t n_outputs,
                   const std::optional<Vector<double>>& coupling, const Vector<int32_t>& counts,
                   const RuleParams& params) {
    const BinnedView& binned = columns.get().binned();
    const RuleStatistics statistics = view_of(values, n_outputs, coupling);
    require(statistics.n_rows == binned.n_rows, "statistics must have a row per row of X");
    require_length(counts, binned.n_rows, "counts");
    check_params(params);
    require_feature_count(params, binned);
    return without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(params.n_threads, interrupt);
        return induce_rule(columns.get(), statistics, counts.data(), params, team);
    });
}

double head_of(const Matrix<double>& values, int64_t n_outputs,
               const std::optional<Vector<double>>& coupling, const Vector<int32_t>& rows,
               const std::optional<Vector<int32_t>>& outputs, const RuleParams& params,
               OutVector<double> head) {
    const RuleStatistics statistics = view_of(values, n_outputs, coupling);
    check_params(params);
    require_range(rows, 0, statistics.n_rows, "rows");
    if (outputs) require_range(*outputs, 0, statistics.n_outputs, "outputs");
    const int64_t n_head = outputs ? length(*outputs) : statistics.n_outputs;
    require_length(head, n_head, "head");
    return without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(params.n_threads, interrupt);
        return find_head(statistics, rows.data(), length(rows),
                         outputs ? outputs->data() : nullptr, static_cast<int32_t>(n_head), params,
                         team, head.data());
    });
}

void add_to_scores(const Matrix<int8_t>& labels, OutMatrix<double> scores,
                   OutMatrix<double> values, bool is_examplewise, bool is_current,
                   const Vector<int32_t>& rows, const std::optional<Vector<int32_t>>& outputs,
                   const Vector<double>& head, int n_threads) {
    require_threads(n_threads);
    const RuleScores to = scores_of(labels, scores, values, is_examplewise);
    const int64_t n_outputs = to.n_outputs;
    require_range(rows, 0, length(scores), "rows");
    if (outputs) require_range(*outputs, 0, n_outputs, "outputs");
    require_length(head, outputs ? length(*outputs) : n_outputs, "head");
    without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_threads, interrupt);
        add_head(to, is_examplewise, is_current, rows.data(), length(rows),
                 outputs ? outputs->data() : nullptr, static_cast<int32_t>(length(head)),
                 head.data(), team);
    });
}

RuleSetView rules_of(const Vector<int64_t>& body_offsets, const Vector<int32_t>& feature,
                     const Vector<uint8_t>& op, const Vector<double>& value, int64_t n_features) {
    RuleSetView rules;
    rules.n_rules = length(body_offsets) - 1;
    require_offsets(body_offsets, length(feature), "body_offsets");
    require_range(feature, 0, n_features, "feature");
    require_length(op, length(feature), "op");
    require_range(op, 0, kRuleOperators, "op");
    require_length(value, length(feature), "value");
    rules.body_offsets = body_offsets.data();
    rules.feature = feature.data();
    rules.op = op.data();
    rules.value = value.data();
    return rules;
}

void add_scores(const Vector<int64_t>& body_offsets, const Vector<int32_t>& feature,
                const Vector<uint8_t>& op, const Vector<double>& value,
                const Vector<int64_t>& head_offsets, const Vector<int32_t>& output,
                const Vector<double>& score, const Matrix<double>& X, OutMatrix<double> scores,
                int n_threads) {
    require_threads(n_threads);
    const int64_t n_features = static_cast<int64_t>(X.shape(1));
    const int64_t n_outputs = static_cast<int64_t>(scores.shape(1));
    RuleSetView rules = rules_of(body_offsets, feature, op, value, n_features);
    require_length(head_offsets, rules.n_rules + 1, "head_offsets");
    require_offsets(head_offsets, length(output), "head_offsets");
    require_range(output, 0, n_outputs, "output");
    require_length(score, length(output), "score");
    require_length(scores, length(X), "scores");
    rules.head_offsets = head_offsets.data();
    rules.output = output.data();
    rules.score = score.data();
    without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_threads, interrupt);
        add_rule_scores(rules, X.data(), length(X), n_features, n_outputs, scores.data(), team);
    });
}

void coverage(const Vector<int64_t>& body_offsets, const Vector<int32_t>& feature,
              const Vector<uint8_t>& op, const Vector<double>& value, const Matrix<double>& X,
              OutMatrix<uint8_t> covers, int n_threads) {
    require_threads(n_threads);
    const int64_t n_features = static_cast<int64_t>(X.shape(1));
    const RuleSetView rules = rules_of(body_offsets, feature, op, value, n_features);
    require(length(covers) == length(X) && static_cast<int64_t>(covers.shape(1)) == rules.n_rules,
            "covers must have shape (n_rows, n_rules)");
    without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_threads, interrupt);
        find_rule_coverage(rules, X.data(), length(X), n_features, covers.data(), team);
    });
}

void count_digits(const Vector<int64_t>& bin_offsets, const Vector<double>& bin_low,
                  const Vector<double>& bin_high, const Vector<int32_t>& feature,
                  const Vector<uint8_t>& op, const Vector<double>& value, int most,
                  OutVector<uint8_t> digits) {
    require_offsets(bin_offsets, length(bin_low), "bin_offsets");
    require_length(bin_high, length(bin_low), "bin_high");
    require_range(feature, 0, length(bin_offsets) - 1, "feature");
    require_length(op, length(feature), "op");
    require_length(value, length(feature), "value");
    require_length(digits, length(feature), "digits");
    require(most >= 1 && most <= 255, "most must be between 1 and 255");
    count_threshold_digits({bin_offsets.data(), bin_low.data(), bin_high.data()}, feature.data(),
                           op.data(), value.data(), length(feature), most, digits.data());
}

void count_prefixes(const Columns& columns, const Vector<int64_t>& body_offsets,
                    const Vector<int32_t>& feature, const Vector<uint8_t>& op,
                    const Vector<double>& value, OutVector<int64_t> counts) {
    const RuleColumns& codes = columns.get();
    const int64_t n_conditions = length(feature);
    require_offsets(body_offsets, n_conditions, "body_offsets");
    require_length(op, n_conditions, "op");
    require_length(value, n_conditions, "value");
    require_length(counts, n_conditions, "counts");
    require_range(feature, 0, codes.binned().n_features, "feature");
    require_range(op, 0, static_cast<int64_t>(RuleOperator::known) + 1, "op");
    without_gil([&](Interrupt& interrupt) {
        std::vector<RuleCondition> body;
        std::vector<int32_t> stages, alive;
        for (int64_t rule = 0; rule + 1 < length(body_offsets); ++rule) {
            interrupt.check();
            const int64_t begin = body_offsets.data()[rule], end = body_offsets.data()[rule + 1];
            body.clear();
            for (int64_t c = begin; c < end; ++c)
                body.push_back(read_condition(codes.binned(), feature.data()[c],
                                              static_cast<RuleOperator>(op.data()[c]),
                                              value.data()[c]));
            codes.count_prefixes(body, stages, alive, counts.data() + begin);
        }
    });
}

void write_conditions(const InducedRule& rule, OutVector<int32_t> feature, OutVector<uint8_t> op,
                      OutVector<double> value) {
    const int64_t n = static_cast<int64_t>(rule.conditions.size());
    require_length(feature, n, "feature");
    require_length(op, n, "op");
    require_length(value, n, "value");
    for (int64_t i = 0; i < n; ++i) {
        feature.data()[i] = rule.conditions[i].feature;
        op.data()[i] = static_cast<uint8_t>(rule.conditions[i].op);
        value.data()[i] = rule.conditions[i].value;
    }
}

void write_rows(const InducedRule& rule, OutVector<int32_t> rows) {
    require_length(rows, static_cast<int64_t>(rule.rows.size()), "rows");
    std::copy(rule.rows.begin(), rule.rows.end(), rows.data());
}

}  // namespace

void bind_rules(nb::module_& module) {
    nb::class_<RuleParams>(module, "RuleParams", "Parameters of one rule.")
        .def(nb::init<>())
        .def_rw("l2_regularization", &RuleParams::l2_regularization)
        .def_rw("l1_regularization", &RuleParams::l1_regularization)
        .def_rw("max_features", &RuleParams::max_features)
        .def_rw("max_conditions", &RuleParams::max_conditions)
        .def_rw("min_coverage", &RuleParams::min_coverage)
        .def_rw("head_size", &RuleParams::head_size)
        .def_rw("head_share", &RuleParams::head_share)
        .def_rw("label_bins", &RuleParams::label_bins)
        .def_rw("direct_max_outputs", &RuleParams::direct_max_outputs)
        .def_rw("seed", &RuleParams::seed)
        .def_rw("n_threads", &RuleParams::n_threads);

    nb::class_<Columns>(module, "RuleColumns", "Binned features, read column by column.")
        .def(nb::init<nb::object>(), nb::arg("binned"));

    nb::class_<InducedRule>(module, "InducedRule", "A rule as it left the inducer.")
        .def_prop_ro("n_conditions", [](const InducedRule& r) { return r.conditions.size(); })
        .def_prop_ro("n_rows", [](const InducedRule& r) { return r.rows.size(); })
        .def_ro("outputs", &InducedRule::outputs)
        .def_ro("objectives", &InducedRule::objectives)
        .def("write_conditions", &write_conditions, nb::arg("feature"), nb::arg("op"),
             nb::arg("value"))
        .def("write_rows", &write_rows, nb::arg("rows"));

    module.def("padded_outputs", &padded, nb::arg("n_outputs"),
               "Give the numbers that a vector of outputs takes in the statistics of a row.");
    module.def("induce_rule", &induce, nb::arg("columns"), nb::arg("statistics"),
               nb::arg("n_outputs"), nb::arg("coupling"), nb::arg("counts"), nb::arg("params"),
               "Refine a rule greedily on the rows with a positive count.");
    module.def(
        "find_head", &head_of, nb::arg("statistics"), nb::arg("n_outputs"), nb::arg("coupling"),
        nb::arg("rows"), nb::arg("outputs"), nb::arg("params"), nb::arg("head"),
        "Find the scores that minimise the objective over the given rows; return their gain.");
    module.def("add_head", &add_to_scores, nb::arg("labels"), nb::arg("scores"),
               nb::arg("statistics"), nb::arg("is_examplewise"), nb::arg("is_current"),
               nb::arg("rows"), nb::arg("outputs"), nb::arg("head"), nb::arg("n_threads"),
               "Add a head to scores, and bring the statistics of a logistic loss up to date.");
    module.def("add_rule_scores", &add_scores, nb::arg("body_offsets"), nb::arg("feature"),
               nb::arg("op"), nb::arg("value"), nb::arg("head_offsets"), nb::arg("output"),
               nb::arg("score"), nb::arg("X"), nb::arg("scores"), nb::arg("n_threads"),
               "Add the heads of the rules that cover each row to its scores.");
    module.def("count_threshold_digits", &count_digits, nb::arg("bin_offsets"), nb::arg("bin_low"),
               nb::arg("bin_high"), nb::arg("feature"), nb::arg("op"), nb::arg("value"),
               nb::arg("most"), nb::arg("digits"),
               "Count the digits with which thresholds stay between the values next to them.");
    module.def("count_prefixes", &count_prefixes, nb::arg("columns"), nb::arg("body_offsets"),
               nb::arg("feature"), nb::arg("op"), nb::arg("value"), nb::arg("counts"),
               "Count the training rows that satisfy the first conditions of every body.");
    module.def("rule_coverage", &coverage, nb::arg("body_offsets"), nb::arg("feature"),
               nb::arg("op"), nb::arg("value"), nb::arg("X"), nb::arg("covers"),
               nb::arg("n_threads"), "Tell which rules cover each row.");
}

}  // namespace polyleaf::bindings
