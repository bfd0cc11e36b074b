// Scores conditions by solving (16) directly, several candidates side by side.
//
// Along the thresholds of a feature, systems are solved at every few candidates only. Between two
// of these a sum of rows grows, and its matrix A with it, so that with the solution x and the
// matrix B <= A where the sum is smaller, and the residual r = g + A x, the gain of a candidate is
//     -x' (g + r) + r' A^-1 r  <=  -x' (g + r) + r' B^-1 r.
// All of it follows from running sums of vectors. Only candidates whose bound is above the largest
// gain so far are solved themselves.
#include "rules/search.hpp"

namespace polyleaf {

namespace {

// Candidates from one solved system to the next.
constexpr int64_t kSpan = 2 * kSystems;
// A factor with a smaller pivot (as a share of its diagonal) bounds nothing reliably.
constexpr double kLeastPivot = 1e-6;

class DirectScorer {
  public:
    DirectScorer(const RefinementSearch& search, SearchMemory& memory, Refinement& best)
        : rows_(search.rows),
          min_coverage_(search.params.min_coverage),
          largest_(search.largest),
          memory_(memory),
          best_(best),
          kernels_(rule_kernels()),
          n_(rows_.n_outputs),
          block_(rows_.block()),
          size_(2 * block_ + triangle_size(n_)),
          spans_(memory.spans) {
        spans_.clear();
        memory_.total.resize(size_);
        std::copy(rows_.total.begin(), rows_.total.begin() + 2 * block_, memory_.total.begin());
        std::copy(rows_.total_triangle.begin(), rows_.total_triangle.end(),
                  memory_.total.begin() + 2 * block_);
        const int64_t kept = kept_size(), worked = worked_size();
        memory_.exact.assign(kept + worked, 0.0);
        exact_ = batch_at(memory_.exact.data(), memory_.exact.data() + kept);
        memory_.work.assign(worked + (3 + kSystems) * block_, 0.0);
        residuals_ = memory_.work.data() + worked;
        x_ = residuals_ + kSystems * block_;
        gradient_ = x_ + block_;
        product_ = gradient_ + block_;
    }

    void clear() {
        finish();
        spans_.clear();
    }
    void add(const int32_t* positions, int64_t n) { spans_.push_back({positions, n}); }
    void offer(RuleOperator op, RuleOperator other, int32_t group, int64_t size,
               int64_t other_size) {
        candidates_.push_back({{op, other},
                               group,
                               {size >= min_coverage_, other_size >= min_coverage_},
                               spans_.size()});
    }
    void scan(const FeatureGroups& groups, int32_t first, int32_t n, int32_t step, int64_t known) {
        scan_cuts(groups, first, n, step, known, *this);
    }
    void set_known() {
        finish();
        std::copy_n(sums_at(n_marks_), size_, memory_.total.data());
    }
    void subtract_known() {
        finish();
        const double* sums = sums_at(n_marks_);
        for (int64_t i = 0; i < size_; ++i) memory_.total[i] -= sums[i];
    }
    void flush() {
        finish();
        solve_exact();
    }

  private:
    // A cut: [0] is the side of the sum, [1] its complement.
    struct Candidate {
        RuleOperator op[2];
        int32_t group;
        bool counts[2];
        size_t end_span;
    };
    enum Side { sum = 0, complement = 1 };

    // Sums of all rows up to mark m, the candidate before number m * kSpan.
    double* sums_at(int64_t m) { return memory_.sums.data() + m * size_; }
    int64_t n_candidates() const { return static_cast<int64_t>(candidates_.size()); }
    int64_t end_of(int64_t m) const { return std::min((m + 1) * kSpan, n_candidates()); }

    void finish() {
        if (candidates_.empty()) return;
        n_marks_ = (n_candidates() + kSpan - 1) / kSpan;
        memory_.sums.resize((n_marks_ + 2) * size_);  // the last is for single candidates
        std::fill_n(sums_at(0), size_, 0.0);
        for (int64_t m = 0; m < n_marks_; ++m) {
            std::copy_n(sums_at(m), size_, sums_at(m + 1));
            add_rows(m * kSpan, end_of(m), sums_at(m + 1));
        }
        solve_marks();
        for (int64_t m = 0; m < n_marks_; ++m) {
            if (end_of(m) - m * kSpan < 2) continue;
            bound(m, Side::sum);
            bound(m, Side::complement);
        }
        candidates_.clear();
    }

