// Alg. 1 of Rapp et al. 2020: rules are learnt one after the other, each on a sample of its own,
// with a head that is found on all rows.
#include <numeric>

#include "base/random.hpp"
#include "rules/search.hpp"

namespace polyleaf {

void draw_sample(uint64_t seed, const int32_t* rows, int64_t n, int32_t* counts, int64_t n_rows) {
    constexpr uint64_t kSampleSalt = 0x5a3b1e7c0f2d4869ULL;  // features are drawn from the seed
    const uint64_t own_seed = mix(seed ^ kSampleSalt);
    std::fill_n(counts, n_rows, 0);
    for (int64_t i = 0; i < n; ++i) ++counts[rows[draw_below(own_seed, i, n)]];
}

std::vector<LearntRule> learn_rules(const RuleColumns& columns, const RuleTraining& training,
                                    const uint64_t* seeds, int64_t n_seeds, RuleParams params,
                                    ThreadTeam& team) {
    const RuleScores& scores = training.scores;
    const bool is_examplewise = training.coupling != nullptr;
    RuleStatistics statistics;
    statistics.n_rows = training.n_rows;
    statistics.n_outputs = scores.n_outputs;
    statistics.block = padded(scores.n_outputs);
    statistics.is_logistic = !is_examplewise;
    statistics.values = scores.values;
    statistics.coupling = training.coupling;
    std::vector<int32_t> every(training.n_rows), counts(training.n_rows, 1);
    std::iota(every.begin(), every.end(), 0);
    std::vector<LearntRule> learnt(n_seeds);
    InducerMemory memory;
    memory.note_changes(statistics, params, every.data(), training.n_rows);
    for (int64_t i = 0; i < n_seeds; ++i) {
        team.interrupt().check();
        params.seed = seeds[i];
        if (training.bootstrap)
            draw_sample(seeds[i], every.data(), training.n_rows, counts.data(), training.n_rows);
        LearntRule& rule = learnt[i];
        rule.body = induce_rule(columns, statistics, counts.data(), params, team, memory);
        const std::vector<int32_t>& rows = memory.body_rows;
        const bool is_complete = rule.body.outputs.empty();
        const int32_t* outputs = is_complete ? nullptr : rule.body.outputs.data();
        const int32_t n_head =
            is_complete ? scores.n_outputs : static_cast<int32_t>(rule.body.outputs.size());
        const int64_t n_covered = static_cast<int64_t>(rows.size());
        rule.head.resize(n_head);
        rule.gain = 0.5 * find_head(statistics, rows.data(), n_covered, outputs, n_head, params,
                                    team, rule.head.data());
        for (double& score : rule.head) score *= training.learning_rate;
        if (training.is_guarded)
            guard_head({scores.labels, scores.scores, scores.n_outputs}, is_examplewise,
                       rows.data(), n_covered, outputs, n_head, training.learning_rate,
                       params.l1_regularization == 0.0, team, rule.head.data());
        add_head(scores, is_examplewise, true, rows.data(), n_covered, outputs, n_head,
                 rule.head.data(), team);
        memory.note_changes(statistics, params, rows.data(), n_covered);
        rule.coverage = n_covered;
    }
    return learnt;
}

}  // namespace polyleaf
