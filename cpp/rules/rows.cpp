// Gathers the statistics of covered rows, and their totals.
#include <cmath>

#include "rules/search.hpp"

namespace polyleaf {

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
        const double* gradient = statistics.gradient(covered.rows[i]);
        const double* diagonal = statistics.diagonal(covered.rows[i]);
        const double c = covered.draws[i], coupling = statistics.coupling[covered.rows[i]];
        for (int32_t k = 0; k < n; ++k) {
            const double g = gradient[output_at(outputs, k)];
            scores[k] -= c * g;
            curvature[k] += c * (diagonal[output_at(outputs, k)] - coupling * g * g);
        }
    }
    for (int32_t k = 0; k < n; ++k) {
        const double h = curvature[k] + params.l2_regularization;
        scores[k] = h > 0.0 ? scores[k] / h : 0.0;
    }
    return bin_outputs(scores, params.label_bins, n_used);
}

// The penalties of a score that outputs share are those of all of them.
void set_penalties(const RuleParams& params, const std::vector<int32_t>& bins, SearchRows& out) {
    out.l2.assign(out.block(), 0.0);
    out.l1.assign(out.block(), 0.0);
    for (int32_t bin : bins) {
        if (bin < 0) continue;
        out.l2[bin] += params.l2_regularization;
        out.l1[bin] += params.l1_regularization;
    }
}

}  // namespace

double* SearchRows::own_values(int64_t n) {
    is_logistic = false;
    const size_t size = static_cast<size_t>(n * row_width());
    if (gathered_.size() < size) gathered_.resize(size);
    values = gathered_.data();
    draws = nullptr;  // the statistics are multiplied with them
    return gathered_.data();
}

double* SearchRows::own_single(int64_t n) {
    is_logistic = false;
    const size_t size = static_cast<size_t>(n * row_width());
    if (single_.size() < size) single_.assign(size, 0.0);
    values = single_.data();
    draws = nullptr;
    return single_.data();
}

double* SearchRows::own_left(int64_t n) {
    gathered_left_.resize(n);
    left = gathered_left_.data();
    return gathered_left_.data();
}

void SearchRows::refer(const RuleStatistics& statistics, const CoveredRows& covered) {
    n_outputs = statistics.n_outputs;
    is_coupled = has_bounds = false;
    is_logistic = statistics.is_logistic;
    values = statistics.values;
    draws = covered.draws.data();
}

void SearchRows::refer_coupled(const RuleStatistics& statistics, const CoveredRows& covered,
                               const RuleParams& params, const double* left_of_rows) {
    refer(statistics, covered);
    is_coupled = has_bounds = true;
    left = left_of_rows;
    scale.resize(statistics.n_rows);
    for (int32_t row : covered.rows) scale[row] = statistics.coupling[row] * draws[row];
    l2.assign(block(), 0.0);
    l1.assign(block(), 0.0);
    std::fill_n(l2.begin(), n_outputs, params.l2_regularization);
    std::fill_n(l1.begin(), n_outputs, params.l1_regularization);
    if (static_cast<int64_t>(solution.size()) != block()) solution.assign(block(), 0.0);
}

