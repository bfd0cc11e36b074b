// Alg. 2 of Rapp et al. 2020: the scores that minimise the objective over the rows a rule covers;
// and what they change.
#include <cmath>
#include <numeric>

#include "rules/search.hpp"

namespace polyleaf {

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
        const RuleKernels& kernels = rule_kernels();
        (statistics.is_logistic ? kernels.add_logistic_rows : kernels.add_rows)(
            statistics.values, statistics.row_width(), rows, n_rows, nullptr, sums.data());
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
            g[i & 1] += statistics.gradient(rows[i])[outputs[0]];
            h[i & 1] += statistics.curvature(rows[i], outputs[0]);
        }
        gradient[0] = g[0] + g[1];
        curvature[0] += h[0] + h[1];
    }
    for (int64_t i = 0; !is_plain && !is_one && i < n_rows; ++i) {
        const double* gradients = statistics.gradient(rows[i]);
        const double coupling =
            statistics.coupling == nullptr ? 0.0 : statistics.coupling[rows[i]];
        for (int32_t k = 0; k < n_head; ++k) {
            const int32_t output = output_of(outputs, k);
            const double g = gradients[output];
            gradient[k] += g;
            curvature[k] += statistics.curvature(rows[i], output) - coupling * g * g;
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

namespace {

// A head and its exponentials, padded.
struct PaddedHead {
    AlignedVector<double> added, raised, lowered;
    bool is_moderate = true;

    PaddedHead(const double* head, int64_t n) {
        added.assign(padded(n), 0.0);
        raised.assign(padded(n), 1.0);
        lowered.assign(padded(n), 1.0);
        for (int64_t k = 0; k < n; ++k) {
            is_moderate &= std::fabs(head[k]) <= kMostMove;
            added[k] = head[k];
            raised[k] = std::exp(head[k]);
            lowered[k] = 1.0 / raised[k];
        }
    }
    LogisticMove move() const { return {added.data(), raised.data(), lowered.data()}; }
};

// Rows whose derivatives by one output are computed side by side.
constexpr int64_t kTogether = 64;

// The same number as a head of so many outputs.
struct RepeatedScore {
    double added[kTogether], raised[kTogether], lowered[kTogether];

    explicit RepeatedScore(double score) {
        std::fill_n(added, kTogether, score);
        std::fill_n(raised, kTogether, std::exp(score));
        std::fill_n(lowered, kTogether, 1.0 / raised[0]);
    }
};

// Adds to one output of some rows.
void add_to_output(const RuleScores& to, bool is_current, const int32_t* rows, int64_t n_rows,
                   int32_t output, double score) {
    const bool is_moved = is_current && std::fabs(score) <= kMostMove;
    const RepeatedScore repeated(is_moved ? score : 0.0);
    int8_t labels[kTogether];
    alignas(64) double scores[kTogether], gradient[kTogether];
    const int64_t block = padded(to.n_outputs), n = to.n_outputs;
    for (int64_t first = 0; first < n_rows; first += kTogether) {
        const int64_t count = std::min(kTogether, n_rows - first);
        if (is_moved) {
            for (int64_t i = 0; i < count; ++i) {
                scores[i] = to.scores[rows[first + i] * n + output];
                gradient[i] = to.values[rows[first + i] * block + output];
            }
            std::fill(gradient + count, gradient + padded(count), 0.0);
            const LogisticMove move{repeated.added, repeated.raised, repeated.lowered};
            rule_kernels().move_logistic(move, count, scores, gradient);
        } else {
            for (int64_t i = 0; i < count; ++i) {
                const int64_t at = rows[first + i] * n + output;
                labels[i] = to.labels[at];
                scores[i] = to.scores[at] + score;
            }
            rule_kernels().logistic_gradient(labels, scores, nullptr, count, gradient);
        }
        for (int64_t i = 0; i < count; ++i) {
            to.scores[rows[first + i] * n + output] = scores[i];
            to.values[rows[first + i] * block + output] = gradient[i];
        }
    }
}

}  // namespace

void add_head(const RuleScores& to, bool is_examplewise, bool is_current, const int32_t* rows,
              int64_t n_rows, const int32_t* outputs, int32_t n_head, const double* head,
              ThreadTeam& team) {
    const RuleKernels& kernels = rule_kernels();
    const int64_t block = padded(to.n_outputs), n = to.n_outputs;
    const bool is_moved = is_current && !is_examplewise && outputs == nullptr;
    const PaddedHead padded_head(head, is_moved ? n : 0);
    auto add_row = [&](int64_t row) {
        double* scores = to.scores + row * n;
        const int8_t* labels = to.labels + row * n;
        double* gradient = to.values + row * (is_examplewise ? 2 * block : block);
        for (int32_t k = 0; outputs != nullptr && k < n_head; ++k) scores[outputs[k]] += head[k];
        const double* added = outputs == nullptr ? head : nullptr;
        if (is_examplewise)
            kernels.examplewise_statistics(labels, scores, added, n, gradient, gradient + block);
        else if (is_moved && padded_head.is_moderate)
            kernels.move_logistic(padded_head.move(), n, scores, gradient);
        else
            kernels.logistic_gradient(labels, scores, added, n, gradient);
    };
    const int64_t n_touched = outputs == nullptr || is_examplewise ? n : n_head;
    const int64_t n_blocks = (n_rows + kBlockRows - 1) / kBlockRows;
    const bool is_by_output = outputs != nullptr && !is_examplewise;
    auto add_block = [&](int64_t b, int) {
        const int64_t first = b * kBlockRows, count = std::min(kBlockRows, n_rows - first);
        for (int32_t k = 0; is_by_output && k < n_head; ++k)
            add_to_output(to, is_current, rows + first, count, outputs[k], head[k]);
        for (int64_t i = first; !is_by_output && i < first + count; ++i) add_row(rows[i]);
    };
    if (n_rows * n_touched >= (is_examplewise ? least_coupled_work(n) : kWorthReading))
        team.parallel_for(n_blocks, add_block);
    else
        for (int64_t b = 0; b < n_blocks; ++b) add_block(b, 0);
}

}  // namespace polyleaf
