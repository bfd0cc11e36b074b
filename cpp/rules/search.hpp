// The search for one refinement: groups of rows by value, and what scores their sums.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/aligned.hpp"
#include "kernels/rule_kernels.hpp"
#include "rules/rules.hpp"

namespace polyleaf {

// The rows of the sample that the rule covers so far. A position is the place of a row among those
// whose statistics were gathered last, which may have been more, or among all rows.
struct CoveredRows {
    std::vector<int32_t> rows;       // (n,) ascending
    std::vector<int32_t> positions;  // (n,)
    std::vector<int32_t> draws;      // by position: how often each was drawn
    std::vector<int32_t> place;      // (n_rows,) position of a row, -1 if it is not covered
    std::vector<int32_t> removed;    // positions that the last filter took away
    std::vector<int32_t> kept, kept_numbers;  // room for filter and renumber to work in

    // Rows with a positive count, which are their positions.
    void cover(const int32_t* counts, int64_t n_rows);
    void filter(const RuleColumns& columns, const RuleCondition& condition);
    void renumber();  // positions are 0, 1, ...
    int64_t size() const { return static_cast<int64_t>(rows.size()); }
    int64_t n_positions() const { return static_cast<int64_t>(draws.size()); }
};

// Covered rows by the value of one feature. The rows of the largest group, the pivot, are in none
// of the spans: their sums are what is left of the total.
struct FeatureGroups {
    int32_t n_groups = 0;          // of known values; group n_groups is that of missing ones
    std::vector<uint32_t> codes;   // (n_groups,) ascending; all four may be longer
    std::vector<int64_t> sizes;    // (n_groups + 1,) rows, however often each was drawn
    std::vector<int64_t> offsets;  // (n_groups + 2,) into positions
    std::vector<int32_t> positions;
    int32_t pivot = 0;
    int64_t n_missing = 0;

    void find(const RuleColumns& columns, int32_t feature, const CoveredRows& covered);

  private:
    void find_dense(const RuleColumns& columns, int32_t feature, const CoveredRows& covered);
    void find_sparse(const RuleColumns& columns, int32_t feature, const CoveredRows& covered);
    void find_pair(const RuleColumns& columns, int32_t feature, const CoveredRows& covered);
    void sort(int64_t n_bins, int64_t n_unlisted, int64_t unlisted_bin, const int32_t* listed,
              int64_t n_listed);
    int64_t first_largest() const;

    std::vector<int32_t> listed_;    // positions, of sparse features
    std::vector<uint32_t> bins_;     // their codes, n_bins for missing
    std::vector<int32_t> bin_rows_;  // rows per bin
    std::vector<int64_t> next_;
};

// Nanoseconds of work, roughly, from which on a second thread is worth calling: if others follow
// soon, so that it stays awake; and if not, or where much of what one processor has changed must
// reach the other, as for systems of many outputs.
constexpr int64_t kWorthThreads = 5'000;
constexpr int64_t kWorthWaking = 20'000;
// The same where outputs do not depend on each other: little is computed for what is read.
constexpr int64_t kWorthReading = 60'000;
inline int64_t least_coupled_work(int64_t n_outputs) {
    return n_outputs <= 32 ? kWorthThreads : kWorthWaking;
}

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
    AlignedVector<double> solution;    // the head, where the search can use it again
    AlignedVector<double> sums;        // of the rows it covers, if outputs do not depend on others
};

// The largest gain that any feature offers so far. It only serves to give up others: a candidate
// that may win or tie is never below `least`, so that the outcome does not depend on who is first.
class LargestGain {
  public:
    explicit LargestGain(double gain) : gain_(gain) {}
    void raise(double gain) {
        double known = gain_.load(std::memory_order_relaxed);
        while (gain > known && !gain_.compare_exchange_weak(known, gain)) {
        }
    }
    double least() const { return gain_.load(std::memory_order_relaxed) * (1.0 - 1e-8); }

  private:
    std::atomic<double> gain_;
};

