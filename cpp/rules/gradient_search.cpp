// Scores conditions on many outputs by preconditioned conjugate gradients, warm-started along the
// thresholds. A candidate is given up as soon as it cannot be the best: with residual r and a
// diagonal B below the matrix A, what is left to gain is r' A^-1 r <= r' B^-1 r. The first such
// bound, with the head of the rule as it is, takes running sums of vectors only. Products with the
// matrix go over the rows of the sum while these are few, and over their triangle beyond.
#include <cmath>

#include "rules/search.hpp"

namespace polyleaf {

namespace {

// Relative error of a gain at which a system counts as solved.
constexpr double kTolerance = 1e-11;

class GradientScorer {
  public:
    GradientScorer(const RefinementSearch& search, SearchMemory& memory, Refinement& best)
        : rows_(search.rows),
          min_coverage_(search.params.min_coverage),
          largest_(search.largest),
          best_(best),
          kernels_(rule_kernels()),
          n_(rows_.n_outputs),
          block_(rows_.block()),
          sums_(memory.sums),
          triangle_(memory.factors),
          total_(memory.total),
          own_total_triangle_(memory.exact),
          total_triangle_(rows_.total_triangle.data()),
          vectors_(memory.work),
          spans_(memory.spans) {
        spans_.clear();
        sums_.assign(rows_.width(), 0.0);
        total_ = rows_.total;
        vectors_.resize(15 * block_);
        double* next = vectors_.data();
        for (double** v : {&start_[0], &start_[1], &gradient_, &diagonal_, &inverse_, &bound_,
                           &residual_, &direction_, &product_, &other_product_, &x_, &head_sum_,
                           &head_product_, &head_total_, &fresh_}) {
            *v = next;
            next += block_;
            std::fill_n(next - kSystems, kSystems, 0.0);  // the padding stays 0
        }
        std::fill_n(direction_, block_, 0.0);
        std::fill_n(head_sum_, block_, 0.0);
        for (double* start : start_) std::copy_n(rows_.solution.data(), block_, start);
        std::copy_n(rows_.solution_product.data(), block_, head_total_);
        has_head_ = std::any_of(rows_.solution.begin(), rows_.solution.end(),
                                [](double x) { return x != 0.0; });
    }

    void clear() {
        std::fill(sums_.begin(), sums_.end(), 0.0);
        std::fill_n(head_product_, block_, 0.0);
        spans_.clear();
        n_rows_ = 0;
        n_in_triangle_ = 0;
    }
    void add(const int32_t* positions, int64_t n) {
        kernels_.add_bounded_rows(rows_.coupled(), positions, n, sums_.data());
        if (has_head_)
            kernels_.add_products(rows_.coupled(), positions, n, rows_.solution.data(), head_sum_,
                                  head_product_);
        spans_.push_back({positions, n});
        n_rows_ += n;
    }
    void scan(const FeatureGroups& groups, int32_t first, int32_t n, int32_t step, int64_t known) {
        is_only_cut_ = n == 1;
        scan_cuts(groups, first, n, step, known, *this);
    }
    void set_known() {
        fill_triangle();
        total_ = sums_;
        own_total_triangle_ = triangle_;
        total_triangle_ = own_total_triangle_.data();
        std::copy_n(head_product_, block_, head_total_);
    }
    void subtract_known() {
        fill_triangle();
        for (size_t i = 0; i < total_.size(); ++i) total_[i] -= sums_[i];
        own_total_triangle_ = rows_.total_triangle;
        for (size_t i = 0; i < triangle_.size(); ++i) own_total_triangle_[i] -= triangle_[i];
        total_triangle_ = own_total_triangle_.data();
        for (int32_t k = 0; k < n_; ++k) head_total_[k] -= head_product_[k];
    }
    void offer(RuleOperator op, RuleOperator other, int32_t group, int64_t size,
               int64_t other_size) {
        if (size >= min_coverage_) score(op, group, false);
        if (other_size >= min_coverage_) score(other, group, true);
    }

  private:
    void score(RuleOperator op, int32_t group, bool complement) {
        is_complement_ = complement;
        if (!set_system() || !may_win()) return;
        double gain = 0.0;
        if (!solve(start_[complement], gain) || !(gain > best_.gain * kBetter)) return;
        // Which thresholds were given up before depends on other threads, and the last digits on
        // that; what is kept must not.
        std::copy_n(rows_.solution.data(), block_, fresh_);
        if (!solve(fresh_, gain)) return;
        best_.gain = gain;
        best_.op = op;
        best_.group = group;
        best_.solution.assign(x_, x_ + block_);
        largest_.raise(gain);
    }

    double least() const { return std::max(best_.gain, largest_.least()); }

    // False if no output has a gradient.
    bool set_system() {
        return kernels_.set_gradient_system(system(), rows_.terms(), sums_.data(),
                                            is_complement_ ? total_.data() : nullptr);
    }
    GradientSystem system() const { return {diagonal_, bound_, inverse_, gradient_}; }

