// Scores conditions where outputs do not depend on each other (17): complete, single-output and
// partial heads.
#include <numeric>

#include "rules/search.hpp"

namespace polyleaf {

namespace {

Penalty penalty_of(const RuleParams& params) {
    return {params.l2_regularization, params.l1_regularization};
}

// Sums the gains of the outputs that a partial head would have, and lists them if asked to.
double choose_outputs(const AlignedVector<double>& gains, int32_t n, const RuleParams& params,
                      std::vector<int32_t>& order, std::vector<int32_t>* chosen) {
    const auto end = gains.begin() + n;
    double sum = 0.0;
    if (params.head_share > 0.0) {
        const double least = params.head_share * *std::max_element(gains.begin(), end);
        if (chosen != nullptr) chosen->clear();
        for (int32_t k = 0; k < n; ++k) {
            if (gains[k] < least || gains[k] <= 0.0) continue;
            sum += gains[k];
            if (chosen != nullptr) chosen->push_back(k);
        }
        return sum;
    }
    const int64_t size = std::min<int64_t>(params.head_size, n);
    if (size == 1) {
        const auto best = std::max_element(gains.begin(), end);
        if (chosen != nullptr) chosen->assign(1, static_cast<int32_t>(best - gains.begin()));
        return *best;
    }
    order.resize(n);
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + size, order.end(), [&](int32_t a, int32_t b) {
        return gains[a] != gains[b] ? gains[a] > gains[b] : a < b;
    });
    for (int64_t i = 0; i < size; ++i) sum += gains[order[i]];
    if (chosen != nullptr) {
        chosen->assign(order.begin(), order.begin() + size);
        std::sort(chosen->begin(), chosen->end());
    }
    return sum;
}

class DiagonalScorer {
  public:
    DiagonalScorer(const RefinementSearch& search, SearchMemory& memory, Refinement& best)
        : rows_(search.rows),
          chooses_(search.chooses_outputs),
          params_(search.params),
          largest_(search.largest),
          best_(best),
          kernels_(rule_kernels()),
          sums_(memory.sums),
          own_total_(memory.total),
          total_(rows_.total.data()),
          gains_(memory.work),
          cut_gains_(memory.exact) {
        if (chooses_) gains_.resize(rows_.block());
        sums_.resize(rows_.width());
    }

    void clear() { std::fill(sums_.begin(), sums_.end(), 0.0); }
    void add(const int32_t* positions, int64_t n) { rows_.add(positions, n, sums_.data()); }
    // Gains of complete and single-output heads are found up to a small error first, and exactly
    // where they may be the largest. Other heads choose their outputs at every cut.
    void scan(const FeatureGroups& groups, int32_t first, int32_t n, int32_t step, int64_t known) {
        const bool is_single = chooses_ && params_.head_share == 0.0 && params_.head_size == 1;
        if (chooses_ && !is_single) return scan_cuts(groups, first, n, step, known, *this);
        if (n <= 0) return;
        if (static_cast<int64_t>(cut_gains_.size()) < 2 * n) cut_gains_.resize(2 * n);
        const GainScan scan{rows_.n_outputs, rows_.is_logistic, rows_.values,        rows_.draws,
                            total_,          rows_.dust.data(), penalty_of(params_), sums_.data()};
        double largest =
            kernels_.scan_gains(scan, groups.positions.data(), groups.offsets.data() + first, n,
                                step, is_single, cut_gains_.data());
        if (params_.min_coverage > 1) largest = drop_small(groups, first, n, step, known);
        const double least =
            std::max({best_.gain, largest_.least(), largest * (1.0 - kNearGain)}) *
            (1.0 - kNearGain);
        if (!(largest > least)) return;
        using Op = RuleOperator;
        int64_t size = 0;
        int32_t next = first;  // not added yet
        if (n == 1)
            next += step;  // a single cut is in the sums already
        else
            clear();
        for (int32_t i = 0, g = first; i < n; ++i, g += step) {
            size += groups.sizes[g];
            if (!(std::max(cut_gains_[2 * i], cut_gains_[2 * i + 1]) > least)) continue;
            if (step > 0 && next <= g) {
                add_groups(groups, next, g + 1);
                next = g + 1;
            }
            for (; step < 0 && next >= g; --next) add_groups(groups, next, next + 1);
            if (step > 0)
                offer(Op::at_most, Op::above, g, size, known - size);
            else
                offer(Op::above, Op::at_most, g - 1, size, known - size);
        }
    }
    void set_known() {
        own_total_ = sums_;
        total_ = own_total_.data();
    }
    void subtract_known() {
        own_total_ = rows_.total;
        for (size_t k = 0; k < own_total_.size(); ++k) own_total_[k] -= sums_[k];
        total_ = own_total_.data();
    }
    void offer(RuleOperator op, RuleOperator other, int32_t group, int64_t size,
               int64_t other_size) {
        if (size >= params_.min_coverage) score(op, group, false);
        if (other_size >= params_.min_coverage) score(other, group, true);
    }