    size_t first_span(int64_t candidate) const {
        return candidate == 0 ? 0 : candidates_[candidate - 1].end_span;
    }

    // sums += rows of the candidates [begin, end). Positions of a numeric feature are one array,
    // so that neighbours are added at once.
    void add_rows(int64_t begin, int64_t end, double* sums) {
        const size_t last = candidates_[end - 1].end_span;
        for (size_t s = first_span(begin); s < last;) {
            RowSpan span = spans_[s++];
            while (s < last && spans_[s].positions == span.positions + span.n)
                span.n += spans_[s++].n;
            kernels_.add_rows(rows_.values, rows_.row_width(), span.positions, span.n, nullptr,
                              sums);
            kernels_.add_triangle(rows_.coupled(), span.positions, span.n, 0, block_ / kSystems,
                                  1.0, sums + 2 * block_);
        }
    }

    // Numbers of a batch that outlast its solution, and others.
    int64_t kept_size() const { return (packed_size(n_) + 2 * n_) * kSystems; }
    int64_t worked_size() const { return (packed_size(n_) + n_) * kSystems; }

    SystemBatch batch_at(double* kept, double* worked) const {
        SystemBatch batch;
        batch.matrix = worked;
        batch.gradient = batch.matrix + packed_size(n_) * kSystems;
        batch.factor = kept;
        batch.inverse = batch.factor + packed_size(n_) * kSystems;
        batch.solution = batch.inverse + n_ * kSystems;
        return batch;
    }

    // Solves both sides of every mark; their factors and solutions are kept.
    void solve_marks() {
        const int64_t per_batch = kSystems / 2, n_batches = (n_marks_ + per_batch - 1) / per_batch;
        memory_.factors.resize(n_batches * kept_size());
        batches_.clear();
        for (int64_t b = 0; b < n_batches; ++b) {
            batches_.push_back(
                batch_at(memory_.factors.data() + b * kept_size(), memory_.work.data()));
            const int64_t first = b * per_batch, last = std::min(first + per_batch, n_marks_);
            for (int64_t m = first; m < last; ++m) {
                const int s = static_cast<int>(m - first) * 2;
                enter(batches_.back(), s + Side::sum, sums_at(m + 1), Side::sum);
                enter(batches_.back(), s + Side::complement, sums_at(m + 1), Side::complement);
            }
            kernels_.solve_batch(n_, batches_.back());
            for (int64_t m = first; m < last; ++m)
                for (int side : {Side::sum, Side::complement})
                    take(end_of(m) - 1, side, batches_.back().gains[(m - first) * 2 + side]);
        }
    }

    void take(int64_t candidate, int side, double gain) {
        const Candidate& c = candidates_[candidate];
        take(c.op[side], c.group, c.counts[side], gain);
    }
    void take(RuleOperator op, int32_t group, bool counts, double gain) {
        if (!counts || !(gain > best_.gain * kBetter)) return;
        best_.gain = gain;
        best_.op = op;
        best_.group = group;
        largest_.raise(gain);
    }

    // Bounds the candidates between two marks, from the end where the side's rows are fewer.
    void bound(int64_t m, int side) {
        const int64_t first = m * kSpan, n = end_of(m) - 1 - first;
        const int64_t mark = side == Side::sum ? m : m + 1;
        const SystemBatch* batch = nullptr;
        int s = 0;
        if (mark > 0) {
            batch = &batches_[(mark - 1) / (kSystems / 2)];
            s = static_cast<int>((mark - 1) % (kSystems / 2)) * 2 + side;
        }
        if (!(batch == nullptr ? start_empty() : start(*batch, s, mark, side))) {
            for (int64_t c = first; c < first + n; ++c) queue(m, c, side);
            return;
        }
        for (int64_t begin = 0; begin < n; begin += kSystems) {
            const int64_t end = std::min<int64_t>(begin + kSystems, n);
            int64_t found[kSystems];
            double bounds[kSystems], forms[kSystems];
            int n_found = 0;
            for (int64_t i = begin; i < end; ++i) {
                const int64_t c = side == Side::sum ? first + i : first + n - 1 - i;
                add_products(side == Side::sum ? c : c + 1);
                if (!candidates_[c].counts[side]) continue;
                bounds[n_found] = kernels_.note_residual(rows_.terms(), x_, gradient_, product_,
                                                         n_found, residuals_);
                found[n_found++] = c;
            }
            if (batch != nullptr)
                kernels_.quadratic_forms(n_, *batch, s, residuals_, forms);
            else
                penalised_forms(forms);
            for (int i = 0; i < n_found; ++i)
                if (bounds[i] + forms[i] > std::max(best_.gain, largest_.least()))
                    queue(m, found[i], side);
        }
    }

