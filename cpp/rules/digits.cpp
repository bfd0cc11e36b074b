// How many digits a threshold needs where people read it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "rules/rules.hpp"

namespace polyleaf {

namespace {

// Half of the distance between numbers of d digits with the exponent of v is 10^(e + 1 - d) / 2,
// which must be less than the margin; so must it be with more digits.
int count_digits(double value, double margin, int most) {
    const double exponent = std::floor(std::log10(std::fabs(value)));
    const double digits = exponent + 2.0 - std::ceil(std::log10(2.0 * margin) - 1e-9);
    if (!(digits < most)) return most;
    return std::max(1, static_cast<int>(std::max(digits, 1.0)));
}

}  // namespace

void count_threshold_digits(const BinTable& bins, const int32_t* feature, const uint8_t* op,
                            const double* value, int64_t n, int most, uint8_t* digits) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < n; ++i) {
        const bool is_threshold = op[i] == static_cast<uint8_t>(RuleOperator::at_most) ||
                                  op[i] == static_cast<uint8_t>(RuleOperator::above);
        digits[i] = 1;
        if (!is_threshold || !std::isfinite(value[i]) || value[i] == 0.0) continue;
        const double* begin = bins.high + bins.offsets[feature[i]];
        const double* end = bins.high + bins.offsets[feature[i] + 1];
        const double* next = std::upper_bound(begin, end, value[i]);
        const double below = next > begin ? next[-1] : -kInfinity;
        const double above = next < end ? bins.low[next - bins.high] : kInfinity;
        const double margin = std::min(value[i] - below, above - value[i]);
        digits[i] = static_cast<uint8_t>(count_digits(value[i], margin, most));
    }
}

}  // namespace polyleaf
