// Codes of single features, and the training rows that satisfy a condition.
#include <algorithm>

#include "rules/rules.hpp"

namespace polyleaf {

RuleColumns::RuleColumns(const BinnedView& binned) : binned_(binned), slot_(binned.n_features) {
    for (int32_t i = 0; i < binned.n_dense; ++i) slot_[binned.dense_features[i]] = i;
    for (int32_t i = 0; i < binned.n_sparse; ++i) slot_[binned.sparse_features[i]] = -1 - i;
    offsets_.assign(binned.n_sparse + 1, 0);
    if (binned.n_sparse == 0) return;
    const int64_t n_listed = binned.sparse_indptr[binned.n_rows];
    const int32_t* slots = binned.sparse_slot;
    int64_t* counts = offsets_.data() + 1;
    for (int64_t e = 0; e < n_listed; ++e) ++counts[slots[e]];
    for (int32_t s = 0; s < binned.n_sparse; ++s) offsets_[s + 1] += offsets_[s];
    rows_.resize(n_listed);
    std::vector<int64_t> next_of_slot(offsets_.begin(), offsets_.end() - 1);
    const bool has_codes =
        std::any_of(binned.sparse_features, binned.sparse_features + binned.n_sparse,
                    [&](int32_t feature) { return !binned.is_two_valued[feature]; });
    if (has_codes) codes_.resize(n_listed);
    int64_t* next = next_of_slot.data();
    int32_t* rows = rows_.data();
    uint32_t* codes = codes_.data();
    for (int64_t row = 0; row < binned.n_rows; ++row)
        for (int64_t e = binned.sparse_indptr[row], end = binned.sparse_indptr[row + 1]; e < end;
             ++e) {
            const int64_t at = next[slots[e]]++;
            rows[at] = static_cast<int32_t>(row);
            if (has_codes) codes[at] = binned.listed_code(e);
        }
}

bool RuleColumns::satisfies(const RuleCondition& condition, uint32_t code) {
    const bool is_missing = code == kMissingU32;
    switch (condition.op) {
        case RuleOperator::at_most:
            return !is_missing && code <= condition.code;
        case RuleOperator::above:
            return !is_missing && code > condition.code;
        case RuleOperator::equal:
            return code == condition.code;
        case RuleOperator::not_equal:
            return !is_missing && code != condition.code;
        case RuleOperator::missing:
            return is_missing;
        default:
            return !is_missing;
    }
}

void RuleColumns::filter(const RuleCondition& condition, std::vector<int32_t>& rows) const {
    size_t kept = 0;
    read(condition.feature, [&](auto code_of) {
        for (int32_t row : rows) {
            rows[kept] = row;
            kept += satisfies(condition, code_of(row));
        }
    });
    rows.resize(kept);
}

// Conditions on sparse features only visit what is listed: `passed` counts those that a row must
// be listed for, and a row that fails another is marked -1.
void RuleColumns::find_covered(const std::vector<RuleCondition>& conditions,
                               std::vector<int32_t>& marks, std::vector<int32_t>& rows) const {
    marks.assign(binned_.n_rows, 0);
    int32_t passed = 0;
    for (const RuleCondition& condition : conditions) {
        if (!is_sparse(condition.feature)) continue;
        const bool needs_listing = !satisfies(condition, default_code(condition.feature));
        for_listed(condition.feature, [&](int32_t row, uint32_t code) {
            if (satisfies(condition, code) != needs_listing) return;
            if (!needs_listing)
                marks[row] = -1;
            else if (marks[row] == passed)
                marks[row] = passed + 1;
        });
        passed += needs_listing;
    }
    rows.resize(binned_.n_rows);
    size_t n = 0;
    for (int64_t row = 0; row < binned_.n_rows; ++row) {
        rows[n] = static_cast<int32_t>(row);
        n += marks[row] == passed;
    }
    rows.resize(n);
    for (const RuleCondition& condition : conditions)
        if (!is_sparse(condition.feature)) filter(condition, rows);
}

}  // namespace polyleaf
