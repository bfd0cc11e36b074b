// Alg. 2 of paper 002: the scores that minimise the objective over the rows a rule covers; and
// what they change.
#include <numeric>

#include "rule_search.hpp"

namespace ramify {

namespace {

int32_t output_of(const int32_t* outputs, int32_t k) {
    return outputs == nullptr ? k : outputs[k];
}

// Rows that are worked on at a time.
constexpr int64_t kBlockRows = 128;

// Sums of some outputs only: rows are gathered in blocks, so that memory does not grow with their
// number.
void add_gathered(const RuleStatistics& statistics, const int32_t* rows, int64_t n_rows,
                  const int32_t* outputs, int32_t n, double* sums, double* triangle,
                  ThreadTeam& team) {
    const int64_t block = padded(n), width = 2 * block;
    AlignedVector<double> values(kBlockRows * width, 0.0), scale(kBlockRows);
    std::vector<int32_t> positions(kBlockRows);
    std::iota(positions.begin(), positions.end(), 0);
    const CoupledRows gathered{n, values.data(), scale.data(), nullptr, nullptr};
    for (int64_t first = 0; first < n_rows; first += kBlockRows) {
        const int64_t count = std::min(kBlockRows, n_rows - first);
        for (int64_t i = 0; i < count; ++i) {
            const double* gradient = statistics.gradient(rows[first + i]);
            const double* diagonal = statistics.diagonal(rows[first + i]);
            scale[i] = statistics.coupling[rows[first + i]];
            for (int32_t k = 0; k < n; ++k) {
                values[i * width + k] = gradient[outputs[k]];
                values[i * width + block + k] = diagonal[outputs[k]];
            }
        }
        add_coupled(gathered, positions.data(), count, 1.0, sums, triangle, team);
    }
}

double solve_coupled(const RuleStatistics& statistics, const int32_t* rows, int64_t n_rows,
                     const int32_t* outputs, int32_t n, const RuleParams& params, ThreadTeam& team,
                     double* head) {
    AlignedVector<double> sums(2 * padded(n), 0.0), triangle(triangle_size(n), 0.0);
    if (outputs == nullptr)
        add_coupled({n, statistics.values, statistics.coupling, nullptr, nullptr}, rows, n_rows,
                    1.0, sums.data(), triangle.data(), team);
    else
        add_gathered(statistics, rows, n_rows, outputs, n, sums.data(), triangle.data(), team);
    const AlignedVector<double> l2(n, params.l2_regularization), l1(n, params.l1_regularization);
    const AlignedVector<double> dust(n, 0.0);
    return solve_sums(n, sums.data(), triangle.data(), l2.data(), l1.data(), dust.data(), head);
}

}  // namespace

double solve_sums(int32_t n, const double* vectors, const double* triangle, const double* l2,
                  const double* l1, const double* dust, double* head) {
    const int64_t block = padded(n);
    AlignedVector<double> matrix(n * block);
    std::vector<double> gradient(n);
    for (int32_t i = 0; i < n; ++i) {
        double* line = matrix.data() + i * block;
        for (int32_t j = 0; j <= i; ++j) line[j] = -triangle[triangle_entry(i, j)];
        const double curvature = line[i] + vectors[block + i];
        const bool counts = curvature > dust[i] && curvature + l2[i] > 0.0;
        line[i] = (counts ? curvature : 0.0) + l2[i];
        gradient[i] = counts ? soft_threshold(vectors[i], l1[i]) : 0.0;
        head[i] = -gradient[i];
    }
    rule_kernels().solve(matrix.data(), n, head);
    double gain = 0.0;
    for (int32_t i = 0; i < n; ++i) gain -= gradient[i] * head[i];
    return gain;
}

double coupled_gain(const SearchRows& rows) {
    AlignedVector<double> head(rows.n_outputs);
    return solve_sums(rows.n_outputs, rows.total.data(), rows.total_triangle.data(),
                      rows.l2.data(), rows.l1.data(), rows.dust.data(), head.data());
}

double find_head(const RuleStatistics& statistics, const int32_t* rows, int64_t n_rows,
                 const int32_t* outputs, int32_t n_head, const RuleParams& params,
                 ThreadTeam& team, double* head) {
    if (statistics.coupling != nullptr && n_head > 1) {
        return solve_coupled(statistics, rows, n_rows, outputs, n_head, params, team, head);
    }
    std::vector<double> gradient(n_head), curvature(n_head, params.l2_regularization);
    const bool is_plain = statistics.coupling == nullptr && outputs == nullptr;
    if (is_plain) {
        AlignedVector<double> sums(2 * statistics.block, 0.0);
        rule_kernels().add_rows(statistics.values, 2 * statistics.block, rows, n_rows, nullptr,
                                sums.data());
        for (int32_t k = 0; k < n_head; ++k) {
            gradient[k] = sums[k];
            curvature[k] += sums[statistics.block + k];
        }
    }
    const bool is_one = statistics.coupling == nullptr && outputs != nullptr && n_head == 1;
    if (is_one) {
        // Two sums each, so that none waits for the row before.
        double g[2] = {}, h[2] = {};
        for (int64_t i = 0; i < n_rows; ++i) {
            const double* row = statistics.gradient(rows[i]) + outputs[0];
            g[i & 1] += row[0];
            h[i & 1] += row[statistics.block];
        }
        gradient[0] = g[0] + g[1];
        curvature[0] += h[0] + h[1];
    }
    for (int64_t i = 0; !is_plain && !is_one && i < n_rows; ++i) {
        const double* gradients = statistics.gradient(rows[i]);
        const double* diagonals = statistics.diagonal(rows[i]);
        const double coupling =
            statistics.coupling == nullptr ? 0.0 : statistics.coupling[rows[i]];
        for (int32_t k = 0; k < n_head; ++k) {
            const double g = gradients[output_of(outputs, k)];
            gradient[k] += g;
            curvature[k] += diagonals[output_of(outputs, k)] - coupling * g * g;
        }
    }
    double gain = 0.0;
    for (int32_t k = 0; k < n_head; ++k) {
        const double g = soft_threshold(gradient[k], params.l1_regularization);
        head[k] = curvature[k] > 0.0 ? -g / curvature[k] : 0.0;
        gain -= g * head[k];
    }
    return gain;
}

// Adds to one output of some rows, whose statistics are then computed side by side.
static void add_to_output(const RuleScores& to, const int32_t* rows, int64_t n_rows,
                          int32_t output, double score) {
    constexpr int64_t kTogether = 64;
    int8_t labels[kTogether];
    double scores[kTogether], gradient[kTogether], diagonal[kTogether];
    const int64_t block = padded(to.n_outputs), n = to.n_outputs;
    for (int64_t first = 0; first < n_rows; first += kTogether) {
        const int64_t count = std::min(kTogether, n_rows - first);
        for (int64_t i = 0; i < count; ++i) {
            const int64_t at = rows[first + i] * n + output;
            labels[i] = to.labels[at];
            scores[i] = to.scores[at] += score;
        }
        rule_kernels().logistic_statistics(labels, scores, nullptr, count, gradient, diagonal);
        for (int64_t i = 0; i < count; ++i) {
            double* values = to.values + rows[first + i] * 2 * block + output;
            values[0] = gradient[i];
            values[block] = diagonal[i];
        }
    }
}

void add_head(const RuleScores& to, bool is_examplewise, const int32_t* rows, int64_t n_rows,
              const int32_t* outputs, int32_t n_head, const double* head, ThreadTeam& team) {
    const RuleKernels& kernels = rule_kernels();
    const int64_t block = padded(to.n_outputs), n = to.n_outputs;
    auto add_row = [&](int64_t row) {
        double* scores = to.scores + row * n;
        const int8_t* labels = to.labels + row * n;
        double* gradient = to.values + row * 2 * block;
        for (int32_t k = 0; outputs != nullptr && k < n_head; ++k) scores[outputs[k]] += head[k];
        const double* added = outputs == nullptr ? head : nullptr;
        if (is_examplewise)
            kernels.examplewise_statistics(labels, scores, added, n, gradient, gradient + block);
        else
            kernels.logistic_statistics(labels, scores, added, n, gradient, gradient + block);
    };
    const int64_t n_touched = outputs == nullptr || is_examplewise ? n : n_head;
    const int64_t n_blocks = (n_rows + kBlockRows - 1) / kBlockRows;
    const bool is_by_output = outputs != nullptr && !is_examplewise;
    auto add_block = [&](int64_t b, int) {
        const int64_t first = b * kBlockRows, count = std::min(kBlockRows, n_rows - first);
        for (int32_t k = 0; is_by_output && k < n_head; ++k)
            add_to_output(to, rows + first, count, outputs[k], head[k]);
        for (int64_t i = first; !is_by_output && i < first + count; ++i) add_row(rows[i]);
    };
    if (n_rows * n_touched >= (is_examplewise ? least_coupled_work(n) : kWorthReading))
        team.parallel_for(n_blocks, add_block);
    else
        for (int64_t b = 0; b < n_blocks; ++b) add_block(b, 0);
}

}  // namespace ramify
