// How many training rows satisfy the first conditions of a body, one more at a time.
#include <algorithm>

#include "rules/rules.hpp"

namespace polyleaf {

RuleCondition read_condition(const BinnedView& binned, int32_t feature, RuleOperator op,
                             double value) {
    RuleCondition condition;
    condition.feature = feature;
    condition.op = op;
    condition.value = value;
    if (op == RuleOperator::at_most || op == RuleOperator::above) {
        const double* begin = binned.bin_high + binned.bin_offsets[feature];
        const double* end = binned.bin_high + binned.bin_offsets[feature + 1];
        const int64_t n_below = std::upper_bound(begin, end, value) - begin;
        // No bin below: no code passes 'at most', every one 'above'.
        if (n_below == 0)
            condition.op = op == RuleOperator::above ? RuleOperator::known : RuleOperator::equal;
        condition.code = n_below == 0 ? kMissingU32 - 1 : static_cast<uint32_t>(n_below - 1);
    } else if (op == RuleOperator::equal || op == RuleOperator::not_equal) {
        condition.code = static_cast<uint32_t>(value);
    }
    return condition;
}

// `alive` lists the rows that are left, and may list others that `stages` has given up; a row is
// left while its stage is that of the body.
void RuleColumns::count_prefixes(const std::vector<RuleCondition>& conditions,
                                 std::vector<int32_t>& stages, std::vector<int32_t>& alive,
                                 int64_t* counts) const {
    stages.assign(binned_.n_rows, 0);
    alive.clear();
    bool is_listed = false;  // whether `alive` is in use
    int32_t stage = 0;
    int64_t n_left = binned_.n_rows;
    for (const RuleCondition& condition : conditions) {
        if (!is_sparse(condition.feature)) {
            if (!is_listed)
                for (int64_t row = 0; row < binned_.n_rows; ++row)
                    if (stages[row] == stage) alive.push_back(static_cast<int32_t>(row));
            is_listed = true;
            size_t kept = 0;
            read(condition.feature, [&](auto code_of) {
                for (int32_t row : alive) {
                    if (stages[row] != stage) continue;
                    const bool passes = satisfies(condition, code_of(row));
                    if (!passes) stages[row] = -1;
                    alive[kept] = row;
                    kept += passes;
                }
            });
            alive.resize(kept);
            n_left = static_cast<int64_t>(kept);
        } else if (satisfies(condition, default_code(condition.feature))) {
            for_listed(condition.feature, [&](int32_t row, uint32_t code) {
                if (stages[row] != stage || satisfies(condition, code)) return;
                stages[row] = -1;
                --n_left;
            });
        } else {
            alive.clear();
            for_listed(condition.feature, [&](int32_t row, uint32_t code) {
                if (stages[row] != stage || !satisfies(condition, code)) return;
                stages[row] = stage + 1;
                alive.push_back(row);
            });
            is_listed = true;
            ++stage;
            n_left = static_cast<int64_t>(alive.size());
        }
        *counts++ = n_left;
    }
}

}  // namespace polyleaf
