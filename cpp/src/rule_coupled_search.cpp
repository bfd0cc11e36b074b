// Scores conditions by solving (16) directly, several candidates side by side.
#include "rule_search.hpp"

namespace ramify {

namespace {

class DirectScorer {
  public:
    DirectScorer(const SearchRows& rows, int64_t min_coverage, Refinement& best)
        : rows_(rows),
          min_coverage_(min_coverage),
          best_(best),
          kernels_(rule_kernels()),
          block_(padded(rows.n_outputs)),
          vectors_(2 * block_, 0.0),
          triangle_(triangle_size(rows.n_outputs), 0.0),
          total_(rows.total.begin(), rows.total.begin() + 2 * block_),
          total_triangle_(rows.total_triangle),
          matrix_(int64_t{rows.n_outputs} * (rows.n_outputs + 1) / 2 * kSystems, 0.0),
          factor_(matrix_.size(), 0.0),
          gradient_(int64_t{rows.n_outputs} * kSystems, 0.0) {}

    void clear() {
        std::fill(vectors_.begin(), vectors_.end(), 0.0);
        std::fill(triangle_.begin(), triangle_.end(), 0.0);
    }
    void add(const int32_t* positions, int64_t n) {
        kernels_.add_coupled(rows_.coupled(), positions, n, {vectors_.data(), triangle_.data()});
    }
    void set_known() {
        total_ = vectors_;
        total_triangle_ = triangle_;
    }
    void subtract_known() {
        flush();
        for (size_t i = 0; i < total_.size(); ++i) total_[i] -= vectors_[i];
        for (size_t i = 0; i < triangle_.size(); ++i) total_triangle_[i] -= triangle_[i];
    }
    void offer(RuleOperator op, RuleOperator other, int32_t group, int64_t draws,
               int64_t other_draws) {
        if (draws >= min_coverage_) enter<false>(op, group);
        if (other_draws >= min_coverage_) enter<true>(other, group);
    }
    void flush() {
        if (n_entered_ == 0) return;
        double gains[kSystems];
        kernels_.direct_gains(rows_.n_outputs, matrix_.data(), gradient_.data(), factor_.data(),
                              gains);
        for (int s = 0; s < n_entered_; ++s) {
            if (!(gains[s] > best_.gain * kBetter)) continue;
            best_.gain = gains[s];
            best_.op = ops_[s];
            best_.group = groups_[s];
        }
        n_entered_ = 0;
    }
    double gain_of_total() {
        std::copy(total_.begin(), total_.end(), vectors_.begin());
        triangle_ = total_triangle_;
        enter<false>(RuleOperator::known, 0);
        double gains[kSystems];
        kernels_.direct_gains(rows_.n_outputs, matrix_.data(), gradient_.data(), factor_.data(),
                              gains);
        return gains[0];
    }

  private:
    template <bool Complement>
    double summed(const AlignedVector<double>& sums, const AlignedVector<double>& total,
                  int64_t at) const {
        return Complement ? total[at] - sums[at] : sums[at];
    }

    // Writes one system into the next free place. Outputs without curvature are left out.
    template <bool Complement>
    void enter(RuleOperator op, int32_t group) {
        const int32_t n = rows_.n_outputs;
        double* matrix = matrix_.data() + n_entered_;
        double* gradient = gradient_.data() + n_entered_;
        const double* line = triangle_.data();
        const double* total_line = total_triangle_.data();
        for (int32_t i = 0; i < n; ++i) {
            for (int32_t j = 0; j < i; ++j)
                matrix[j * kSystems] = -(Complement ? total_line[j] - line[j] : line[j]);
            const double curvature = summed<Complement>(vectors_, total_, block_ + i) -
                                     (Complement ? total_line[i] - line[i] : line[i]);
            const double diagonal = curvature + rows_.l2[i];
            const double g = summed<Complement>(vectors_, total_, i);
            if (curvature > rows_.dust[i] && diagonal > 0.0) {
                matrix[i * kSystems] = diagonal;
                gradient[i * kSystems] = soft_threshold(g, rows_.l1[i]);
            } else {
                matrix[i * kSystems] = 0.0;  // a vanishing pivot
                gradient[i * kSystems] = 0.0;
            }
            matrix += (i + 1) * kSystems;
            line += padded(i + 1);
            total_line += padded(i + 1);
        }
        ops_[n_entered_] = op;
        groups_[n_entered_] = group;
        if (++n_entered_ == kSystems) flush();
    }

    const SearchRows& rows_;
    const int64_t min_coverage_;
    Refinement& best_;
    const RuleKernels& kernels_;
    const int64_t block_;
    AlignedVector<double> vectors_, triangle_, total_, total_triangle_;
    AlignedVector<double> matrix_, factor_, gradient_;
    RuleOperator ops_[kSystems] = {};
    int32_t groups_[kSystems] = {};
    int n_entered_ = 0;
};

}  // namespace

void search_direct(const SearchRows& rows, const FeatureGroups& groups, bool is_categorical,
                   int64_t n_draws, const RuleParams& params, Refinement& best) {
    DirectScorer scorer(rows, params.min_coverage, best);
    scan_groups(groups, is_categorical, n_draws, scorer);
    scorer.flush();
}

double direct_gain(const SearchRows& rows) {
    Refinement unused;
    return DirectScorer(rows, 1, unused).gain_of_total();
}

}  // namespace ramify
