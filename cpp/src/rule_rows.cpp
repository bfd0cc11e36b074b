// Gathers the statistics of covered rows, and their totals.
#include <cmath>

#include "rule_search.hpp"

namespace ramify {

namespace {

int32_t output_at(const std::vector<int32_t>& outputs, int32_t k) {
    return outputs.empty() ? k : outputs[k];
}

int32_t count_outputs(const RuleStatistics& statistics, const std::vector<int32_t>& outputs) {
    return outputs.empty() ? statistics.n_outputs : static_cast<int32_t>(outputs.size());
}

// Bins of outputs by their scores -g / (h + l2), of equal width for either sign; -1: no gradient.
std::vector<int32_t> bin_outputs(const std::vector<double>& scores, int64_t n_bins,
                                 int32_t& n_used) {
    double low[2] = {INFINITY, INFINITY}, high[2] = {0.0, 0.0};
    for (double score : scores) {
        if (score == 0.0) continue;
        low[score > 0] = std::min(low[score > 0], std::fabs(score));
        high[score > 0] = std::max(high[score > 0], std::fabs(score));
    }
    std::vector<int32_t> bins(scores.size(), -1), number(2 * n_bins, -1);
    n_used = 0;
    for (size_t k = 0; k < scores.size(); ++k) {
        if (scores[k] == 0.0) continue;
        const int side = scores[k] > 0;
        const double width = (high[side] - low[side]) / static_cast<double>(n_bins);
        int64_t bin =
            width > 0 ? static_cast<int64_t>((std::fabs(scores[k]) - low[side]) / width) : 0;
        bin = std::min(bin, n_bins - 1) + side * n_bins;
        if (number[bin] < 0) number[bin] = n_used++;
        bins[k] = number[bin];
    }
    return bins;
}

std::vector<int32_t> bins_of_covered(const RuleStatistics& statistics, const CoveredRows& covered,
                                     const std::vector<int32_t>& outputs, const RuleParams& params,
                                     int32_t& n_used) {
    const int32_t n = count_outputs(statistics, outputs);
    std::vector<double> scores(n), curvature(n);
    for (int64_t i = 0; i < covered.size(); ++i) {
        const int64_t at = int64_t{covered.rows[i]} * statistics.n_outputs;
        const double c = covered.draws[i], coupling = statistics.coupling[covered.rows[i]];
        for (int32_t k = 0; k < n; ++k) {
            const double g = statistics.gradient[at + output_at(outputs, k)];
            scores[k] -= c * g;
            curvature[k] +=
                c * (statistics.diagonal[at + output_at(outputs, k)] - coupling * g * g);
        }
    }
    for (int32_t k = 0; k < n; ++k) {
        const double h = curvature[k] + params.l2_regularization;
        scores[k] = h > 0.0 ? scores[k] / h : 0.0;
    }
    return bin_outputs(scores, params.label_bins, n_used);
}

void set_penalties(const RuleParams& params, SearchRows& out) {
    out.l2.assign(out.n_outputs, params.l2_regularization);
    out.l1.assign(out.n_outputs, params.l1_regularization);
}

// Adds up all rows; the triangle in fixed blocks of its lines, by all threads.
void sum_coupled(const CoveredRows& covered, ThreadTeam& team, SearchRows& out) {
    const int64_t block = padded(out.n_outputs), width = out.vectors * block;
    out.total.assign(width, 0.0);
    out.total_triangle.assign(triangle_size(out.n_outputs), 0.0);
    const RuleKernels& kernels = rule_kernels();
    kernels.add_rows(out.values.data(), width, covered.positions.data(), covered.size(),
                     out.total.data());
    constexpr int64_t kLines = 16;
    const int64_t n_blocks = (out.n_outputs + kLines - 1) / kLines;
    team.parallel_for(n_blocks, [&](int64_t b, int) {
        kernels.add_triangle(out.coupled(), covered.size(), b * kLines,
                             std::min<int64_t>((b + 1) * kLines, out.n_outputs),
                             out.total_triangle.data());
    });
    out.dust.resize(out.n_outputs);
    for (int32_t k = 0; k < out.n_outputs; ++k) out.dust[k] = kRuleDust * out.total[block + k];
}

}  // namespace

void gather_diagonal(const RuleStatistics& statistics, const CoveredRows& covered,
                     const std::vector<int32_t>& outputs, SearchRows& out) {
    const int32_t n = out.n_outputs = count_outputs(statistics, outputs);
    out.values.resize(covered.size() * 2 * n);
    for (int64_t i = 0; i < covered.size(); ++i) {
        const int64_t at = int64_t{covered.rows[i]} * statistics.n_outputs;
        const double c = covered.draws[i];
        const double coupling =
            statistics.coupling == nullptr ? 0.0 : statistics.coupling[covered.rows[i]];
        double* row = out.values.data() + i * 2 * n;
        for (int32_t k = 0; k < n; ++k) {
            const double g = statistics.gradient[at + output_at(outputs, k)];
            row[k] = c * g;
            row[n + k] = c * (statistics.diagonal[at + output_at(outputs, k)] - coupling * g * g);
        }
    }
    out.total.assign(2 * n, 0.0);
    rule_kernels().add_rows(out.values.data(), 2 * n, covered.positions.data(), covered.size(),
                            out.total.data());
    out.dust.resize(n);
    for (int32_t k = 0; k < n; ++k) out.dust[k] = kRuleDust * out.total[n + k];
}

void gather_coupled(const RuleStatistics& statistics, const CoveredRows& covered,
                    const std::vector<int32_t>& outputs, const RuleParams& params,
                    ThreadTeam& team, SearchRows& out) {
    const int32_t n_all = count_outputs(statistics, outputs);
    std::vector<int32_t> bins(n_all);
    for (int32_t k = 0; k < n_all; ++k) bins[k] = k;
    out.n_outputs = n_all;
    if (params.label_bins > 0)
        bins = bins_of_covered(statistics, covered, outputs, params, out.n_outputs);
    set_penalties(params, out);
    if (params.label_bins > 0) {  // the penalties of a shared score are those of its outputs
        std::fill(out.l2.begin(), out.l2.end(), 0.0);
        std::fill(out.l1.begin(), out.l1.end(), 0.0);
        for (int32_t bin : bins) {
            if (bin < 0) continue;
            out.l2[bin] += params.l2_regularization;
            out.l1[bin] += params.l1_regularization;
        }
    }
    out.vectors = out.n_outputs > params.direct_max_outputs ? 3 : 2;
    const int64_t block = padded(out.n_outputs), width = out.vectors * block;
    out.values.assign(covered.size() * width, 0.0);
    out.scale.resize(covered.size());
    for (int64_t i = 0; i < covered.size(); ++i) {
        const int64_t at = int64_t{covered.rows[i]} * statistics.n_outputs;
        const double c = covered.draws[i], coupling = statistics.coupling[covered.rows[i]];
        double* row = out.values.data() + i * width;
        out.scale[i] = coupling / c;
        for (int32_t k = 0; k < n_all; ++k) {
            if (bins[k] < 0) continue;
            row[bins[k]] += c * statistics.gradient[at + output_at(outputs, k)];
            row[block + bins[k]] += c * statistics.diagonal[at + output_at(outputs, k)];
        }
        if (out.vectors < 3) continue;
        // coupling g g' <= share * diag(d), so that (1 - share) diag(d) bounds the Hessian below.
        double share = 0.0;
        for (int32_t k = 0; k < out.n_outputs; ++k)
            if (row[block + k] > 0.0) share += row[k] * row[k] / row[block + k];
        share = std::min(1.0, share * out.scale[i]);
        for (int32_t k = 0; k < out.n_outputs; ++k)
            row[2 * block + k] = (1.0 - share) * row[block + k];
    }
    sum_coupled(covered, team, out);
}

}  // namespace ramify
