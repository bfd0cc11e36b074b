#include "predict/code_planes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace polyleaf {

namespace {

// Rows whose values stay in the cache while one feature after the other is coded.
constexpr int64_t kBytesOfValues = 1 << 18;
constexpr int64_t kMostGroupsTogether = 8;

// The search tree of FindCodesTask over ascending cuts, from the root on.
std::vector<std::vector<double>> make_levels(const std::vector<double>& cuts) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    std::vector<std::vector<double>> levels(1, cuts);
    levels[0].push_back(kInfinity);
    while (true) {
        std::vector<double>& last = levels.back();
        last.resize((last.size() + kCutsPerNode - 1) / kCutsPerNode * kCutsPerNode, kInfinity);
        if (last.size() == kCutsPerNode) break;
        std::vector<double> largest;
        for (size_t end = kCutsPerNode; end <= last.size(); end += kCutsPerNode)
            largest.push_back(last[end - 1]);
        levels.push_back(std::move(largest));
    }
    std::reverse(levels.begin(), levels.end());
    return levels;
}

}  // namespace

template <typename Code>
typename CodePlanes<Code>::Feature& CodePlanes<Code>::feature_of(int32_t number) {
    if (slot_[number] < 0) {
        slot_[number] = static_cast<int32_t>(features_.size());
        features_.emplace_back();
        features_.back().number = number;
    }
    return features_[slot_[number]];
}

template <typename Code>
void CodePlanes<Code>::note(int32_t feature, bool is_missing_left, double threshold) {
    Feature& noted = feature_of(feature);
    (is_missing_left ? noted.has_low : noted.has_high) = true;
    noted.cuts.push_back(threshold);
}

template <typename Code>
void CodePlanes<Code>::note_category(int32_t feature, int32_t n_categories) {
    Feature& noted = feature_of(feature);
    noted.n_categories = n_categories;
    noted.has_high = true;
}

template <typename Code>
bool CodePlanes<Code>::finish() {
    for (Feature& feature : features_) {
        if (feature.n_categories > kMissing) return false;
        std::vector<double>& cuts = feature.cuts;
        std::sort(cuts.begin(), cuts.end());
        cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
        if (static_cast<int64_t>(cuts.size()) > kMostCutsOfFeature) return false;
        feature.levels = make_levels(cuts);
        const int64_t n_cuts = std::max<int64_t>(1, static_cast<int64_t>(cuts.size()));
        feature.n_parts = static_cast<int32_t>((n_cuts + kMostCuts - 1) / kMostCuts);
        if (feature.has_low) feature.low = n_planes_;
        if (feature.has_low) n_planes_ += feature.n_parts;
        if (feature.has_high) feature.high = n_planes_;
        if (feature.has_high) n_planes_ += feature.n_parts;
        feature.zero = code_of(feature, 0.0);
    }
    return true;
}

template <typename Code>
typename CodePlanes<Code>::Place CodePlanes<Code>::place(int32_t feature, bool is_missing_left,
                                                         double threshold) const {
    const Feature& noted = features_[slot_[feature]];
    const int64_t at =
        std::lower_bound(noted.cuts.begin(), noted.cuts.end(), threshold) - noted.cuts.begin();
    return {(is_missing_left ? noted.low : noted.high) + at / kMostCuts,
            static_cast<int32_t>(at % kMostCuts)};
}

template <typename Code>
int32_t CodePlanes<Code>::code_of(const Feature& feature, double value) const {
    if (feature.n_categories > 0)
        return value >= 0.0 && value < feature.n_categories ? static_cast<int32_t>(value)
                                                            : kMissing;
    if (value != value) return 0;
    return static_cast<int32_t>(std::lower_bound(feature.cuts.begin(), feature.cuts.end(), value) -
                                feature.cuts.begin());
}

template <typename Code>
void CodePlanes<Code>::mark_planes(int32_t feature, std::vector<uint8_t>& is_own) const {
    if (slot_[feature] < 0) return;
    const Feature& noted = features_[slot_[feature]];
    for (int64_t first : {noted.low, noted.high})
        if (first >= 0) std::fill_n(is_own.begin() + first, noted.n_parts, uint8_t{1});
}

// One value to all planes of its feature; `code` counts the cuts below it.
template <typename Code>
void CodePlanes<Code>::write(const Feature& feature, int64_t row, double value, int32_t code,
                             Code* codes) const {
    Code* const of_row = codes + row * row_stride();
    if (feature.n_categories > 0) {
        of_row[feature.high * plane_stride()] = static_cast<Code>(code);
        return;
    }
    const bool is_missing = value != value;
    for (int32_t part = 0; part < feature.n_parts; ++part) {
        const Code own = static_cast<Code>(std::clamp(code - part * kMostCuts, 0, kMostCuts));
        if (feature.has_low) of_row[(feature.low + part) * plane_stride()] = own;
        if (feature.has_high)
            of_row[(feature.high + part) * plane_stride()] =
                is_missing ? static_cast<Code>(kMissing) : own;
    }
}

