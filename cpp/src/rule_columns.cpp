// Codes of single features, and the training rows that satisfy a condition.
#include <algorithm>

#include "ramify/rules.hpp"

namespace ramify {

RuleColumns::RuleColumns(const BinnedView& binned) : binned_(binned), slot_(binned.n_features) {
    for (int32_t i = 0; i < binned.n_dense; ++i) slot_[binned.dense_features[i]] = i;
    for (int32_t i = 0; i < binned.n_sparse; ++i) slot_[binned.sparse_features[i]] = -1 - i;
    offsets_.assign(binned.n_sparse + 1, 0);
    if (binned.n_sparse == 0) return;
    const int64_t n_listed = binned.sparse_indptr[binned.n_rows];
    for (int64_t e = 0; e < n_listed; ++e) ++offsets_[binned.sparse_slot[e] + 1];
    for (int32_t s = 0; s < binned.n_sparse; ++s) offsets_[s + 1] += offsets_[s];
    rows_.resize(n_listed);
    codes_.resize(n_listed);
    std::vector<int64_t> next(offsets_.begin(), offsets_.end() - 1);
    for (int64_t row = 0; row < binned.n_rows; ++row)
        for (int64_t e = binned.sparse_indptr[row]; e < binned.sparse_indptr[row + 1]; ++e) {
            const int64_t at = next[binned.sparse_slot[e]]++;
            rows_[at] = static_cast<int32_t>(row);
            codes_[at] = binned.sparse_code[e];
        }
}

namespace {

bool satisfies(const RuleCondition& condition, uint32_t code) {
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

}  // namespace

void RuleColumns::filter(const RuleCondition& condition, std::vector<int32_t>& rows) const {
    const int32_t feature = condition.feature;
    size_t kept = 0;
    if (!is_sparse(feature)) {
        read(feature, [&](auto code_of) {
            for (int32_t row : rows)
                if (satisfies(condition, code_of(row))) rows[kept++] = row;
        });
        rows.resize(kept);
        return;
    }
    // Both lists ascend: walk them side by side.
    const int32_t slot = -1 - slot_[feature];
    const bool default_satisfies = satisfies(condition, binned_.sparse_default[slot]);
    int64_t e = offsets_[slot];
    for (int32_t row : rows) {
        while (e < offsets_[slot + 1] && rows_[e] < row) ++e;
        const bool is_listed = e < offsets_[slot + 1] && rows_[e] == row;
        if (is_listed ? satisfies(condition, codes_[e]) : default_satisfies) rows[kept++] = row;
    }
    rows.resize(kept);
}

}  // namespace ramify
