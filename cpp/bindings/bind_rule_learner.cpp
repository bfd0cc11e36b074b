// Learning several rules at once.
#include "bindings/rule_views.hpp"

namespace polyleaf::bindings {

namespace {

struct LearntRules {
    std::vector<LearntRule> rules;
    int32_t n_outputs = 0;

    int64_t n_conditions() const {
        int64_t n = 0;
        for (const LearntRule& rule : rules)
            n += static_cast<int64_t>(rule.body.conditions.size());
        return n;
    }
    int64_t n_scores() const {
        int64_t n = 0;
        for (const LearntRule& rule : rules) n += static_cast<int64_t>(rule.head.size());
        return n;
    }
};

LearntRules learn(const Columns& columns, const Matrix<int8_t>& labels, OutMatrix<double> scores,
                  OutMatrix<double> values, const std::optional<Vector<double>>& coupling,
                  const Vector<uint64_t>& seeds, double learning_rate, bool bootstrap,
                  bool is_guarded, const RuleParams& params) {
    RuleTraining training;
    training.scores = scores_of(labels, scores, values, coupling.has_value());
    training.n_rows = length(scores);
    const BinnedView& binned = columns.get().binned();
    require(training.n_rows == binned.n_rows, "scores must have a row per row of X");
    if (coupling) {
        require_length(*coupling, training.n_rows, "coupling");
        training.coupling = coupling->data();
    }
    require(std::isfinite(learning_rate), "learning_rate must be finite");
    training.learning_rate = learning_rate;
    training.bootstrap = bootstrap;
    training.is_guarded = is_guarded;
    check_params(params);
    require_feature_count(params, binned);
    return without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(params.n_threads, interrupt);
        return LearntRules{
            learn_rules(columns.get(), training, seeds.data(), length(seeds), params, team),
            training.scores.n_outputs};
    });
}

void guard(const Matrix<int8_t>& labels, const Matrix<double>& scores, bool is_examplewise,
           const Vector<int32_t>& rows, const std::optional<Vector<int32_t>>& outputs, double rate,
           bool is_newton, OutVector<double> head, int n_threads) {
    require_threads(n_threads);
    const int64_t n_outputs = static_cast<int64_t>(scores.shape(1));
    require(length(labels) == length(scores) &&
                static_cast<int64_t>(labels.shape(1)) == n_outputs && n_outputs < INT32_MAX,
            "labels must have the shape of scores");
    require_range(rows, 0, length(scores), "rows");
    if (outputs) require_range(*outputs, 0, n_outputs, "outputs");
    require_length(head, outputs ? length(*outputs) : n_outputs, "head");
    const LabelScores at{labels.data(), scores.data(), static_cast<int32_t>(n_outputs)};
    without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_threads, interrupt);
        guard_head(at, is_examplewise, rows.data(), length(rows),
                   outputs ? outputs->data() : nullptr, static_cast<int32_t>(length(head)), rate,
                   is_newton, team, head.data());
    });
}

void write_bodies(const LearntRules& learnt, OutVector<int64_t> offsets,
                  OutVector<int32_t> feature, OutVector<uint8_t> op, OutVector<double> value,
                  OutVector<int64_t> coverage) {
    const int64_t n_rules = static_cast<int64_t>(learnt.rules.size());
    require_length(offsets, n_rules + 1, "offsets");
    require_length(feature, learnt.n_conditions(), "feature");
    require_length(op, learnt.n_conditions(), "op");
    require_length(value, learnt.n_conditions(), "value");
    require_length(coverage, n_rules, "coverage");
    int64_t at = offsets.data()[0] = 0;
    for (int64_t t = 0; t < n_rules; ++t) {
        for (const RuleCondition& condition : learnt.rules[t].body.conditions) {
            feature.data()[at] = condition.feature;
            op.data()[at] = static_cast<uint8_t>(condition.op);
            value.data()[at++] = condition.value;
        }
        offsets.data()[t + 1] = at;
        coverage.data()[t] = learnt.rules[t].coverage;
    }
}

void write_heads(const LearntRules& learnt, OutVector<int64_t> offsets, OutVector<int32_t> output,
                 OutVector<double> score, OutVector<double> gain) {
    const int64_t n_rules = static_cast<int64_t>(learnt.rules.size());
    require_length(offsets, n_rules + 1, "offsets");
    require_length(output, learnt.n_scores(), "output");
    require_length(score, learnt.n_scores(), "score");
    require_length(gain, n_rules, "gain");
    int64_t at = offsets.data()[0] = 0;
    for (int64_t t = 0; t < n_rules; ++t) {
        const LearntRule& rule = learnt.rules[t];
        for (size_t k = 0; k < rule.head.size(); ++k) {
            output.data()[at] =
                rule.body.outputs.empty() ? static_cast<int32_t>(k) : rule.body.outputs[k];
            score.data()[at++] = rule.head[k];
        }
        offsets.data()[t + 1] = at;
        gain.data()[t] = rule.gain;
    }
}

void sample(uint64_t seed, const Vector<int32_t>& rows, OutVector<int32_t> counts) {
    require(length(rows) >= 1, "there must be at least one row to draw");
    require_range(rows, 0, length(counts), "rows");
    draw_sample(seed, rows.data(), length(rows), counts.data(), length(counts));
}

}  // namespace

void bind_rule_learner(nb::module_& module) {
    nb::class_<LearntRules>(module, "LearntRules", "Rules as they left the learner.")
        .def_prop_ro("n_rules", [](const LearntRules& l) { return l.rules.size(); })
        .def_prop_ro("n_conditions", &LearntRules::n_conditions)
        .def_prop_ro("n_scores", &LearntRules::n_scores)
        .def("write_bodies", &write_bodies, nb::arg("offsets"), nb::arg("feature"), nb::arg("op"),
             nb::arg("value"), nb::arg("coverage"))
        .def("write_heads", &write_heads, nb::arg("offsets"), nb::arg("output"), nb::arg("score"),
             nb::arg("gain"));
    module.def("learn_rules", &learn, nb::arg("columns"), nb::arg("labels"), nb::arg("scores"),
               nb::arg("statistics"), nb::arg("coupling"), nb::arg("seeds"),
               nb::arg("learning_rate"), nb::arg("bootstrap"), nb::arg("is_guarded"),
               nb::arg("params"), "Learn a rule for every seed; scores and statistics follow.");
    module.def("guard_head", &guard, nb::arg("labels"), nb::arg("scores"),
               nb::arg("is_examplewise"), nb::arg("rows"), nb::arg("outputs"), nb::arg("rate"),
               nb::arg("is_newton"), nb::arg("head"), nb::arg("n_threads"),
               "Halve a head until the logistic loss of the given rows does not rise with it.");
    module.def("draw_sample", &sample, nb::arg("seed"), nb::arg("rows"), nb::arg("counts"),
               "Count how often each of the given rows is drawn for the rule of a seed.");
}

}  // namespace polyleaf::bindings