  private:
    // Adds the rows of groups [begin, end). Downwards it is called for each group: the order of
    // rows must not depend on which cuts are passed over, as that depends on other threads.
    void add_groups(const FeatureGroups& groups, int32_t begin, int32_t end) {
        add(groups.positions.data() + groups.offsets[begin],
            groups.offsets[end] - groups.offsets[begin]);
    }

    // Leaves out what covers too few rows; returns the largest of the other gains.
    double drop_small(const FeatureGroups& groups, int32_t first, int32_t n, int32_t step,
                      int64_t known) {
        int64_t size = 0;
        double largest = 0.0;
        for (int32_t i = 0; i < n; ++i) {
            size += groups.sizes[first + i * step];
            double* gains = cut_gains_.data() + 2 * i;
            if (size < params_.min_coverage) gains[0] = 0.0;
            if (known - size < params_.min_coverage) gains[1] = 0.0;
            largest = std::max({largest, gains[0], gains[1]});
        }
        return largest;
    }

    void score(RuleOperator op, int32_t group, bool complement) {
        const Penalty penalty = penalty_of(params_);
        if (chooses_) {
            // No head gains more than its size times the largest gain of an output.
            const double least = std::max(best_.gain, largest_.least());
            if (!kernels_.any_gain_above(sums_.data(), total_, complement, rows_.dust.data(),
                                         rows_.n_outputs, penalty, head_size(), least))
                return;
        }
        double gain =
            kernels_.diagonal_gains(sums_.data(), total_, complement, rows_.dust.data(),
                                    rows_.n_outputs, penalty, chooses_ ? gains_.data() : nullptr);
        if (chooses_) gain = choose_outputs(gains_, rows_.n_outputs, params_, order_, nullptr);
        if (!(gain > best_.gain * kBetter)) return;
        best_.gain = gain;
        best_.op = op;
        best_.group = group;
        largest_.raise(gain);
        if (chooses_) return keep_outputs();
        best_.sums = sums_;
        for (size_t k = 0; complement && k < sums_.size(); ++k)
            best_.sums[k] = total_[k] - sums_[k];
    }

    void keep_outputs() {
        choose_outputs(gains_, rows_.n_outputs, params_, order_, &best_.outputs);
    }

    double head_size() const {
        const bool is_free = params_.head_share > 0.0 || params_.head_size > rows_.n_outputs;
        return static_cast<double>(is_free ? rows_.n_outputs : params_.head_size);
    }

    const SearchRows& rows_;
    const bool chooses_;
    const RuleParams& params_;
    LargestGain& largest_;
    Refinement& best_;
    const RuleKernels& kernels_;
    AlignedVector<double>&sums_, &own_total_;
    const double* total_;
    AlignedVector<double>&gains_, &cut_gains_;
    std::vector<int32_t> order_;
};

}  // namespace

void search_diagonal(const RefinementSearch& search, SearchMemory& memory, bool is_categorical,
                     Refinement& best) {
    DiagonalScorer scorer(search, memory, best);
    scan_groups(memory.groups, is_categorical, search.n_covered, scorer);
}

std::vector<int32_t> best_outputs(const SearchRows& rows, const RuleParams& params) {
    AlignedVector<double> gains(rows.block());
    rule_kernels().diagonal_gains(rows.total.data(), nullptr, false, rows.dust.data(),
                                  rows.n_outputs, penalty_of(params), gains.data());
    std::vector<int32_t> order, chosen;
    choose_outputs(gains, rows.n_outputs, params, order, &chosen);
    if (chosen.empty()) chosen.push_back(0);  // none gains anything
    return chosen;
}

double diagonal_gain(const SearchRows& rows, const RuleParams& params) {
    return rule_kernels().diagonal_gains(rows.total.data(), nullptr, false, rows.dust.data(),
                                         rows.n_outputs, penalty_of(params), nullptr);
}

}  // namespace polyleaf
