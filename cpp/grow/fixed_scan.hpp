// Scores the splits of single features from sums in fixed point. All workers have the same sums,
// and so find the same split.
#pragma once

#include <cstdint>
#include <vector>

#include "grow/fixed_histograms.hpp"
#include "grow/split.hpp"

namespace polyleaf {

// Sums of a node, in units.
struct FixedTotals {
    int64_t n_rows = 0;  // of all workers
    double weight = 0.0;
    double impurity = -1.0;     // -1: not measured
    double base_score = 0.0;    // criterion of the unsplit node
    double norm = 0.0;          // |G|^2
    std::vector<double> sums;   // [block][lane]
    std::vector<double> mean;   // the same per weight; zeros with regularisation
    std::vector<double> least;  // [block][lane] a Hessian of no more than this is none
};

// One thread's search; owns all scratch memory.
class FixedScan {
  public:
    FixedScan(const BinnedView& binned, const GrowParams& params, const FixedRows& rows,
              const FixedShape& shape, HessianPolicy policy);

    FixedTotals totals_of(const std::vector<int32_t>& sums) const;
    // Keeps the better of the feature's best split and `best`.
    void search(const FixedTotals& totals, const FixedSums& sums, uint64_t seed, int32_t feature,
                uint64_t rank, Split& best);
    // Which codes of the split's feature go left, (n_bins + 1,); the last is for missing values.
    std::vector<uint8_t> left_codes(const Split& split) const;

  private:
    // A side of a split.
    struct Side {
        int64_t n_rows = 0;
        double weight = 0.0;
        double norm = 0.0;     // of its sums less its weight times the mean; or its score
        double product = 0.0;  // with the sums of the node; regularisation only
    };
    const int32_t* records(const FixedSums& sums, int block, int32_t feature) const {
        return shape_.records(sums.data(), block, feature);
    }
    // Norms and products of all prefixes of some records, after `initial` (null: none).
    void scan(const FixedTotals& totals, const FixedSums& sums, int32_t feature, int64_t first,
              int64_t n_bins, const int64_t* initial);
    void search_numeric(const FixedTotals& totals, const FixedSums& sums, uint64_t seed,
                        int32_t feature, uint64_t rank, Split& best);
    void search_random_cut(const FixedTotals& totals, const FixedSums& sums, uint64_t seed,
                           int32_t feature, uint64_t rank, Split& best);
    double gain_of(const FixedTotals& totals, const Side& side) const;
    bool are_enough(const FixedTotals& totals, int64_t n_left) const {
        const int64_t least = params_.min_samples_leaf;
        return n_left >= least && totals.n_rows - n_left >= least;
    }
    // Rows in every bin of a feature.
    class Counts {
      public:
        Counts(const FixedShape& shape, const FixedSums& sums, int32_t feature)
            : first_(shape.counts(sums.data(), feature)), stride_(shape.count_stride()) {}
        int32_t operator[](int64_t bin) const { return first_[bin * stride_]; }

      private:
        const int32_t* first_;
        int64_t stride_;
    };

    // Categories (fixed_categories.cpp).
    void search_categories(const FixedTotals& totals, const FixedSums& sums, uint64_t seed,
                           int32_t feature, uint64_t rank, Split& best);
    void take_categories(const FixedTotals& totals, const FixedSums& sums, int32_t feature);
    // What is left of a subset's gain beside chance; see FeatureSearch::credit_categories. Weights
    // count as if all rows weighed the same.
    double credit_categories(const FixedTotals& totals, int32_t feature) const;
    void search_greedy(const FixedTotals& totals, int32_t feature, uint64_t rank, Split& best);
    void search_ordered(const FixedTotals& totals, int32_t feature, uint64_t rank, Split& best);
    void search_random_subset(const FixedTotals& totals, uint64_t seed, int32_t feature,
                              uint64_t rank, Split& best);
    double gain_of_items(const FixedTotals& totals, const std::vector<double>& side,
                         int64_t n_rows) const;
    void keep_items(const FixedTotals& totals, double gain, int64_t n_left, int32_t feature,
                    uint64_t rank, const std::vector<uint8_t>& chosen, Split& best) const;

    const BinnedView& binned_;
    const GrowParams& params_;
    const FixedRows& rows_;
    const FixedShape& shape_;
    const HessianPolicy policy_;
    const Kernels& kernels_;
    std::vector<double> weights_, norms_, products_;
    std::vector<int64_t> counts_;
    // Categories that occur in a node, and missing values: sums in units, (n_items, n_lanes).
    std::vector<double> item_sums_;
    std::vector<int64_t> item_rows_;
    std::vector<uint32_t> item_codes_;
    double category_credit_ = 1.0;
};

}  // namespace polyleaf