// What the scorers of one refinement share: statistics of the covered rows, and their total.
// Vectors of outputs are padded with zeros.
struct SearchRows {
    int32_t n_outputs = 0;
    bool is_coupled = false;
    bool has_bounds = false;         // many coupled outputs: four sums instead of two
    bool is_logistic = false;        // rows are gradients alone, as in RuleStatistics
    const double* values = nullptr;  // rows of (gradient, diagonal), or of gradients alone
    const int32_t* draws = nullptr;  // by position: how often a row counts; null: once
    AlignedVector<double> scale;     // by position, coupled only
    const double* left = nullptr;    // by position, as in CoupledRows; with bounds only
    AlignedVector<double> total, total_triangle;
    AlignedVector<double> dust;    // (n_outputs,) least curvature that counts
    AlignedVector<double> l2, l1;  // (n_outputs,) penalties
    // Many outputs only, (n_outputs,): the head of the rule as it is, or 0, and the sum of the
    // Hessians times it.
    AlignedVector<double> solution, solution_product;

    int64_t block() const { return padded(n_outputs); }
    int64_t row_width() const { return is_logistic ? block() : 2 * block(); }
    int64_t width() const { return (has_bounds ? 4 : 2) * block(); }  // of sums
    CoupledRows coupled() const { return {n_outputs, values, scale.data(), draws, left}; }
    SystemTerms terms() const { return {n_outputs, l2.data(), l1.data(), dust.data()}; }
    // sums (2 * block(),) += the rows at the given positions, if no output depends on others.
    void add(const int32_t* positions, int64_t n, double* sums) const {
        const RuleKernels& kernels = rule_kernels();
        (is_logistic ? kernels.add_logistic_rows : kernels.add_rows)(values, row_width(),
                                                                     positions, n, draws, sums);
    }
    // Makes room for the values of n rows, with diagonals; of a single output, 0 where nothing is
    // ever written.
    double* own_values(int64_t n);
    double* own_single(int64_t n);
    // Takes the statistics as they are, all outputs: if these do not depend on each other, or are
    // so many that bounds are needed. `left` is by row.
    void refer(const RuleStatistics& statistics, const CoveredRows& covered);
    void refer_coupled(const RuleStatistics& statistics, const CoveredRows& covered,
                       const RuleParams& params, const double* left);
    double* own_left(int64_t n);
    // Adds the rows up; after a filter, subtracts those that were removed if they are fewer.
    void add_up(const CoveredRows& covered, ThreadTeam& team);
    void follow(const CoveredRows& covered, ThreadTeam& team);
    void set_total(const double* known);
    void multiply_solution();

  private:
    AlignedVector<double> gathered_, gathered_left_, sums_;
    AlignedVector<double> single_;  // rows of one output, which are 0 but for two numbers

    void add_to_total(const std::vector<int32_t>& positions, double sign, ThreadTeam& team);
    void set_dust();
};

void gather_diagonal(const RuleStatistics& statistics, const CoveredRows& covered,
                     const std::vector<int32_t>& outputs, SearchRows& out);
// With label_bins > 0, outputs whose scores are alike share one.
void gather_coupled(const RuleStatistics& statistics, const CoveredRows& covered,
                    const std::vector<int32_t>& outputs, const RuleParams& params,
                    ThreadTeam& team, SearchRows& out);
// vectors += those of the rows at the given positions (four if there are bounds, else two),
// triangle += sign * scale * gradient gradient'.
void add_coupled(const CoupledRows& rows, const int32_t* positions, int64_t n, double sign,
                 double* vectors, double* triangle, ThreadTeam& team);

// Offers every condition on one feature to a scorer. Running sums go from either end towards the
// pivot; the other side of a cut is the complement.
//     scorer.clear();  scorer.add(positions, n);
//     scorer.offer(op of the sum, op of the complement, group, rows of either);
//     scorer.set_known(): what was added is the total from now on;
//     scorer.subtract_known(): the total without what was added;
//     scorer.scan(groups, first, n, step, known): n cuts, one after the other from group `first`
//     on, upwards or downwards; see scan_cuts.
template <typename Scorer>
void scan_groups(const FeatureGroups& groups, bool is_categorical, int64_t n_covered,
                 Scorer& scorer) {
    using Op = RuleOperator;
    const int32_t n = groups.n_groups, pivot = groups.pivot;
    auto add = [&](int32_t g) {
        scorer.add(groups.positions.data() + groups.offsets[g],
                   groups.offsets[g + 1] - groups.offsets[g]);
    };
    int64_t known = n_covered;
    if (groups.n_missing > 0 && n > 0) {
        scorer.clear();
        known = n_covered - groups.sizes[n];
        if (pivot == n) {
            for (int32_t g = 0; g < n; ++g) add(g);
            scorer.offer(Op::known, Op::missing, 0, known, groups.sizes[n]);
            scorer.set_known();
        } else {
            add(n);
            scorer.offer(Op::missing, Op::known, 0, groups.sizes[n], known);
            scorer.subtract_known();
        }
    }
    if (n < 2) return;
    if (is_categorical) {
        for (int32_t g = 0; g < n; ++g) {
            if (g == pivot && n == 2) continue;  // the other one's complement
            scorer.clear();
            const int64_t size = groups.sizes[g];
            if (g != pivot) {
                add(g);
                scorer.offer(Op::equal, Op::not_equal, g, size, known - size);
            } else {
                for (int32_t other = 0; other < n; ++other)
                    if (other != g) add(other);
                scorer.offer(Op::not_equal, Op::equal, g, known - size, size);
            }
        }
        return;
    }
    scorer.scan(groups, 0, std::min(n - 1, pivot), 1, known);
    if (pivot < n) scorer.scan(groups, n - 1, n - 1 - pivot, -1, known);
}

