// Scores conditions on many outputs by preconditioned conjugate gradients, warm-started along the
// thresholds. A candidate is given up as soon as it cannot be the best: with residual r and a
// diagonal B below the matrix, what is left to gain is r' A^-1 r <= r' B^-1 r.
#include <cmath>

#include "rule_search.hpp"

namespace ramify {

namespace {

// Relative error of a gain at which a system counts as solved.
constexpr double kTolerance = 1e-11;

class GradientScorer {
  public:
    GradientScorer(const SearchRows& rows, int64_t min_coverage, Refinement& best)
        : rows_(rows),
          min_coverage_(min_coverage),
          best_(best),
          kernels_(rule_kernels()),
          n_(rows.n_outputs),
          block_(padded(rows.n_outputs)),
          vectors_(3 * block_, 0.0),
          triangle_(triangle_size(rows.n_outputs), 0.0),
          total_(rows.total.begin(), rows.total.end()),
          total_triangle_(rows.total_triangle) {
        for (auto* v : {&start_[0], &start_[1], &gradient_, &diagonal_, &inverse_, &bound_,
                        &residual_, &direction_, &product_, &other_product_, &x_})
            v->assign(block_, 0.0);
    }

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
        for (size_t i = 0; i < total_.size(); ++i) total_[i] -= vectors_[i];
        for (size_t i = 0; i < triangle_.size(); ++i) total_triangle_[i] -= triangle_[i];
    }
    void offer(RuleOperator op, RuleOperator other, int32_t group, int64_t draws,
               int64_t other_draws) {
        if (draws >= min_coverage_) score(op, group, false);
        if (other_draws >= min_coverage_) score(other, group, true);
    }
    double gain_of_total() {
        clear();
        double gain = 0.0;
        is_complement_ = true;
        if (set_system()) solve(-1.0, start_[1], gain);
        return gain;
    }

  private:
    void score(RuleOperator op, int32_t group, bool complement) {
        is_complement_ = complement;
        if (!set_system()) return;
        double gain = 0.0;
        if (!solve(best_.gain, start_[complement], gain) || !(gain > best_.gain * kBetter)) return;
        best_.gain = gain;
        best_.op = op;
        best_.group = group;
    }

    double summed(int64_t at) const {
        return is_complement_ ? total_[at] - vectors_[at] : vectors_[at];
    }

    // False if no output has a gradient.
    bool set_system() {
        bool has_gradient = false;
        for (int32_t k = 0; k < n_; ++k) {
            const int64_t at = triangle_offset(k) + k;
            const double coupling =
                is_complement_ ? total_triangle_[at] - triangle_[at] : triangle_[at];
            diagonal_[k] = summed(block_ + k);
            const double curvature = diagonal_[k] - coupling;
            const bool counts = curvature > rows_.dust[k] && curvature + rows_.l2[k] > 0.0;
            diagonal_[k] += rows_.l2[k];
            bound_[k] = std::fmax(summed(2 * block_ + k), 0.0) + rows_.l2[k];
            inverse_[k] = counts ? 1.0 / (curvature + rows_.l2[k]) : 0.0;
            gradient_[k] = counts ? soft_threshold(summed(k), rows_.l1[k]) : 0.0;
            has_gradient |= gradient_[k] != 0.0;
        }
        return has_gradient;
    }

    // y = A x.
    void multiply(const AlignedVector<double>& x, AlignedVector<double>& y) {
        kernels_.symmetric_product(triangle_.data(), n_, x.data(), y.data());
        if (is_complement_) {
            kernels_.symmetric_product(total_triangle_.data(), n_, x.data(),
                                       other_product_.data());
            for (int32_t k = 0; k < n_; ++k) y[k] = other_product_[k] - y[k];
        }
        for (int32_t k = 0; k < n_; ++k) y[k] = diagonal_[k] * x[k] - y[k];
    }

    double left_to_gain() const {
        double most = 0.0;
        for (int32_t k = 0; k < n_; ++k)
            if (residual_[k] != 0.0) most += residual_[k] * residual_[k] / bound_[k];
        return most;
    }

    // Solves A x = -g from `start`, which becomes the solution. False if the gain stays below
    // `least` for certain.
    bool solve(double least, AlignedVector<double>& start, double& gain) {
        for (int32_t k = 0; k < n_; ++k) residual_[k] = -gradient_[k];
        gain = 0.0;
        if (left_to_gain() <= least) return false;
        for (int32_t k = 0; k < n_; ++k) x_[k] = inverse_[k] > 0.0 ? start[k] : 0.0;
        multiply(x_, product_);
        for (int32_t k = 0; k < n_; ++k) {
            residual_[k] = inverse_[k] > 0.0 ? -gradient_[k] - product_[k] : 0.0;
            gain += x_[k] * (residual_[k] - gradient_[k]);
        }
        double last = 0.0;
        for (int32_t step = 0; step < 4 * n_ + 50; ++step) {
            if (gain + left_to_gain() <= least) return false;
            double slope = 0.0;
            for (int32_t k = 0; k < n_; ++k) slope += residual_[k] * residual_[k] * inverse_[k];
            if (slope <= kTolerance * std::fabs(gain)) break;
            const double beta = step == 0 ? 0.0 : slope / last;
            for (int32_t k = 0; k < n_; ++k)
                direction_[k] = inverse_[k] * residual_[k] + beta * direction_[k];
            multiply(direction_, product_);
            double curvature = 0.0;
            for (int32_t k = 0; k < n_; ++k) {
                if (inverse_[k] == 0.0) product_[k] = 0.0;
                curvature += direction_[k] * product_[k];
            }
            if (!(curvature > 0.0)) break;
            const double length = slope / curvature;
            for (int32_t k = 0; k < n_; ++k) {
                x_[k] += length * direction_[k];
                residual_[k] -= length * product_[k];
            }
            gain += length * slope;
            last = slope;
        }
        start = x_;
        return true;
    }

    const SearchRows& rows_;
    const int64_t min_coverage_;
    Refinement& best_;
    const RuleKernels& kernels_;
    const int32_t n_;
    const int64_t block_;
    bool is_complement_ = false;
    AlignedVector<double> vectors_, triangle_, total_, total_triangle_;
    AlignedVector<double> start_[2];  // the last solution on either side
    AlignedVector<double> gradient_, diagonal_, inverse_, bound_;
    AlignedVector<double> residual_, direction_, product_, other_product_, x_;
};

}  // namespace

void search_by_gradients(const SearchRows& rows, const FeatureGroups& groups, bool is_categorical,
                         int64_t n_draws, const RuleParams& params, Refinement& best) {
    GradientScorer scorer(rows, params.min_coverage, best);
    scan_groups(groups, is_categorical, n_draws, scorer);
}

double gain_by_gradients(const SearchRows& rows) {
    Refinement unused;
    return GradientScorer(rows, 1, unused).gain_of_total();
}

}  // namespace ramify
