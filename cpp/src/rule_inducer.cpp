// Alg. 3 of paper 002: a rule is refined by the best of the conditions on drawn features until
// none lowers the objective (14).
#include <cmath>
#include <numeric>

#include "ramify/random.hpp"
#include "rule_search.hpp"

namespace ramify {

namespace {

// Floyd's algorithm: each subset of `size` features is as likely as any other.
std::vector<int32_t> draw_features(int32_t n_features, int64_t size, uint64_t seed) {
    std::vector<int32_t> drawn;
    for (int64_t last = n_features - size; last < n_features; ++last) {
        int32_t feature = static_cast<int32_t>(draw_below(seed, last, last + 1));
        if (std::find(drawn.begin(), drawn.end(), feature) != drawn.end())
            feature = static_cast<int32_t>(last);
        drawn.push_back(feature);
    }
    return drawn;
}

double between(double low, double high) {
    const double middle = low + (high - low) / 2;
    return middle >= low && middle < high ? middle : low;
}

// The threshold is halfway between the covered values next to it, moved to the nearest border of
// two bins where it would divide one, so that codes and values agree on every training row.
void set_threshold(const BinnedView& binned, uint32_t code, uint32_t next_code,
                   RuleCondition& condition) {
    const double* low = binned.bin_low + binned.bin_offsets[condition.feature];
    const double* high = binned.bin_high + binned.bin_offsets[condition.feature];
    const double middle = between(high[code], low[next_code]);
    while (code + 1 < next_code && high[code + 1] <= middle) ++code;
    condition.code = code;
    condition.value = middle < low[code + 1] ? middle : between(high[code], low[code + 1]);
}

RuleCondition to_condition(const BinnedView& binned, const Refinement& found) {
    RuleCondition condition;
    condition.feature = found.feature;
    condition.op = found.op;
    if (found.op == RuleOperator::at_most || found.op == RuleOperator::above) {
        set_threshold(binned, found.code, found.next_code, condition);
    } else if (found.op == RuleOperator::equal || found.op == RuleOperator::not_equal) {
        condition.code = found.code;
        condition.value = found.code;
    }
    return condition;
}

class Inducer {
  public:
    Inducer(const RuleColumns& columns, const RuleStatistics& statistics, const int32_t* counts,
            const RuleParams& params, ThreadTeam& team)
        : columns_(columns),
          statistics_(statistics),
          params_(params),
          team_(team),
          covered_(counts, columns.binned().n_rows) {}

    InducedRule run() {
        for (int64_t step = 0; step != params_.max_conditions; ++step) {
            if (covered_.size() < 2 || !refine(step)) break;
        }
        rule_.rows.resize(columns_.binned().n_rows);
        std::iota(rule_.rows.begin(), rule_.rows.end(), 0);
        for (const RuleCondition& condition : rule_.conditions)
            columns_.filter(condition, rule_.rows);
        return std::move(rule_);
    }

  private:
    enum class Search { diagonal, direct, gradients };

    bool chooses_outputs() const {
        return rule_.conditions.empty() && (params_.head_size > 0 || params_.head_share > 0.0);
    }

    Search gather() {
        const size_t n = rule_.outputs.empty() ? statistics_.n_outputs : rule_.outputs.size();
        if (statistics_.coupling == nullptr || chooses_outputs() || n == 1) {
            gather_diagonal(statistics_, covered_, rule_.outputs, rows_);
            return Search::diagonal;
        }
        gather_coupled(statistics_, covered_, rule_.outputs, params_, team_, rows_);
        return rows_.n_outputs > params_.direct_max_outputs ? Search::gradients : Search::direct;
    }

    double current_gain(Search search) const {
        if (rule_.conditions.empty()) return 0.0;  // there is no rule yet
        if (search == Search::diagonal) return diagonal_gain(rows_, params_);
        return search == Search::direct ? direct_gain(rows_) : gain_by_gradients(rows_);
    }

    bool refine(int64_t step) {
        const Search search = gather();
        if (rows_.n_outputs == 0) return false;
        const double current = current_gain(search);
        const BinnedView& binned = columns_.binned();
        const uint64_t seed = draw_bits(params_.seed, static_cast<uint64_t>(step));
        const auto features = draw_features(binned.n_features, params_.max_features, seed);
        std::vector<Refinement> found(features.size());
        groups_.resize(team_.size());
        team_.parallel_for(features.size(), [&](int64_t i, int thread) {
            found[i].gain = current;
            search_feature(search, features[i], groups_[thread], found[i]);
        });
        const Refinement* best = nullptr;
        for (const Refinement& candidate : found)
            if (candidate.feature >= 0 &&
                (best == nullptr || candidate.gain > best->gain * kBetter))
                best = &candidate;
        if (best == nullptr) return false;
        if (chooses_outputs()) rule_.outputs = best->outputs;
        rule_.conditions.push_back(to_condition(binned, *best));
        rule_.objectives.push_back(-0.5 * best->gain);
        covered_.filter(columns_, rule_.conditions.back());
        return true;
    }

    void search_feature(Search search, int32_t feature, FeatureGroups& groups, Refinement& best) {
        const double least = best.gain;
        const bool is_categorical = columns_.binned().is_categorical[feature] != 0;
        groups.find(columns_, feature, covered_);
        if (search == Search::diagonal)
            search_diagonal(rows_, groups, is_categorical, covered_.n_draws, chooses_outputs(),
                            params_, best);
        else if (search == Search::direct)
            search_direct(rows_, groups, is_categorical, covered_.n_draws, params_, best);
        else
            search_by_gradients(rows_, groups, is_categorical, covered_.n_draws, params_, best);
        if (!(best.gain > least)) return;
        best.feature = feature;
        if (best.op == RuleOperator::missing || best.op == RuleOperator::known) return;
        best.code = groups.codes[best.group];
        if (best.group + 1 < groups.n_groups) best.next_code = groups.codes[best.group + 1];
    }

    const RuleColumns& columns_;
    const RuleStatistics& statistics_;
    const RuleParams& params_;
    ThreadTeam& team_;
    CoveredRows covered_;
    SearchRows rows_;
    std::vector<FeatureGroups> groups_;
    InducedRule rule_;
};

}  // namespace

InducedRule induce_rule(const RuleColumns& columns, const RuleStatistics& statistics,
                        const int32_t* counts, const RuleParams& params, ThreadTeam& team) {
    return Inducer(columns, statistics, counts, params, team).run();
}

}  // namespace ramify