// Adds n groups from `first` on, and offers what is added after each.
template <typename Scorer>
void scan_cuts(const FeatureGroups& groups, int32_t first, int32_t n, int32_t step, int64_t known,
               Scorer& scorer) {
    using Op = RuleOperator;
    int64_t size = 0;
    scorer.clear();
    for (int32_t i = 0, g = first; i < n; ++i, g += step) {
        scorer.add(groups.positions.data() + groups.offsets[g],
                   groups.offsets[g + 1] - groups.offsets[g]);
        size += groups.sizes[g];
        if (step > 0)
            scorer.offer(Op::at_most, Op::above, g, size, known - size);
        else
            scorer.offer(Op::above, Op::at_most, g - 1, size, known - size);
    }
}

// What a search for one refinement is given, the same for every feature.
struct RefinementSearch {
    const SearchRows& rows;
    const RuleParams& params;
    int64_t n_covered = 0;
    bool chooses_outputs = false;
    LargestGain& largest;
};

// Positions of rows with the same value.
struct RowSpan {
    const int32_t* positions;
    int64_t n;
};

// What a thread works with, kept from feature to feature.
struct SearchMemory {
    FeatureGroups groups;
    std::vector<RowSpan> spans;
    AlignedVector<double> total, sums, factors, work, exact;
};

// What an inducer works with, kept from rule to rule.
struct InducerMemory {
    CoveredRows covered;
    SearchRows rows;
    std::vector<SearchMemory> threads;
    std::vector<Refinement> found;   // by drawn feature
    std::vector<int32_t> marks;      // room for find_covered to work in
    std::vector<int32_t> body_rows;  // training rows that the last rule covers, ascending
    AlignedVector<double> left;      // by row, where bounds are needed; see note_changes

    // Brings what is kept about rows up to date with their statistics.
    void note_changes(const RuleStatistics& statistics, const RuleParams& params,
                      const int32_t* rows, int64_t n_rows);
};

// Leaves the rows of the rule in `memory.body_rows` alone.
InducedRule induce_rule(const RuleColumns& columns, const RuleStatistics& statistics,
                        const int32_t* counts, const RuleParams& params, ThreadTeam& team,
                        InducerMemory& memory);

// Each finds the best condition on the feature whose groups are in `memory`.
void search_diagonal(const RefinementSearch& search, SearchMemory& memory, bool is_categorical,
                     Refinement& best);
void search_direct(const RefinementSearch& search, SearchMemory& memory, bool is_categorical,
                   Refinement& best);
void search_by_gradients(const RefinementSearch& search, SearchMemory& memory, bool is_categorical,
                         Refinement& best);

// The outputs of the head of a rule that covers all rows; at least one.
std::vector<int32_t> best_outputs(const SearchRows& rows, const RuleParams& params);
// The gain of all covered rows.
double diagonal_gain(const SearchRows& rows, const RuleParams& params);
double coupled_gain(const SearchRows& rows);
// Solves (16) for sums of rows: vectors (gradient, diagonal) and triangle. Returns g' A^-1 g.
double solve_sums(int32_t n_outputs, const double* vectors, const double* triangle,
                  const double* l2, const double* l1, const double* dust, double* head);

// The gradient after L1: towards zero by the penalty.
inline double soft_threshold(double gradient, double l1) {
    return gradient > l1 ? gradient - l1 : gradient < -l1 ? gradient + l1 : 0.0;
}

}  // namespace polyleaf