    // The solution at a mark, where the residual is 0. False if its factor is not reliable.
    bool start(const SystemBatch& batch, int s, int64_t mark, int side) {
        if (batch.least_pivot[s] < kLeastPivot) return false;
        const double* sums = sums_at(mark);
        for (int64_t k = 0; k < block_; ++k) {
            gradient_[k] = side == Side::sum ? sums[k] : memory_.total[k] - sums[k];
            x_[k] = k < n_ ? batch.solution[k * kSystems + s] : 0.0;
            product_[k] = -soft_threshold(gradient_[k], rows_.l1[k]);
        }
        return true;
    }
    // No rows at all: the penalty alone bounds the matrix. False if there is none.
    bool start_empty() {
        for (int64_t k = 0; k < block_; ++k) gradient_[k] = x_[k] = product_[k] = 0.0;
        return std::all_of(rows_.l2.begin(), rows_.l2.begin() + n_,
                           [](double l2) { return l2 > 0.0; });
    }
    void penalised_forms(double* forms) const {
        std::fill_n(forms, kSystems, 0.0);
        for (int32_t k = 0; k < n_; ++k)
            for (int i = 0; i < kSystems; ++i)
                forms[i] +=
                    residuals_[k * kSystems + i] * residuals_[k * kSystems + i] / rows_.l2[k];
    }

    void add_products(int64_t candidate) {
        for (size_t s = first_span(candidate); s < candidates_[candidate].end_span; ++s)
            kernels_.add_products(rows_.coupled(), spans_[s].positions, spans_[s].n, x_, gradient_,
                                  product_);
    }

    // Puts a candidate between marks m and m + 1 among those to be solved.
    void queue(int64_t m, int64_t candidate, int side) {
        const Candidate& c = candidates_[candidate];
        if (!c.counts[side]) return;
        double* sums = sums_at(n_marks_ + 1);
        std::copy_n(sums_at(m), size_, sums);
        add_rows(m * kSpan, candidate + 1, sums);
        enter(exact_, n_exact_, sums, side);
        exact_ops_[n_exact_] = c.op[side];
        exact_groups_[n_exact_] = c.group;
        if (++n_exact_ == kSystems) solve_exact();
    }

    void solve_exact() {
        if (n_exact_ == 0) return;
        kernels_.solve_batch(n_, exact_);
        for (int s = 0; s < n_exact_; ++s)
            take(exact_ops_[s], exact_groups_[s], true, exact_.gains[s]);
        n_exact_ = 0;
    }

    void enter(SystemBatch& batch, int s, const double* sums, int side) {
        kernels_.enter_system(rows_.terms(), sums,
                              side == Side::sum ? nullptr : memory_.total.data(), batch, s);
    }

    const SearchRows& rows_;
    const int64_t min_coverage_;
    LargestGain& largest_;
    SearchMemory& memory_;
    Refinement& best_;
    const RuleKernels& kernels_;
    const int32_t n_;
    const int64_t block_, size_;
    std::vector<RowSpan>& spans_;
    std::vector<Candidate> candidates_;
    std::vector<SystemBatch> batches_;
    int64_t n_marks_ = 0;
    SystemBatch exact_;
    RuleOperator exact_ops_[kSystems] = {};
    int32_t exact_groups_[kSystems] = {};
    int n_exact_ = 0;
    double *residuals_, *x_, *gradient_, *product_;
};

}  // namespace

void search_direct(const RefinementSearch& search, SearchMemory& memory, bool is_categorical,
                   Refinement& best) {
    DirectScorer scorer(search, memory, best);
    scan_groups(memory.groups, is_categorical, search.n_covered, scorer);
    scorer.flush();
}

}  // namespace polyleaf
