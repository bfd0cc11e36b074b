// Boosted rules (Rapp et al. 2020): refining one rule, its head, and predicting with many.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/aligned.hpp"
#include "base/data.hpp"
#include "base/parallel.hpp"

namespace polyleaf {

enum class RuleOperator : uint8_t {
    at_most = 0,
    above = 1,
    equal = 2,
    not_equal = 3,
    missing = 4,
    known = 5,
};
constexpr int kRuleOperators = 6;

// Derivatives of the loss of every row, weights included. The Hessian of row n is
//     diag(diagonal[n]) - coupling[n] * gradient[n] gradient[n]',
// without the second term if the loss is decomposable (coupling is null).
// A row of `values` is the gradient and the diagonal, each padded with zeros (padded() in
// rule_kernels.hpp); or the gradient g alone where the loss is the logistic one of each label (6),
// whose second derivative is |g| - g^2.
struct RuleStatistics {
    int64_t n_rows = 0;
    int32_t n_outputs = 0;
    int64_t block = 0;                 // n_outputs, padded
    bool is_logistic = false;          // rows are gradients of (6)
    const double* values = nullptr;    // (n_rows, row_width())
    const double* coupling = nullptr;  // (n_rows,) or null

    int64_t row_width() const { return is_logistic ? block : 2 * block; }
    const double* gradient(int64_t row) const { return values + row * row_width(); }
    // Only of the rows that have one.
    const double* diagonal(int64_t row) const { return gradient(row) + block; }
    // Of any row, without the coupling.
    double curvature(int64_t row, int32_t output) const {
        const double* g = gradient(row) + output;
        return is_logistic ? std::fabs(*g) - *g * *g : g[block];
    }
};

struct RuleParams {
    double l2_regularization = 0.0;
    double l1_regularization = 0.0;
    int64_t max_features = 1;     // drawn anew for every refinement
    int64_t max_conditions = -1;  // -1: no limit
    int64_t min_coverage = 1;     // rows of the sample that a rule must cover
    int64_t head_size = 0;        // 0: all outputs; otherwise the number of outputs in a head
    double head_share = 0.0;      // above 0: outputs whose gain is this share of the largest
    int64_t label_bins = 0;       // 0: none; otherwise bins for either sign of the scores
    // Systems of more outputs than this are solved by conjugate gradients, others by Cholesky.
    int64_t direct_max_outputs = 32;
    uint64_t seed = 0;
    int32_t n_threads = 1;
};

// One condition: in values for prediction, in codes for the training rows.
struct RuleCondition {
    int32_t feature = 0;
    RuleOperator op = RuleOperator::known;
    double value = 0.0;  // threshold or category code
    uint32_t code = 0;   // at_most and above: the last bin below the threshold
};

struct InducedRule {
    std::vector<RuleCondition> conditions;
    std::vector<int32_t> outputs;    // of the head, ascending; empty: all, which is complete
    std::vector<double> objectives;  // (14) on the sample after each refinement, falling
    std::vector<int32_t> rows;       // training rows that the body covers, ascending
};

// A condition in values, also in codes; between bins, the two agree on all training rows.
RuleCondition read_condition(const BinnedView& binned, int32_t feature, RuleOperator op,
                             double value);

// Reads codes of single features; sparse ones are transposed once.
class RuleColumns {
  public:
    explicit RuleColumns(const BinnedView& binned);

    const BinnedView& binned() const { return binned_; }
    bool is_sparse(int32_t feature) const { return slot_[feature] < 0; }
    // Calls take(row, code) for the listed rows of a sparse feature; missing is kMissingU32.
    template <typename Take>
    void for_listed(int32_t feature, Take&& take) const {
        const int32_t slot = -1 - slot_[feature];
        const int64_t begin = offsets_[slot], end = offsets_[slot + 1];
        if (!codes_.empty()) {
            for (int64_t e = begin; e < end; ++e) take(rows_[e], codes_[e]);
            return;
        }
        const uint32_t code = 1 - binned_.sparse_default[slot];
        for (int64_t e = begin; e < end; ++e) take(rows_[e], code);
    }
    int64_t n_listed(int32_t feature) const {
        const int32_t slot = -1 - slot_[feature];
        return offsets_[slot + 1] - offsets_[slot];
    }
    const int32_t* listed(int32_t feature) const {
        return rows_.data() + offsets_[-1 - slot_[feature]];
    }
    uint32_t default_code(int32_t feature) const {
        return binned_.sparse_default[-1 - slot_[feature]];
    }
    // Calls use(code_of), with code_of(row) the code of a row of a dense feature.
    template <typename Use>
    void read(int32_t feature, Use&& use) const {
        const int64_t place = slot_[feature];
        const int64_t start =
            place / kTileFeatures * binned_.n_rows * kTileFeatures + place % kTileFeatures;
        if (binned_.codes_u32 != nullptr) {
            const uint32_t* codes = binned_.codes_u32 + start;
            use([codes](int64_t row) { return codes[row * kTileFeatures]; });
            return;
        }
        const uint8_t* codes = binned_.codes_u8 + start;
        use([codes](int64_t row) {
            const uint32_t code = codes[row * kTileFeatures];
            return code == kMissingU8 ? kMissingU32 : code;
        });
    }
    // Keeps the rows (ascending) that satisfy the condition.
    void filter(const RuleCondition& condition, std::vector<int32_t>& rows) const;
    static bool satisfies(const RuleCondition& condition, uint32_t code);
    // rows = all that satisfy all conditions, ascending; `marks` is room to work in.
    void find_covered(const std::vector<RuleCondition>& conditions, std::vector<int32_t>& marks,
                      std::vector<int32_t>& rows) const;
    // counts[i]: rows that satisfy the first i + 1 conditions; the vectors are room to work in.
    void count_prefixes(const std::vector<RuleCondition>& conditions, std::vector<int32_t>& stages,
                        std::vector<int32_t>& alive, int64_t* counts) const;