    // Bounds the gain from the head of the rule as it is, and from none.
    bool may_win() {
        const double least_gain = least();
        for (int32_t k = 0; k < n_; ++k) residual_[k] = -gradient_[k];
        if (left_to_gain() <= least_gain) return false;
        if (!has_head_) return true;
        const double* x = rows_.solution.data();
        double gain = 0.0;
        for (int32_t k = 0; k < n_; ++k) {
            const double product =
                is_complement_ ? head_total_[k] - head_product_[k] : head_product_[k];
            residual_[k] = -gradient_[k] - product - rows_.l2[k] * x[k];
            gain += x[k] * (residual_[k] - gradient_[k]);
        }
        return gain + left_to_gain() > least_gain;
    }

    // The sum of a few rows is never worth a triangle. That of more is, unless few products are
    // wanted, as for a feature with one cut: how many depends on this system alone.
    bool is_by_rows() const {
        constexpr int kFewProducts = 5;
        return n_rows_ < n_ / 2 || (is_only_cut_ && n_products_ <= kFewProducts);
    }

    void fill_triangle() {
        if (n_in_triangle_ == 0) triangle_.assign(triangle_size(n_), 0.0);
        for (; n_in_triangle_ < spans_.size(); ++n_in_triangle_)
            kernels_.add_triangle(rows_.coupled(), spans_[n_in_triangle_].positions,
                                  spans_[n_in_triangle_].n, 0, block_ / kSystems, 1.0,
                                  triangle_.data());
    }

    // y = A x.
    void multiply(const double* x, double* y) {
        ++n_products_;
        if (is_by_rows()) {
            std::fill_n(y, block_, 0.0);
            for (const RowSpan& span : spans_)
                kernels_.add_products(rows_.coupled(), span.positions, span.n, x, nullptr, y);
            for (int32_t k = 0; k < n_; ++k) y[k] = sums_[block_ + k] * x[k] - y[k];
        } else {
            fill_triangle();
            kernels_.symmetric_product(triangle_.data(), n_, x, y);
        }
        if (is_complement_) {
            kernels_.symmetric_product(total_triangle_, n_, x, other_product_);
            for (int32_t k = 0; k < n_; ++k) y[k] = other_product_[k] - y[k];
        }
        for (int32_t k = 0; k < n_; ++k) y[k] = diagonal_[k] * x[k] - y[k];
    }

    double left_to_gain() const { return kernels_.left_to_gain(residual_, bound_, block_); }

    // Solves A x = -g from `start`, which becomes the solution. False if the gain stays below the
    // largest so far for certain.
    bool solve(double* start, double& gain) {
        const double least_gain = least();
        gain = 0.0;
        n_products_ = 0;
        for (int32_t k = 0; k < n_; ++k) x_[k] = inverse_[k] > 0.0 ? start[k] : 0.0;
        multiply(x_, product_);
        gain = kernels_.start_gradients(system(), product_, block_, x_, residual_);
        double last = 0.0;
        for (int32_t step = 0; step < 4 * n_ + 50; ++step) {
            if (gain + left_to_gain() <= least_gain) return false;
            const double slope = kernels_.scaled_square(residual_, inverse_, block_);
            if (slope <= kTolerance * std::fabs(gain)) break;
            const double beta = step == 0 ? 0.0 : slope / last;
            kernels_.next_direction(residual_, inverse_, beta, block_, direction_);
            multiply(direction_, product_);
            const double curvature = kernels_.masked_dot(direction_, inverse_, product_, block_);
            if (!(curvature > 0.0)) break;
            const double length = slope / curvature;
            kernels_.step_along(direction_, product_, length, block_, x_, residual_);
            gain += length * slope;
            last = slope;
        }
        std::copy_n(x_, block_, start);
        return true;
    }

    const SearchRows& rows_;
    const int64_t min_coverage_;
    LargestGain& largest_;
    Refinement& best_;
    const RuleKernels& kernels_;
    const int32_t n_;
    const int64_t block_;
    bool is_complement_ = false, has_head_ = false;
    int64_t n_rows_ = 0;
    size_t n_in_triangle_ = 0;  // spans
    bool is_only_cut_ = false;
    int n_products_ = 0;  // for the system at hand
    AlignedVector<double>&sums_, &triangle_, &total_, &own_total_triangle_;
    const double* total_triangle_;
    AlignedVector<double>& vectors_;
    std::vector<RowSpan>& spans_;
    double* start_[2];  // the last solution on either side
    double *gradient_, *diagonal_, *inverse_, *bound_;
    double *residual_, *direction_, *product_, *other_product_, *x_;
    double *head_sum_, *head_product_, *head_total_;  // products with the head as it is
    double* fresh_;                                   // where a solution that is kept starts from
};

}  // namespace

void search_by_gradients(const RefinementSearch& search, SearchMemory& memory, bool is_categorical,
                         Refinement& best) {
    GradientScorer scorer(search, memory, best);
    scan_groups(memory.groups, is_categorical, search.n_covered, scorer);
}

}  // namespace polyleaf