template <typename Code>
void CodePlanes<Code>::encode_column(const Feature& feature, const double* values,
                                     Code* codes) const {
    const int64_t step = row_stride();
    if (feature.n_categories > 0) {
        Code* const plane = codes + feature.high * plane_stride();
        for (int r = 0; r < kCodedRows; ++r)
            plane[r * step] = static_cast<Code>(code_of(feature, values[r]));
        return;
    }
    int32_t found[kCodedRows];
    FindCodesTask task;
    task.values = values;
    task.n_levels = static_cast<int>(feature.levels.size());
    for (int l = 0; l < task.n_levels; ++l) task.levels[l] = feature.levels[l].data();
    task.codes = found;
    predict_kernels().find_codes(task);
    for (int32_t part = 0; part < feature.n_parts; ++part) {
        const int32_t first = part * kMostCuts;
        Code own[kCodedRows];
        for (int r = 0; r < kCodedRows; ++r)
            own[r] = static_cast<Code>(std::min(std::max(found[r] - first, 0), kMostCuts));
        if (feature.has_low) {
            Code* const low = codes + (feature.low + part) * plane_stride();
            for (int r = 0; r < kCodedRows; ++r) low[r * step] = own[r];
        }
        if (!feature.has_high) continue;
        Code* const high = codes + (feature.high + part) * plane_stride();
        for (int r = 0; r < kCodedRows; ++r)
            high[r * step] = values[r] != values[r] ? static_cast<Code>(kMissing) : own[r];
    }
}

// Feature by feature over some groups: the cuts of a feature stay in the cache.
template <typename Code>
template <typename T>
void CodePlanes<Code>::encode_dense(const T* values, int64_t n, int64_t group_stride,
                                    Code* codes) const {
    const int64_t n_columns = static_cast<int64_t>(slot_.size());
    const int64_t n_fitting =
        kBytesOfValues / (kCodedRows * static_cast<int64_t>(sizeof(T)) * n_columns + 1);
    const int64_t n_together = kCodedRows * std::clamp<int64_t>(n_fitting, 1, kMostGroupsTogether);
    double column[kCodedRows] = {};
    for (int64_t begin = 0; begin < n; begin += n_together) {
        const int64_t end = std::min(n, begin + n_together);
        for (const Feature& feature : features_) {
            for (int64_t first = begin; first < end; first += kCodedRows) {
                const int64_t n_own = std::min<int64_t>(kCodedRows, end - first);
                const T* const own = values + first * n_columns + feature.number;
                for (int64_t r = 0; r < n_own; ++r) column[r] = own[r * n_columns];
                encode_column(feature, column, codes + first / kCodedRows * group_stride);
            }
        }
    }
}

// All rows of a group have 0 everywhere but for their entries.
template <typename Code>
template <typename T>
void CodePlanes<Code>::encode_sparse(const RowsView<T>& rows, int64_t begin, int64_t n,
                                     Code* codes) const {
    for (const Feature& feature : features_) write(feature, 0, 0.0, feature.zero, codes);
    if constexpr (kByRows) {
        for (int64_t r = 1; r < kCodedRows; ++r)
            std::copy_n(codes, n_planes_, codes + r * n_planes_);
    } else {
        for (int64_t plane = 0; plane < n_planes_; ++plane)
            std::fill_n(codes + plane * kCodedRows + 1, kCodedRows - 1, codes[plane * kCodedRows]);
    }
    for (int64_t r = 0; r < n; ++r) {
        for (int64_t e = rows.indptr[begin + r]; e < rows.indptr[begin + r + 1]; ++e) {
            const int32_t slot = slot_[rows.indices[e]];
            if (slot < 0) continue;
            const Feature& feature = features_[slot];
            const double value = rows.values[e];
            write(feature, r, value, code_of(feature, value), codes);
        }
    }
}

template <typename Code>
template <typename T>
void CodePlanes<Code>::encode(const RowsView<T>& rows, int64_t begin, int64_t n,
                              int64_t group_stride, Code* codes) const {
    if (rows.indptr == nullptr) {
        const T* const values = rows.values + begin * static_cast<int64_t>(slot_.size());
        encode_dense(values, n, group_stride, codes);
        return;
    }
    for (int64_t first = 0; first < n; first += kCodedRows)
        encode_sparse(rows, begin + first, std::min<int64_t>(kCodedRows, n - first),
                      codes + first / kCodedRows * group_stride);
}

template class CodePlanes<uint8_t>;
template class CodePlanes<uint16_t>;
template void CodePlanes<uint8_t>::encode(const RowsView<float>&, int64_t, int64_t, int64_t,
                                          uint8_t*) const;
template void CodePlanes<uint8_t>::encode(const RowsView<double>&, int64_t, int64_t, int64_t,
                                          uint8_t*) const;
template void CodePlanes<uint16_t>::encode(const RowsView<float>&, int64_t, int64_t, int64_t,
                                           uint16_t*) const;
template void CodePlanes<uint16_t>::encode(const RowsView<double>&, int64_t, int64_t, int64_t,
                                           uint16_t*) const;

}  // namespace polyleaf
