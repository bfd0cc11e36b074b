// Alg. 2 of paper 002: the scores that minimise the objective over the rows a rule covers.
#include "rule_search.hpp"

namespace ramify {

namespace {

int32_t output_of(const int32_t* outputs, int32_t k) {
    return outputs == nullptr ? k : outputs[k];
}

// Gathers blocks of rows, so that memory does not grow with their number.
constexpr int64_t kBlockRows = 512;

void solve_coupled(const RuleStatistics& statistics, const int32_t* rows, int64_t n_rows,
                   const int32_t* outputs, int32_t n, const RuleParams& params, ThreadTeam& team,
                   double* head) {
    const int64_t block = padded(n), width = 2 * block;
    const RuleKernels& kernels = rule_kernels();
    AlignedVector<double> values(kBlockRows * width, 0.0), scale(kBlockRows);
    AlignedVector<double> sums(width, 0.0), triangle(triangle_size(n), 0.0);
    const CoupledRows gathered{n, 2, values.data(), scale.data()};
    for (int64_t first = 0; first < n_rows; first += kBlockRows) {
        const int64_t count = std::min(kBlockRows, n_rows - first);
        for (int64_t i = 0; i < count; ++i) {
            const int64_t row = rows[first + i], at = row * statistics.n_outputs;
            scale[i] = statistics.coupling[row];
            for (int32_t k = 0; k < n; ++k) {
                values[i * width + k] = statistics.gradient[at + output_of(outputs, k)];
                values[i * width + block + k] = statistics.diagonal[at + output_of(outputs, k)];
                sums[k] += values[i * width + k];
                sums[block + k] += values[i * width + block + k];
            }
        }
        constexpr int64_t kLines = 16;
        team.parallel_for((n + kLines - 1) / kLines, [&](int64_t b, int) {
            kernels.add_triangle(gathered, count, b * kLines,
                                 std::min<int64_t>((b + 1) * kLines, n), triangle.data());
        });
    }
    for (int32_t k = 0; k < n; ++k) {
        double* line = triangle.data() + triangle_offset(k);
        for (int32_t j = 0; j < k; ++j) line[j] = -line[j];
        line[k] = sums[block + k] - line[k] + params.l2_regularization;
        head[k] = -soft_threshold(sums[k], params.l1_regularization);
    }
    kernels.solve(triangle.data(), n, head);
}

}  // namespace

void find_head(const RuleStatistics& statistics, const int32_t* rows, int64_t n_rows,
               const int32_t* outputs, int32_t n_head, const RuleParams& params, ThreadTeam& team,
               double* head) {
    if (statistics.coupling != nullptr && n_head > 1) {
        solve_coupled(statistics, rows, n_rows, outputs, n_head, params, team, head);
        return;
    }
    std::vector<double> gradient(n_head), curvature(n_head, params.l2_regularization);
    for (int64_t i = 0; i < n_rows; ++i) {
        const int64_t at = int64_t{rows[i]} * statistics.n_outputs;
        const double coupling =
            statistics.coupling == nullptr ? 0.0 : statistics.coupling[rows[i]];
        for (int32_t k = 0; k < n_head; ++k) {
            const double g = statistics.gradient[at + output_of(outputs, k)];
            gradient[k] += g;
            curvature[k] += statistics.diagonal[at + output_of(outputs, k)] - coupling * g * g;
        }
    }
    for (int32_t k = 0; k < n_head; ++k) {
        const double g = soft_threshold(gradient[k], params.l1_regularization);
        head[k] = curvature[k] > 0.0 ? -g / curvature[k] : 0.0;
    }
}

}  // namespace ramify
