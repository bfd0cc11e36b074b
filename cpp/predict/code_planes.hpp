// Values as codes: a value goes left at a threshold if and only if its code is not above that of
// the threshold, so that trees compare bytes, or 16 bits, instead of doubles.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/predict_kernels.hpp"
#include "predict/rows_view.hpp"

namespace polyleaf {

// A plane is one code per row. A feature has a plane where missing values go left everywhere (code
// 0) and one where they go right (the largest code), if both are needed. Features with more
// thresholds than codes have further planes, each for the next thresholds: below these its code is
// 0, above them the one after the last. The code of a category is its number, and the largest
// code is anything that is no known category.
template <typename Code>
class CodePlanes {
  public:
    static constexpr int32_t kMissing = static_cast<Code>(~Code{0});
    static constexpr int32_t kMostCuts = kMissing - 1;  // of a plane
    static constexpr int64_t kMostCutsOfFeature = 65534;

    struct Place {
        int64_t plane;
        int32_t code;
    };

    explicit CodePlanes(int32_t n_features) : slot_(n_features, -1) {}

    // First note whatever trees compare with, then finish, then ask for places.
    void note(int32_t feature, bool is_missing_left, double threshold);
    void note_category(int32_t feature, int32_t n_categories);
    // False if there are too many thresholds or categories.
    bool finish();
    Place place(int32_t feature, bool is_missing_left, double threshold) const;
    int64_t category_plane(int32_t feature) const { return features_[slot_[feature]].high; }

    int64_t n_planes() const { return n_planes_; }
    // is_own[plane] = 1 for all planes of a feature.
    void mark_planes(int32_t feature, std::vector<uint8_t>& is_own) const;

    // codes: OUT, of rows `begin` up to `begin + n`: a group of kCodedRows of them after the
    // other, from one to the next it is `group_stride`. In a group bytes lie [plane][kCodedRows],
    // for blends; 16 bits lie [kCodedRows][plane], for rows that walk alone.
    template <typename T>
    void encode(const RowsView<T>& rows, int64_t begin, int64_t n, int64_t group_stride,
                Code* codes) const;

  private:
    struct Feature {
        int32_t number = 0, n_categories = 0;  // 0 categories: numeric
        int32_t n_parts = 0;                   // planes for each way of missing values
        bool has_low = false, has_high = false;
        int64_t low = -1, high = -1;  // first plane, -1: not needed
        std::vector<double> cuts;
        std::vector<std::vector<double>> levels;  // of FindCodesTask
        int32_t zero = 0;                         // code of 0.0
    };

    static constexpr bool kByRows = sizeof(Code) > 1;
    int64_t plane_stride() const { return kByRows ? 1 : kCodedRows; }
    int64_t row_stride() const { return kByRows ? n_planes_ : 1; }

    Feature& feature_of(int32_t number);
    void encode_column(const Feature& feature, const double* values, Code* codes) const;
    int32_t code_of(const Feature& feature, double value) const;
    void write(const Feature& feature, int64_t row, double value, int32_t code, Code* codes) const;
    template <typename T>
    void encode_dense(const T* values, int64_t n, int64_t group_stride, Code* codes) const;
    template <typename T>
    void encode_sparse(const RowsView<T>& rows, int64_t begin, int64_t n, Code* codes) const;

    std::vector<int32_t> slot_;  // (n_features,) place among features_, -1: not used
    std::vector<Feature> features_;
    int64_t n_planes_ = 0;
};

}  // namespace polyleaf