namespace {

// Parts of rows that are summed apart; it depends on how much there is to sum alone.
int64_t count_parts(int64_t n_rows) {
    constexpr int64_t kLeastRows = 64, kMostParts = 8;
    return std::clamp<int64_t>(n_rows / kLeastRows, 1, kMostParts);
}

void add_vectors(const CoupledRows& rows, const int32_t* positions, int64_t n, double* sums) {
    const RuleKernels& kernels = rule_kernels();
    if (rows.left != nullptr)
        kernels.add_bounded_rows(rows, positions, n, sums);
    else
        kernels.add_rows(rows.values, 2 * padded(rows.n_outputs), positions, n, rows.draws, sums);
}

// All sums of a few rows at a time, and in the end the sums of those: rows are read by one thread
// only, the one that has changed or read them before.
void add_by_rows(const CoupledRows& rows, const int32_t* positions, int64_t n, double sign,
                 double* vectors, double* triangle, ThreadTeam& team) {
    const int64_t block = padded(rows.n_outputs), n_parts = count_parts(n);
    const int64_t n_triangle = triangle_size(rows.n_outputs);
    const int64_t n_vectors = (rows.left != nullptr ? 4 : 2) * block;
    AlignedVector<double> sums(n_parts * (n_vectors + n_triangle));
    auto add_part = [&](int64_t part, int) {
        const int64_t begin = part * n / n_parts, end = (part + 1) * n / n_parts;
        double* own = sums.data() + part * (n_vectors + n_triangle);
        std::fill_n(own, n_vectors + n_triangle, 0.0);
        add_vectors(rows, positions + begin, end - begin, own);
        rule_kernels().add_triangle(rows, positions + begin, end - begin, 0, block / kSystems,
                                    sign, own + n_vectors);
    };
    if (n * n_triangle / 32 >= least_coupled_work(rows.n_outputs))
        team.parallel_for(n_parts, add_part);
    else
        for (int64_t part = 0; part < n_parts; ++part) add_part(part, 0);
    for (int64_t part = 0; part < n_parts; ++part) {
        const double* own = sums.data() + part * (n_vectors + n_triangle);
        for (int64_t i = 0; i < n_vectors; ++i) vectors[i] += own[i];
        for (int64_t i = 0; i < n_triangle; ++i) triangle[i] += own[n_vectors + i];
    }
}

// Vectors and rows of tiles are summed apart, by all threads; the longest rows come first.
void add_by_tiles(const CoupledRows& rows, const int32_t* positions, int64_t n, double sign,
                  double* vectors, double* triangle, ThreadTeam& team) {
    const int64_t n_tile_rows = padded(rows.n_outputs) / kSystems;
    auto add_part = [&](int64_t part, int) {
        const int64_t i = n_tile_rows - 1 - part;
        if (i >= 0)
            rule_kernels().add_triangle(rows, positions, n, i, i + 1, sign, triangle);
        else
            add_vectors(rows, positions, n, vectors);
    };
    if (n * triangle_size(rows.n_outputs) / 32 >= kWorthWaking)
        team.parallel_for(n_tile_rows + 1, add_part);
    else
        for (int64_t part = 0; part <= n_tile_rows; ++part) add_part(part, 0);
}

}  // namespace

void add_coupled(const CoupledRows& rows, const int32_t* positions, int64_t n, double sign,
                 double* vectors, double* triangle, ThreadTeam& team) {
    constexpr int32_t kFewOutputs = 128;  // whose sums are small beside the rows
    if (rows.n_outputs <= kFewOutputs)
        add_by_rows(rows, positions, n, sign, vectors, triangle, team);
    else
        add_by_tiles(rows, positions, n, sign, vectors, triangle, team);
}

void InducerMemory::note_changes(const RuleStatistics& statistics, const RuleParams& params,
                                 const int32_t* rows, int64_t n_rows) {
    if (statistics.coupling == nullptr || statistics.n_outputs <= params.direct_max_outputs)
        return;
    left.resize(statistics.n_rows);
    for (int64_t i = 0; i < n_rows; ++i)
        left[rows[i]] = rule_kernels().share_below(statistics.gradient(rows[i]), statistics.block,
                                                   statistics.coupling[rows[i]]);
}

void SearchRows::add_to_total(const std::vector<int32_t>& positions, double sign,
                              ThreadTeam& team) {
    const int64_t n = static_cast<int64_t>(positions.size());
    sums_.assign(width(), 0.0);
    if (is_coupled)
        add_coupled(coupled(), positions.data(), n, sign, sums_.data(), total_triangle.data(),
                    team);
    else
        add(positions.data(), n, sums_.data());
    for (int64_t k = 0; k < width(); ++k) total[k] += sign * sums_[k];
}

// Curvatures below this would not have inverses.
constexpr double kLeastDust = 1e-140;

void SearchRows::set_dust() {
    dust.assign(block(), 0.0);
    for (int32_t k = 0; k < n_outputs; ++k)
        dust[k] = std::max(kRuleDust * total[block() + k], kLeastDust);
}

void SearchRows::add_up(const CoveredRows& covered, ThreadTeam& team) {
    total.assign(width(), 0.0);
    if (is_coupled) total_triangle.assign(triangle_size(n_outputs), 0.0);
    add_to_total(covered.positions, 1.0, team);
    set_dust();
}

