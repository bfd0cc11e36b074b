// Which rules cover which rows, and the sum of their heads.
#include <cmath>

#include "rules/rules.hpp"

namespace polyleaf {

namespace {

constexpr int64_t kBlockRows = 256;

// No comparison with a missing value (NaN) holds, != included.
bool holds(RuleOperator op, double x, double value) {
    switch (op) {
        case RuleOperator::at_most:
            return x <= value;
        case RuleOperator::above:
            return x > value;
        case RuleOperator::equal:
            return x == value;
        case RuleOperator::not_equal:
            return x < value || x > value;
        case RuleOperator::missing:
            return std::isnan(x);
        default:
            return !std::isnan(x);
    }
}

bool covers(const RuleSetView& rules, int64_t rule, const double* x) {
    for (int64_t c = rules.body_offsets[rule]; c < rules.body_offsets[rule + 1]; ++c)
        if (!holds(static_cast<RuleOperator>(rules.op[c]), x[rules.feature[c]], rules.value[c]))
            return false;
    return true;
}

// Calls take(rule, row) for every pair, rule by rule over blocks of rows.
template <typename Take>
void for_each_pair(const RuleSetView& rules, int64_t n_rows, ThreadTeam& team, Take&& take) {
    team.parallel_for((n_rows + kBlockRows - 1) / kBlockRows, [&](int64_t block, int) {
        const int64_t last = std::min(n_rows, (block + 1) * kBlockRows);
        for (int64_t rule = 0; rule < rules.n_rules; ++rule)
            for (int64_t row = block * kBlockRows; row < last; ++row) take(rule, row);
    });
}

}  // namespace

void add_rule_scores(const RuleSetView& rules, const double* X, int64_t n_rows, int64_t n_features,
                     int64_t n_outputs, double* scores, ThreadTeam& team) {
    for_each_pair(rules, n_rows, team, [&](int64_t rule, int64_t row) {
        if (!covers(rules, rule, X + row * n_features)) return;
        double* score = scores + row * n_outputs;
        for (int64_t h = rules.head_offsets[rule]; h < rules.head_offsets[rule + 1]; ++h)
            score[rules.output[h]] += rules.score[h];
    });
}

void find_rule_coverage(const RuleSetView& rules, const double* X, int64_t n_rows,
                        int64_t n_features, uint8_t* covered, ThreadTeam& team) {
    for_each_pair(rules, n_rows, team, [&](int64_t rule, int64_t row) {
        covered[row * rules.n_rules + rule] = covers(rules, rule, X + row * n_features);
    });
}

}  // namespace polyleaf