  private:
    BinnedView binned_;
    std::vector<int32_t> slot_;  // (n_features,) place among the dense, or -1 - place if sparse
    std::vector<int64_t> offsets_;
    AlignedVector<int32_t> rows_;
    AlignedVector<uint32_t> codes_;  // empty if all sparse features have two values
};

// Alg. 3: refines a rule greedily on the rows with a positive count.
InducedRule induce_rule(const RuleColumns& columns, const RuleStatistics& statistics,
                        const int32_t* counts, const RuleParams& params, ThreadTeam& team);

// Alg. 2: solves (16), or (17) where outputs do not depend on each other, for the given outputs
// (null: all of them) over the given rows. Outputs without curvature get 0. Returns what the head
// gains: twice the fall of the objective.
double find_head(const RuleStatistics& statistics, const int32_t* rows, int64_t n_rows,
                 const int32_t* outputs, int32_t n_head, const RuleParams& params,
                 ThreadTeam& team, double* head);

// scores of the given rows and outputs (null: all of them) += head, and their statistics follow:
// those of the logistic loss of each label (6), or of all labels of a row (7). Labels are -1 and
// +1. `is_current` tells whether the statistics are those of the scores as they are; if not, those
// of the given rows and outputs are by the end.
struct RuleScores {
    const int8_t* labels = nullptr;  // (n_rows, n_outputs)
    double* scores = nullptr;        // (n_rows, n_outputs)
    double* values = nullptr;        // as in RuleStatistics
    int32_t n_outputs = 0;
};
void add_head(const RuleScores& to, bool is_examplewise, bool is_current, const int32_t* rows,
              int64_t n_rows, const int32_t* outputs, int32_t n_head, const double* head,
              ThreadTeam& team);

// Halves a head until the loss of the rows it covers does not rise with it: (6) of each label, or
// (7) of whole rows. `is_newton`: the head is `rate` times the minimiser of the objective at the
// scores, without an L1 penalty; then a bound spares most heads a look at the rows.
struct LabelScores {
    const int8_t* labels = nullptr;  // (n_rows, n_outputs), -1 or 1
    const double* scores = nullptr;  // (n_rows, n_outputs)
    int32_t n_outputs = 0;
};
void guard_head(const LabelScores& at, bool is_examplewise, const int32_t* rows, int64_t n_rows,
                const int32_t* outputs, int32_t n_head, double rate, bool is_newton,
                ThreadTeam& team, double* head);

// How often each row is drawn for a rule (Alg. 1, line 5): as many rows as there are, with
// replacement. counts (n_rows,) is overwritten; rows that are not listed are never drawn.
void draw_sample(uint64_t seed, const int32_t* rows, int64_t n, int32_t* counts, int64_t n_rows);

struct LearntRule {
    InducedRule body;          // without its rows
    int64_t coverage = 0;      // rows
    std::vector<double> head;  // of body.outputs, after shrinkage
    double gain = 0.0;         // fall of the objective (14) on all rows it covers
};

// What changes while rules are added: scores, and the statistics that belong to them.
struct RuleTraining {
    RuleScores scores;
    const double* coupling = nullptr;  // null: (6), else (7)
    int64_t n_rows = 0;
    double learning_rate = 1.0;
    bool bootstrap = true;
    bool is_guarded = false;  // heads that would raise the loss are halved
};

// Alg. 1, lines 4 to 9: learns a rule for every seed, one after the other, for labels that are all
// observed and count alike.
std::vector<LearntRule> learn_rules(const RuleColumns& columns, const RuleTraining& training,
                                    const uint64_t* seeds, int64_t n_seeds, RuleParams params,
                                    ThreadTeam& team);

// Bins of all features: those of feature f are offsets[f] up to offsets[f + 1].
struct BinTable {
    const int64_t* offsets = nullptr;
    const double* low = nullptr;  // ascending within a feature
    const double* high = nullptr;
};

// digits (n,) = with how many each threshold stays between its neighbours among the values, at
// most `most`; 1 for other conditions.
void count_threshold_digits(const BinTable& bins, const int32_t* feature, const uint8_t* op,
                            const double* value, int64_t n, int most, uint8_t* digits);

struct RuleSetView {
    int64_t n_rules = 0;
    const int64_t* body_offsets = nullptr;  // (n_rules + 1,)
    const int32_t* feature = nullptr;
    const uint8_t* op = nullptr;
    const double* value = nullptr;
    const int64_t* head_offsets = nullptr;  // (n_rules + 1,)
    const int32_t* output = nullptr;
    const double* score = nullptr;
};

// scores (n_rows, n_outputs) += heads of the rules that cover each row of X (n_rows, n_features).
void add_rule_scores(const RuleSetView& rules, const double* X, int64_t n_rows, int64_t n_features,
                     int64_t n_outputs, double* scores, ThreadTeam& team);

// covers (n_rows, n_rules) = whether each rule covers each row.
void find_rule_coverage(const RuleSetView& rules, const double* X, int64_t n_rows,
                        int64_t n_features, uint8_t* covers, ThreadTeam& team);

}  // namespace polyleaf