void SearchRows::follow(const CoveredRows& covered, ThreadTeam& team) {
    if (covered.removed.size() >= covered.positions.size()) return add_up(covered, team);
    add_to_total(covered.removed, -1.0, team);
    set_dust();
}

void SearchRows::set_total(const double* known) {
    total.assign(known, known + width());
    set_dust();
}

void SearchRows::multiply_solution() {
    solution_product.assign(block(), 0.0);
    rule_kernels().symmetric_product(total_triangle.data(), n_outputs, solution.data(),
                                     solution_product.data());
    for (int64_t k = 0; k < block(); ++k)
        solution_product[k] = total[block() + k] * solution[k] - solution_product[k];
}

void gather_diagonal(const RuleStatistics& statistics, const CoveredRows& covered,
                     const std::vector<int32_t>& outputs, SearchRows& out) {
    const int32_t n = out.n_outputs = count_outputs(statistics, outputs);
    out.is_coupled = out.has_bounds = false;
    const int64_t block = out.block();
    if (n == 1 && statistics.coupling == nullptr) {
        double* single = out.own_single(covered.size());
        for (int64_t i = 0; i < covered.size(); ++i) {
            const int32_t row = covered.rows[i], output = output_at(outputs, 0);
            single[2 * i * block] = covered.draws[i] * statistics.gradient(row)[output];
            single[(2 * i + 1) * block] = covered.draws[i] * statistics.curvature(row, output);
        }
        return;
    }
    double* values = out.own_values(covered.size());
    for (int64_t i = 0; i < covered.size(); ++i) {
        const int32_t at = covered.rows[i];
        const double* gradient = statistics.gradient(at);
        const double c = covered.draws[i];
        const double coupling = statistics.coupling == nullptr ? 0.0 : statistics.coupling[at];
        double* row = values + i * out.row_width();
        std::fill_n(row, 2 * block, 0.0);
        for (int32_t k = 0; k < n; ++k) {
            const int32_t output = output_at(outputs, k);
            const double g = gradient[output];
            row[k] = c * g;
            row[block + k] = c * (statistics.curvature(at, output) - coupling * g * g);
        }
    }
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
    set_penalties(params, bins, out);
    out.is_coupled = true;
    out.has_bounds = out.n_outputs > params.direct_max_outputs;
    double* values = out.own_values(covered.size());
    const int64_t block = out.block(), width = out.row_width();
    if (params.label_bins > 0 || static_cast<int64_t>(out.solution.size()) != block)
        out.solution.assign(block, 0.0);
    double* left = out.has_bounds ? out.own_left(covered.size()) : nullptr;
    if (left == nullptr) out.left = nullptr;
    out.scale.resize(covered.size());
    const bool is_whole = outputs.empty() && params.label_bins == 0;
    auto gather_row = [&](int64_t i, double* chosen) {
        const double* gradient = statistics.gradient(covered.rows[i]);
        const double* diagonal = statistics.diagonal(covered.rows[i]);
        const double times = covered.draws[i], coupling = statistics.coupling[covered.rows[i]];
        out.scale[i] = coupling / times;
        if (!is_whole) {
            std::fill_n(chosen, 2 * block, 0.0);
            for (int32_t k = 0; k < n_all; ++k) {
                if (bins[k] < 0) continue;
                chosen[bins[k]] += gradient[output_at(outputs, k)];
                chosen[block + bins[k]] += diagonal[output_at(outputs, k)];
            }
            gradient = chosen;
        }
        rule_kernels().weigh_row(gradient, block, times, values + i * width);
        if (left != nullptr) left[i] = rule_kernels().share_below(gradient, block, coupling);
    };
    constexpr int64_t kRows = 64;
    const int64_t n_rows = covered.size(), n_blocks = (n_rows + kRows - 1) / kRows;
    auto gather_block = [&](int64_t b, int) {
        AlignedVector<double> chosen(is_whole ? 0 : 2 * block);
        const int64_t end = std::min(n_rows, (b + 1) * kRows);
        for (int64_t i = b * kRows; i < end; ++i) gather_row(i, chosen.data());
    };
    if (n_rows * width / 8 >= kWorthWaking)
        team.parallel_for(n_blocks, gather_block);
    else
        for (int64_t b = 0; b < n_blocks; ++b) gather_block(b, 0);
}

}  // namespace polyleaf
