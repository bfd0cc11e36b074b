#include "grow/label_totals.hpp"

namespace polyleaf {

namespace {

// A row has no label twice: nothing has to be added up first.
LabelSums sum_row(const Workspace& workspace, int64_t position, const double* totals) {
    const ChannelsView& labels = workspace.channels;
    const int32_t row = workspace.rows[position];
    LabelSums result;
    result.weight = workspace.row_weight(position);
    result.n_labels = labels.indptr[row + 1] - labels.indptr[row];
    for (int64_t e = labels.indptr[row]; e < labels.indptr[row + 1]; ++e) {
        const double value = labels.data[e];
        result.square += value * value;
        result.product += value * totals[labels.indices[e]];
    }
    result.square *= result.weight;
    result.norm = result.square * result.weight;
    result.product *= result.weight;
    return result;
}

template <typename Position>
LabelSums sum_rows(const Workspace& workspace, int64_t n, Position&& position_of,
                   const double* totals, std::vector<double>& side) {
    const ChannelsView& labels = workspace.channels;
    LabelSums result;
    for (int64_t i = 0; i < n; ++i) {
        if (i % kRowsPerCheck == kRowsPerCheck - 1) workspace.interrupt.check();
        const int64_t position = position_of(i);
        const double weight = workspace.row_weight(position);
        const int32_t row = workspace.rows[position];
        double square = 0.0;
        for (int64_t e = labels.indptr[row]; e < labels.indptr[row + 1]; ++e) {
            const double value = labels.data[e];
            side[labels.indices[e]] += weight * value;
            square += value * value;
        }
        result.weight += weight;
        result.n_labels += labels.indptr[row + 1] - labels.indptr[row];
        result.square += weight * square;
    }
    // A label that several rows have counts where it is met first, and is zero from then on.
    for (int64_t i = 0; i < n; ++i) {
        const int32_t row = workspace.rows[position_of(i)];
        for (int64_t e = labels.indptr[row]; e < labels.indptr[row + 1]; ++e) {
            double& sum = side[labels.indices[e]];
            result.norm += sum * sum;
            result.product += sum * totals[labels.indices[e]];
            sum = 0.0;
        }
    }
    return result;
}

}  // namespace

LabelTotals::LabelTotals(const Workspace& workspace)
    : workspace_(workspace),
      sums_(workspace.channels.is_sparse() ? workspace.channels.n_channels : 0, 0.0) {}

void LabelTotals::add(const NodeRange& range, double sign) {
    const ChannelsView& labels = workspace_.channels;
    for (int64_t i = range.begin; i < range.end; ++i) {
        if ((i - range.begin) % kRowsPerCheck == kRowsPerCheck - 1) workspace_.interrupt.check();
        const int32_t row = workspace_.rows[i];
        const double weight = sign * workspace_.row_weight(i);
        for (int64_t e = labels.indptr[row]; e < labels.indptr[row + 1]; ++e)
            sums_[labels.indices[e]] += weight * labels.data[e];
    }
}

void LabelTotals::move_to(const NodeRange& range) {
    if (range.begin == range_.begin && range.end == range_.end) return;
    const int64_t n_gone = range_.size() - range.size();
    // What subtraction leaves is rounded like the rows that were added: at most twice as many.
    if (range_.contains(range) && n_gone <= range.size() && 2 * range.size() >= fresh_.size()) {
        add({range_.begin, range.begin}, -1.0);
        add({range.end, range_.end}, -1.0);
    } else {
        forget();
        add(range, 1.0);
        fresh_ = range;
    }
    range_ = range;
}

void LabelTotals::forget() {
    const ChannelsView& labels = workspace_.channels;
    for (int64_t i = fresh_.begin; i < fresh_.end; ++i) {
        const int32_t row = workspace_.rows[i];
        for (int64_t e = labels.indptr[row]; e < labels.indptr[row + 1]; ++e)
            sums_[labels.indices[e]] = 0.0;
    }
    range_ = fresh_ = {};
}

LabelSums sum_labels(const Workspace& workspace, const NodeRange& range, const double* totals,
                     std::vector<double>& side) {
    if (range.size() == 1) return sum_row(workspace, range.begin, totals);
    return sum_rows(
        workspace, range.size(), [&](int64_t i) { return range.begin + i; }, totals, side);
}

LabelSums sum_labels(const Workspace& workspace, const NodeRange& node, const uint32_t* places,
                     int64_t n, const double* totals, std::vector<double>& side) {
    if (n == 1) return sum_row(workspace, node.begin + places[0], totals);
    return sum_rows(workspace, n, [&](int64_t i) { return node.begin + places[i]; }, totals, side);
}

}  // namespace polyleaf
