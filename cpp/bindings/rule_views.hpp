// What the bindings of rules have in common: statistics, parameters and columns as Python has
// them.
#pragma once

#include <cmath>

#include "bindings/binned.hpp"
#include "kernels/rule_kernels.hpp"
#include "rules/rules.hpp"

namespace polyleaf::bindings {

// `statistics` has a row per row: the gradient and the diagonal, each padded, or the gradient of
// the logistic loss of each label alone.
inline RuleStatistics view_of(const Matrix<double>& statistics, int64_t n_outputs,
                              const std::optional<Vector<double>>& coupling) {
    RuleStatistics view;
    view.n_rows = length(statistics);
    require(n_outputs >= 1 && n_outputs < INT32_MAX - 16, "there must be at least one output");
    view.n_outputs = static_cast<int32_t>(n_outputs);
    view.block = padded(n_outputs);
    const int64_t width = static_cast<int64_t>(statistics.shape(1));
    view.is_logistic = width == view.block;
    require(width == view.row_width(),
            "statistics must have once or twice the padded number of outputs as columns");
    require(!(view.is_logistic && coupling),
            "statistics of outputs that depend on each other must have diagonals");
    view.values = statistics.data();
    if (coupling) {
        require_length(*coupling, view.n_rows, "coupling");
        view.coupling = coupling->data();
    }
    return view;
}

inline void check_params(const RuleParams& params) {
    require(std::isfinite(params.l2_regularization) && params.l2_regularization >= 0.0,
            "l2_regularization must be finite and not negative");
    require(std::isfinite(params.l1_regularization) && params.l1_regularization >= 0.0,
            "l1_regularization must be finite and not negative");
    require(params.max_conditions >= -1, "max_conditions must be -1 (no limit) or at least 0");
    require(params.min_coverage >= 1, "min_coverage must be at least 1");
    require(params.head_size >= 0, "head_size must be 0 (all outputs) or at least 1");
    require(params.head_share >= 0.0 && params.head_share <= 1.0,
            "head_share must be between 0 and 1");
    require(params.label_bins >= 0, "label_bins must be 0 (none) or at least 1");
    require_threads(params.n_threads);
}

inline void require_feature_count(const RuleParams& params, const BinnedView& binned) {
    require(params.max_features >= 1 && params.max_features <= binned.n_features,
            "max_features must be between 1 and the number of features");
}

// Keeps the binned features alive, and their sparse columns transposed.
class Columns {
  public:
    explicit Columns(nb::object binned)
        : binned_(binned), columns_(nb::cast<const Binned&>(binned).view()) {}
    const RuleColumns& get() const { return columns_; }

  private:
    nb::object binned_;
    RuleColumns columns_;
};

// Labels, scores and statistics of a logistic loss: of whole rows, or of each label.
inline RuleScores scores_of(const Matrix<int8_t>& labels, OutMatrix<double>& scores,
                            OutMatrix<double>& values, bool is_examplewise) {
    const int64_t n_rows = length(scores), n_outputs = static_cast<int64_t>(scores.shape(1));
    require(length(labels) == n_rows && static_cast<int64_t>(labels.shape(1)) == n_outputs,
            "labels must have the shape of scores");
    const int64_t width = (is_examplewise ? 2 : 1) * padded(n_outputs);
    require(length(values) == n_rows && static_cast<int64_t>(values.shape(1)) == width,
            "statistics must have the padded number of outputs as columns, or twice as many for "
            "the loss of whole rows");
    return {labels.data(), scores.data(), values.data(), static_cast<int32_t>(n_outputs)};
}

}  // namespace polyleaf::bindings
