// Alg. 3 of Rapp et al. 2020: a rule is refined by the best of the conditions on drawn features
// until none lowers the objective (14).
#include <cmath>
#include <numeric>

#include "base/random.hpp"
#include "rules/search.hpp"

namespace polyleaf {

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
    double middle = low + (high - low) / 2;
    if (std::isinf(high - low)) middle = low / 2 + high / 2;
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
            const RuleParams& params, ThreadTeam& team, InducerMemory& memory)
        : columns_(columns),
          statistics_(statistics),
          params_(params),
          team_(team),
          covered_(memory.covered),
          rows_(memory.rows),
          memories_(memory.threads),
          left_(memory.left.data()),
          found_(memory.found),
          marks_(memory.marks),
          body_rows_(memory.body_rows) {
        covered_.cover(counts, columns.binned().n_rows);
        rows_.solution.clear();
    }

    InducedRule run() {
        for (int64_t step = 0; step != params_.max_conditions; ++step) {
            if (covered_.size() < 2 || !refine(step)) break;
        }
        if (chooses_outputs()) {  // no condition was found to choose them with
            gather();
            rule_.outputs = best_outputs(rows_, params_);
        }
        columns_.find_covered(rule_.conditions, marks_, body_rows_);
        return std::move(rule_);
    }

  private:
    enum class Search { diagonal, direct, gradients };

    bool chooses_head() const { return params_.head_size > 0 || params_.head_share > 0.0; }
    bool chooses_outputs() const { return rule_.conditions.empty() && chooses_head(); }
    bool has_just_chosen() const { return rule_.conditions.size() == 1 && chooses_head(); }

    // Gathers the statistics of the covered rows where most of the gathered ones are not covered
    // any more, and else only follows the total. Those of all outputs are read where they are, but
    // for few that depend on each other.
    Search gather() {
        const size_t n = rule_.outputs.empty() ? statistics_.n_outputs : rule_.outputs.size();
        const bool is_diagonal = statistics_.coupling == nullptr || chooses_outputs() || n == 1;
        const bool is_new =
            rule_.conditions.empty() || has_just_chosen() || params_.label_bins > 0;
        const bool is_plain =
            rule_.outputs.empty() && params_.label_bins == 0 &&
            (statistics_.coupling == nullptr ||
             (!is_diagonal && static_cast<int64_t>(n) > params_.direct_max_outputs));
        const bool keeps_rows = is_plain || 2 * covered_.size() > covered_.n_positions();
        const bool is_known = !is_new && is_diagonal;  // the search has summed what is covered
        if (!is_new && keeps_rows) {
            if (!is_known) rows_.follow(covered_, team_);
        } else if (is_plain) {
            if (is_diagonal)
                rows_.refer(statistics_, covered_);
            else
                rows_.refer_coupled(statistics_, covered_, params_, left_);
            rows_.add_up(covered_, team_);
        } else {
            covered_.renumber();
            if (is_diagonal)
                gather_diagonal(statistics_, covered_, rule_.outputs, rows_);
            else
                gather_coupled(statistics_, covered_, rule_.outputs, params_, team_, rows_);
            if (!is_known) rows_.add_up(covered_, team_);
        }
        if (is_known) rows_.set_total(next_total_->data());
        if (is_diagonal) return Search::diagonal;
        rows_.multiply_solution();
        return rows_.n_outputs > params_.direct_max_outputs ? Search::gradients : Search::direct;
    }

    // What the rule gains as it is: what its last refinement did, unless heads were chosen or
    // labels binned otherwise.
    double current_gain(Search search) const {
        if (rule_.conditions.empty()) return 0.0;  // there is no rule yet
        if (search == Search::diagonal) return diagonal_gain(rows_, params_);
        if (params_.label_bins > 0 || has_just_chosen()) return coupled_gain(rows_);
        return -2.0 * rule_.objectives.back();
    }

    bool refine(int64_t step) {
        const Search search = gather();
        if (rows_.n_outputs == 0) return false;
        const double current = current_gain(search);
        const BinnedView& binned = columns_.binned();
        const uint64_t seed = draw_bits(params_.seed, static_cast<uint64_t>(step));
        const auto features = draw_features(binned.n_features, params_.max_features, seed);
        if (found_.size() < features.size()) found_.resize(features.size());
        LargestGain largest(current);
        const RefinementSearch shared{rows_, params_, covered_.size(), chooses_outputs(), largest};
        if (static_cast<int>(memories_.size()) < team_.size()) memories_.resize(team_.size());
        auto search_one = [&](int64_t i, int thread) {
            found_[i].gain = current;
            found_[i].feature = -1;
            search_feature(search, shared, features[i], memories_[thread], found_[i]);
        };
        const int64_t n_features = static_cast<int64_t>(features.size());
        const int64_t least = search == Search::direct     ? kWorthThreads
                              : search == Search::diagonal ? kWorthReading
                                                           : kWorthWaking;
        if (search_cost(search, features) >= least)
            team_.parallel_for(n_features, search_one);
        else
            for (int64_t i = 0; i < n_features; ++i) search_one(i, 0);
        const Refinement* best = nullptr;
        for (int64_t i = 0; i < n_features; ++i)
            if (found_[i].feature >= 0 &&
                (best == nullptr || found_[i].gain > best->gain * kBetter))
                best = &found_[i];
        if (best == nullptr) return false;
        if (chooses_outputs()) rule_.outputs = best->outputs;
        if (search == Search::gradients) rows_.solution = best->solution;
        if (search == Search::diagonal) next_total_ = &best->sums;
        rule_.conditions.push_back(to_condition(binned, *best));
        rule_.objectives.push_back(-0.5 * best->gain);
        covered_.filter(columns_, rule_.conditions.back());
        return true;
    }

    // Nanoseconds, roughly: rows are sorted and summed, and a few numbers computed for every cut.
    int64_t search_cost(Search search, const std::vector<int32_t>& features) const {
        int64_t cost = 0;
        for (int32_t feature : features) {
            int64_t n_rows = covered_.size();
            if (columns_.is_sparse(feature)) n_rows = std::min(n_rows, columns_.n_listed(feature));
            const int64_t n_cuts = std::min(n_rows, columns_.binned().n_bins(feature));
            if (search == Search::diagonal)
                cost += 100 + n_rows * (4 + rows_.width() / 8) + n_cuts * rows_.width() / 4;
            else
                cost += 500 + n_rows * rows_.width() / (search == Search::gradients ? 4 : 1);
        }
        return cost;
    }

    void search_feature(Search search, const RefinementSearch& shared, int32_t feature,
                        SearchMemory& memory, Refinement& best) {
        const double least = best.gain;
        const bool is_categorical = columns_.binned().is_categorical[feature] != 0;
        FeatureGroups& groups = memory.groups;
        groups.find(columns_, feature, covered_);
        if (groups.n_groups < 2 && groups.n_missing == 0) return;
        if (search == Search::diagonal)
            search_diagonal(shared, memory, is_categorical, best);
        else if (search == Search::direct)
            search_direct(shared, memory, is_categorical, best);
        else
            search_by_gradients(shared, memory, is_categorical, best);
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
    CoveredRows& covered_;
    SearchRows& rows_;
    std::vector<SearchMemory>& memories_;
    const double* left_;
    std::vector<Refinement>& found_;
    std::vector<int32_t>&marks_, &body_rows_;
    const AlignedVector<double>* next_total_ = nullptr;  // of what the last refinement covers
    InducedRule rule_;
};

}  // namespace

InducedRule induce_rule(const RuleColumns& columns, const RuleStatistics& statistics,
                        const int32_t* counts, const RuleParams& params, ThreadTeam& team,
                        InducerMemory& memory) {
    return Inducer(columns, statistics, counts, params, team, memory).run();
}

InducedRule induce_rule(const RuleColumns& columns, const RuleStatistics& statistics,
                        const int32_t* counts, const RuleParams& params, ThreadTeam& team) {
    InducerMemory memory;
    std::vector<int32_t> every(statistics.n_rows);
    std::iota(every.begin(), every.end(), 0);
    memory.note_changes(statistics, params, every.data(), statistics.n_rows);
    InducedRule rule = induce_rule(columns, statistics, counts, params, team, memory);
    rule.rows = std::move(memory.body_rows);
    return rule;
}

}  // namespace polyleaf
