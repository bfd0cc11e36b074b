// Heads that never raise the loss of the rows they cover.
#include <cmath>

#include "rules/search.hpp"

namespace polyleaf {

namespace {

constexpr int kMostHalvings = 40;
// Losses that differ by less differ by rounding.
constexpr double kRounding = 1e-12;
// What the bound below must leave, so that rounding cannot turn it.
constexpr double kSureShare = 0.9;
constexpr int64_t kRowsAtATime = 128;

// A Newton step d has phi'(0) = -gain and phi''(0) <= gain, with phi(t) the loss at scores + t d,
// and a logistic loss |phi'''| <= r phi'', where r is the widest range of what d adds to the
// exponents of a row. So
//     phi(t) <= phi(0) - t gain + t^2 gain (e^(tr) - tr - 1) / (tr)^2,
// which is below phi(0) for the short and moderate steps of nearly all rules: their rows need not
// be looked at. `range` is tr, `rate` is t.
bool surely_falls(double rate, double range) {
    if (range > 50.0) return false;
    const double bend =
        range < 1e-3 ? 0.5 + range / 6.0 : (std::expm1(range) - range) / (range * range);
    return rate * bend <= kSureShare;
}

double softplus(double x) { return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

// The loss (7) of a row of which `added` (null: nothing) is added to the scores.
double examplewise_loss(const int8_t* labels, const double* scores, const double* added,
                        int32_t n) {
    double largest = 0.0;
    for (int32_t k = 0; k < n; ++k) {
        const double score = scores[k] + (added == nullptr ? 0.0 : added[k]);
        largest = std::fmax(largest, -labels[k] * score);
    }
    double sum = std::exp(-largest);
    for (int32_t k = 0; k < n; ++k) {
        const double score = scores[k] + (added == nullptr ? 0.0 : added[k]);
        sum += std::exp(-labels[k] * score - largest);
    }
    return largest + std::log(sum);
}

struct HeadRows {
    const int32_t* rows = nullptr;
    int64_t n_rows = 0;
    const int32_t* outputs = nullptr;  // null: all
    int32_t n_head = 0;
};

// The loss of the covered rows with the head (null: without); of (6), that of its outputs alone.
double covered_loss(const LabelScores& at, bool is_examplewise, const HeadRows& covered,
                    const double* head, ThreadTeam& team) {
    const int32_t n = at.n_outputs;
    std::vector<double> spread;
    if (is_examplewise && head != nullptr) {
        spread.assign(n, 0.0);
        for (int32_t k = 0; k < covered.n_head; ++k)
            spread[covered.outputs == nullptr ? k : covered.outputs[k]] = head[k];
    }
    const double* added = spread.empty() ? nullptr : spread.data();
    // Sums of blocks, so that their order does not depend on the threads.
    const int64_t n_blocks = (covered.n_rows + kRowsAtATime - 1) / kRowsAtATime;
    std::vector<double> sums(n_blocks, 0.0);
    auto add_block = [&](int64_t b, int) {
        const int64_t end = std::min(covered.n_rows, (b + 1) * kRowsAtATime);
        double sum = 0.0;
        for (int64_t i = b * kRowsAtATime; i < end; ++i) {
            const int64_t first = static_cast<int64_t>(covered.rows[i]) * n;
            const int8_t* labels = at.labels + first;
            const double* scores = at.scores + first;
            if (is_examplewise) sum += examplewise_loss(labels, scores, added, n);
            for (int32_t k = 0; !is_examplewise && k < covered.n_head; ++k) {
                const int32_t output = covered.outputs == nullptr ? k : covered.outputs[k];
                const double score = scores[output] + (head == nullptr ? 0.0 : head[k]);
                sum += softplus(-labels[output] * score);
            }
        }
        sums[b] = sum;
    };
    if (covered.n_rows * (is_examplewise ? n : covered.n_head) >= kWorthReading / 4)
        team.parallel_for(n_blocks, add_block);
    else
        for (int64_t b = 0; b < n_blocks; ++b) add_block(b, 0);
    double total = 0.0;
    for (const double sum : sums) total += sum;
    return total;
}

}  // namespace

void guard_head(const LabelScores& at, bool is_examplewise, const int32_t* rows, int64_t n_rows,
                const int32_t* outputs, int32_t n_head, double rate, bool is_newton,
                ThreadTeam& team, double* head) {
    double largest = 0.0;
    for (int32_t k = 0; k < n_head; ++k) largest = std::fmax(largest, std::fabs(head[k]));
    // Of whole rows, what is added to one exponent may be taken from another.
    if (is_newton && surely_falls(rate, is_examplewise ? 2.0 * largest : largest)) return;
    const HeadRows covered{rows, n_rows, outputs, n_head};
    const double before = covered_loss(at, is_examplewise, covered, nullptr, team);
    for (int i = 0; i < kMostHalvings; ++i) {
        const double after = covered_loss(at, is_examplewise, covered, head, team);
        if (after <= before * (1.0 + kRounding)) return;
        for (int32_t k = 0; k < n_head; ++k) head[k] /= 2.0;
    }
    std::fill_n(head, n_head, 0.0);
}

}  // namespace polyleaf
