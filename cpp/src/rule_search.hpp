// The search for one refinement: groups of rows by value, and what scores their sums.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ramify/aligned.hpp"
#include "ramify/rule_kernels.hpp"
#include "ramify/rules.hpp"

namespace ramify {

// The rows of the sample that the rule covers so far, numbered by position.
struct CoveredRows {
    std::vector<int32_t> rows;       // (n,) ascending
    std::vector<int32_t> draws;      // (n,) how often each was drawn
    std::vector<int32_t> positions;  // (n,) 0, 1, ...
    std::vector<int32_t> place;      // (n_rows,) position of a row, -1 if it is not covered
    int64_t n_draws = 0;

    CoveredRows(const int32_t* counts, int64_t n_rows);
    void filter(const RuleColumns& columns, const RuleCondition& condition);
    int64_t size() const { return static_cast<int64_t>(rows.size()); }
};

// Covered rows by the value of one feature. The rows of the largest group, the pivot, are not
// listed: their sums are what is left of the total.
struct FeatureGroups {
    int32_t n_groups = 0;          // of known values; group n_groups is that of missing ones
    std::vector<uint32_t> codes;   // (n_groups,) ascending
    std::vector<int64_t> draws;    // (n_groups + 1,)
    std::vector<int64_t> offsets;  // (n_groups + 2,) into positions
    std::vector<int32_t> positions;
    int32_t pivot = 0;
    int64_t n_missing = 0;  // rows, not draws

    void find(const RuleColumns& columns, int32_t feature, const CoveredRows& covered);

  private:
    void find_dense(const RuleColumns& columns, int32_t feature, const CoveredRows& covered);
    void find_sparse(const RuleColumns& columns, int32_t feature, const CoveredRows& covered);
    void sort(int64_t n_bins, int64_t n_unlisted, int64_t unlisted_bin, int64_t unlisted_draws,
              const CoveredRows& covered);

    std::vector<int32_t> listed_;     // positions
    std::vector<uint32_t> bins_;      // their codes, n_bins for missing
    std::vector<int32_t> bin_rows_;   // rows per bin
    std::vector<int64_t> bin_draws_;  // draws per bin
    std::vector<int32_t> group_of_;   // group of a bin
};

// A candidate must beat another by more than rounding and the solvers' tolerance do.
constexpr double kBetter = 1.0 + 1e-9;

// The best refinement so far.
struct Refinement {
    double gain = 0.0;  // twice the fall of the objective (14)
    int32_t feature = -1;
    RuleOperator op = RuleOperator::known;
    int32_t group = 0;
    uint32_t code = 0, next_code = 0;  // of the group and, for thresholds, the group after it
    std::vector<int32_t> outputs;      // of the head, where the search chooses them
};

// What the scorers of one refinement share: statistics of the covered rows, and their total.
struct SearchRows {
    int32_t n_outputs = 0;
    AlignedVector<double> values;  // rows, one after the other
    AlignedVector<double> scale;   // (n,) coupled only
    AlignedVector<double> total, total_triangle;
    AlignedVector<double> dust;    // (n_outputs,) least curvature that counts
    AlignedVector<double> l2, l1;  // (n_outputs,) penalties
    int32_t vectors = 2;
    double current_gain = 0.0;  // of the rule as it is

    CoupledRows coupled() const { return {n_outputs, vectors, values.data(), scale.data()}; }
};

void gather_diagonal(const RuleStatistics& statistics, const CoveredRows& covered,
                     const std::vector<int32_t>& outputs, SearchRows& out);
// With label_bins > 0, outputs whose scores are alike share one.
void gather_coupled(const RuleStatistics& statistics, const CoveredRows& covered,
                    const std::vector<int32_t>& outputs, const RuleParams& params,
                    ThreadTeam& team, SearchRows& out);

// Offers every condition on one feature to a scorer. Running sums go from either end towards the
// pivot; the other side of a cut is the complement.
//     scorer.clear();  scorer.add(positions, n);
//     scorer.offer(op of the sum, op of the complement, group, draws of either);
//     scorer.set_known(draws): what was added is the total from now on;
//     scorer.subtract_known(draws): the total without what was added.
template <typename Scorer>
void scan_groups(const FeatureGroups& groups, bool is_categorical, int64_t n_draws,
                 Scorer& scorer) {
    using Op = RuleOperator;
    const int32_t n = groups.n_groups, pivot = groups.pivot;
    auto add = [&](int32_t g) {
        scorer.add(groups.positions.data() + groups.offsets[g],
                   groups.offsets[g + 1] - groups.offsets[g]);
    };
    int64_t known = n_draws;
    if (groups.n_missing > 0 && n > 0) {
        scorer.clear();
        known = n_draws - groups.draws[n];
        if (pivot == n) {
            for (int32_t g = 0; g < n; ++g) add(g);
            scorer.offer(Op::known, Op::missing, 0, known, groups.draws[n]);
            scorer.set_known();
        } else {
            add(n);
            scorer.offer(Op::missing, Op::known, 0, groups.draws[n], known);
            scorer.subtract_known();
        }
    }
    if (n < 2) return;
    if (is_categorical) {
        for (int32_t g = 0; g < n; ++g) {
            if (g == pivot && n == 2) continue;  // the other one's complement
            scorer.clear();
            const int64_t draws = groups.draws[g];
            if (g != pivot) {
                add(g);
                scorer.offer(Op::equal, Op::not_equal, g, draws, known - draws);
            } else {
                for (int32_t other = 0; other < n; ++other)
                    if (other != g) add(other);
                scorer.offer(Op::not_equal, Op::equal, g, known - draws, draws);
            }
        }
        return;
    }
    int64_t draws = 0;
    scorer.clear();
    for (int32_t g = 0; g < n - 1 && g < pivot; ++g) {
        add(g);
        draws += groups.draws[g];
        scorer.offer(Op::at_most, Op::above, g, draws, known - draws);
    }
    if (pivot >= n) return;
    draws = 0;
    scorer.clear();
    for (int32_t g = n - 1; g > pivot; --g) {
        add(g);
        draws += groups.draws[g];
        scorer.offer(Op::above, Op::at_most, g - 1, draws, known - draws);
    }
}

// Each finds the best condition on one feature.
void search_diagonal(const SearchRows& rows, const FeatureGroups& groups, bool is_categorical,
                     int64_t n_draws, bool chooses_outputs, const RuleParams& params,
                     Refinement& best);
void search_direct(const SearchRows& rows, const FeatureGroups& groups, bool is_categorical,
                   int64_t n_draws, const RuleParams& params, Refinement& best);
void search_by_gradients(const SearchRows& rows, const FeatureGroups& groups, bool is_categorical,
                         int64_t n_draws, const RuleParams& params, Refinement& best);

// The gain of all covered rows.
double diagonal_gain(const SearchRows& rows, const RuleParams& params);
double direct_gain(const SearchRows& rows);
double gain_by_gradients(const SearchRows& rows);

// The gradient after L1: towards zero by the penalty.
inline double soft_threshold(double gradient, double l1) {
    return gradient > l1 ? gradient - l1 : gradient < -l1 ? gradient + l1 : 0.0;
}

}  // namespace ramify
