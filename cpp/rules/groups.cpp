// Groups of covered rows by the value of one feature.
#include "rules/search.hpp"

namespace polyleaf {

void CoveredRows::cover(const int32_t* counts, int64_t n_rows) {
    rows.resize(n_rows);
    place.resize(n_rows);
    rows.resize(rule_kernels().list_drawn(counts, n_rows, rows.data(), place.data()));
    positions = rows;
    draws.assign(counts, counts + n_rows);
}

// Rows that are not covered any more lose their place, and then go.
void CoveredRows::filter(const RuleColumns& columns, const RuleCondition& condition) {
    const int32_t feature = condition.feature;
    const int64_t n = size();
    removed.resize(n);
    if (!columns.is_sparse(feature)) {
        columns.read(feature, [&](auto code_of) {
            for (int64_t i = 0; i < n; ++i) {
                const int32_t is_kept = RuleColumns::satisfies(condition, code_of(rows[i]));
                place[rows[i]] = positions[i] | (is_kept - 1);
            }
        });
    } else if (RuleColumns::satisfies(condition, columns.default_code(feature))) {
        columns.for_listed(feature, [&](int32_t row, uint32_t code) {
            place[row] |= static_cast<int32_t>(RuleColumns::satisfies(condition, code)) - 1;
        });
    } else {
        // Only rows that are listed can be kept.
        kept.clear();
        columns.for_listed(feature, [&](int32_t row, uint32_t code) {
            if (place[row] >= 0 && RuleColumns::satisfies(condition, code)) kept.push_back(row);
        });
        kept_numbers.resize(kept.size());  // their places
        for (size_t i = 0; i < kept.size(); ++i) kept_numbers[i] = place[kept[i]];
        for (int32_t row : rows) place[row] = -1;
        for (size_t i = 0; i < kept.size(); ++i) place[kept[i]] = kept_numbers[i];
    }
    const int64_t n_kept =
        rule_kernels().keep_placed(place.data(), n, rows.data(), positions.data(), removed.data());
    rows.resize(n_kept);
    positions.resize(n_kept);
    removed.resize(n - n_kept);
}

void CoveredRows::renumber() {
    kept_numbers.resize(rows.size());  // their draws
    for (size_t i = 0; i < rows.size(); ++i) {
        kept_numbers[i] = draws[positions[i]];
        positions[i] = place[rows[i]] = static_cast<int32_t>(i);
    }
    draws.swap(kept_numbers);
}

void FeatureGroups::find(const RuleColumns& columns, int32_t feature, const CoveredRows& covered) {
    const int64_t n_bins = columns.binned().n_bins(feature);
    if (columns.is_sparse(feature) && columns.binned().is_two_valued[feature])
        return find_pair(columns, feature, covered);
    bin_rows_.assign(n_bins + 1, 0);
    if (columns.is_sparse(feature))
        find_sparse(columns, feature, covered);
    else
        find_dense(columns, feature, covered);
}

void FeatureGroups::find_dense(const RuleColumns& columns, int32_t feature,
                               const CoveredRows& covered) {
    const uint32_t n_bins = static_cast<uint32_t>(columns.binned().n_bins(feature));
    const int64_t n = covered.size();
    if (static_cast<int64_t>(bins_.size()) < n) bins_.resize(n);
    columns.read(feature, [&](auto code_of) {
        for (int64_t i = 0; i < n; ++i) {
            const uint32_t bin = std::min(code_of(covered.rows[i]), n_bins);
            bins_[i] = bin;
            ++bin_rows_[bin];
        }
    });
    sort(n_bins, 0, -1, covered.positions.data(), n);
}

void FeatureGroups::find_sparse(const RuleColumns& columns, int32_t feature,
                                const CoveredRows& covered) {
    const uint32_t n_bins = static_cast<uint32_t>(columns.binned().n_bins(feature));
    const size_t most = static_cast<size_t>(columns.n_listed(feature));
    if (listed_.size() < most) listed_.resize(most);
    if (bins_.size() < most) bins_.resize(most);
    int64_t n = 0;
    columns.for_listed(feature, [&](int32_t row, uint32_t code) {
        const int32_t position = covered.place[row];
        listed_[n] = position;
        bins_[n] = std::min(code, n_bins);
        n += position >= 0;
    });
    for (int64_t i = 0; i < n; ++i) ++bin_rows_[bins_[i]];
    const int64_t unlisted = std::min(columns.default_code(feature), n_bins);
    sort(n_bins, covered.size() - n, unlisted, listed_.data(), n);
}

// Two values, of which the rarer is listed and none is missing: there is nothing to sort.
void FeatureGroups::find_pair(const RuleColumns& columns, int32_t feature,
                              const CoveredRows& covered) {
    const size_t most = static_cast<size_t>(columns.n_listed(feature));
    if (positions.size() < most) positions.resize(most);
    const int64_t n = rule_kernels().find_places(covered.place.data(), columns.listed(feature),
                                                 columns.n_listed(feature), positions.data());
    n_missing = 0;
    codes.resize(std::max<size_t>(codes.size(), 2));
    sizes.resize(std::max<size_t>(sizes.size(), 3));
    offsets.resize(std::max<size_t>(offsets.size(), 4));
    const int32_t unlisted = static_cast<int32_t>(columns.default_code(feature));
    const bool is_split = n > 0 && n < covered.size();
    n_groups = is_split ? 2 : 1;
    pivot = is_split ? unlisted : 0;
    codes[0] = 0;
    codes[1] = 1;
    sizes[unlisted] = covered.size() - n;
    sizes[1 - unlisted] = n;
    sizes[2] = 0;
    offsets[0] = 0;
    offsets[1] = unlisted == 0 ? 0 : n;
    offsets[2] = offsets[3] = n;
}

// A counting sort of the listed rows by bin, those of the pivot last. Bins are empty or not, and
// rows in the pivot or not, in no order that could be foreseen: there is no branch on either.
void FeatureGroups::sort(int64_t n_bins, int64_t n_unlisted, int64_t unlisted_bin,
                         const int32_t* listed, int64_t n_listed) {
    if (n_unlisted > 0) bin_rows_[unlisted_bin] += static_cast<int32_t>(n_unlisted);
    const int64_t pivot_bin = n_unlisted > 0 ? unlisted_bin : first_largest();
    codes.resize(std::max<size_t>(codes.size(), n_bins + 1));
    sizes.resize(std::max<size_t>(sizes.size(), n_bins + 2));
    offsets.resize(std::max<size_t>(offsets.size(), n_bins + 2));
    next_.resize(n_bins + 1);  // where the next row of a bin goes
    const int32_t n_pivot = bin_rows_[pivot_bin];
    int32_t group = 0;
    int64_t end = offsets[0] = 0;
    auto enter = [&](int64_t begin_bin, int64_t end_bin) {
        for (int64_t bin = begin_bin; bin < end_bin; ++bin) {
            const int32_t n = bin_rows_[bin];
            next_[bin] = end;
            sizes[group] = n;
            codes[group] = static_cast<uint32_t>(bin);
            group += n > 0;
            end += n;
            offsets[group] = end;
        }
    };
    enter(0, pivot_bin);
    pivot = group;
    sizes[group] = n_pivot;
    codes[group] = static_cast<uint32_t>(pivot_bin);
    offsets[++group] = end;
    if (pivot_bin < n_bins) enter(pivot_bin + 1, n_bins);
    if (pivot_bin < n_bins) {  // the missing ones, even if there are none
        n_groups = group;
        next_[n_bins] = end;
        sizes[group] = bin_rows_[n_bins];
        end += bin_rows_[n_bins];
        offsets[++group] = end;
    } else {
        n_groups = pivot;
    }
    n_missing = bin_rows_[n_bins];
    next_[pivot_bin] = end;
    if (static_cast<int64_t>(positions.size()) < n_listed) positions.resize(n_listed);
    for (int64_t i = 0; i < n_listed; ++i) positions[next_[bins_[i]]++] = listed[i];
}

int64_t FeatureGroups::first_largest() const {
    int32_t most = 0;
    for (int32_t n : bin_rows_) most = n > most ? n : most;
    return std::find(bin_rows_.begin(), bin_rows_.end(), most) - bin_rows_.begin();
}

}  // namespace polyleaf
