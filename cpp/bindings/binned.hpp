// Binned features as Python hands them over, for every part of the core that reads them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/data.hpp"
#include "bin/shared_cuts.hpp"
#include "bindings/common.hpp"
#include "grow/fixed_store.hpp"

namespace polyleaf::bindings {

// Binned features, checked once; holds on to the arrays that Python owns.
class Binned {
  public:
    Binned(int64_t n_rows, Vector<uint8_t> is_categorical, Vector<int64_t> bin_offsets,
           Vector<double> bin_low, Vector<double> bin_high, Vector<int32_t> dense_features,
           std::optional<Cube<uint8_t>> codes_u8, std::optional<Cube<uint32_t>> codes_u32,
           Vector<int32_t> sparse_features, Vector<uint32_t> sparse_default,
           Vector<int64_t> sparse_indptr, Vector<int32_t> sparse_slot,
           std::optional<Vector<uint32_t>> sparse_code)
        : is_categorical_(is_categorical),
          bin_offsets_(bin_offsets),
          bin_low_(bin_low),
          bin_high_(bin_high),
          dense_features_(dense_features),
          codes_u8_(codes_u8),
          codes_u32_(codes_u32),
          sparse_features_(sparse_features),
          sparse_default_(sparse_default),
          sparse_indptr_(sparse_indptr),
          sparse_slot_(sparse_slot),
          sparse_code_(sparse_code) {
        const int64_t p = length(is_categorical);
        require(n_rows >= 1 && n_rows < INT32_MAX, "n_rows must be in [1, 2**31 - 1)");
        require(p >= 1 && p < INT32_MAX, "there must be at least one feature");
        require_length(bin_offsets, p + 1, "bin_offsets");
        require_offsets(bin_offsets, length(bin_low), "bin_offsets");
        require_length(bin_high, length(bin_low), "bin_high");
        require(length(dense_features) + length(sparse_features) == p,
                "every feature must be stored once, dense or sparse");
        require_range(dense_features, 0, p, "dense_features");
        require_range(sparse_features, 0, p, "sparse_features");
        std::vector<uint8_t> stored(p, 0);
        for (int64_t i = 0; i < length(dense_features); ++i) ++stored[dense_features.data()[i]];
        for (int64_t i = 0; i < length(sparse_features); ++i) ++stored[sparse_features.data()[i]];
        for (uint8_t times : stored)
            require(times == 1, "every feature must be stored once, dense or sparse");
        view_.n_rows = n_rows;
        view_.n_features = static_cast<int32_t>(p);
        view_.is_categorical = is_categorical.data();
        view_.bin_offsets = bin_offsets.data();
        view_.bin_low = bin_low.data();
        view_.bin_high = bin_high.data();
        view_.n_dense = static_cast<int32_t>(length(dense_features));
        view_.dense_features = dense_features.data();
        is_two_valued_.resize(p);
        view_.is_two_valued = is_two_valued_.data();
        view_.cuts = &cuts_;
        view_.fixed = &fixed_;
        without_gil([&](Interrupt& interrupt) {
            check_dense(interrupt);
            check_sparse(interrupt);
        });
    }

    const BinnedView& view() const { return view_; }

  private:
    template <typename Code>
    void check_codes(const Cube<Code>& codes, uint32_t missing, Interrupt& interrupt) {
        const int64_t n = view_.n_rows;
        require(length(codes) == (view_.n_dense + kTileFeatures - 1) / kTileFeatures &&
                    static_cast<int64_t>(codes.shape(1)) == n && codes.shape(2) == kTileFeatures,
                "codes must have shape (ceil(n_dense / 4), n_rows, 4)");
        const Code* tile = codes.data();
        for (int32_t first = 0; first < view_.n_dense; first += kTileFeatures) {
            interrupt.check();
            // Unused lanes hold 0, like those of a feature with one bin.
            Code n_bins[kTileFeatures] = {1, 1, 1, 1}, most[kTileFeatures],
                 known_end[kTileFeatures];
            const int n_lanes = std::min(kTileFeatures, view_.n_dense - first);
            for (int lane = 0; lane < n_lanes; ++lane) {
                const int64_t bins = view_.n_bins(view_.dense_features[first + lane]);
                require(bins <= int64_t{missing}, "a feature has more bins than codes");
                n_bins[lane] = static_cast<Code>(bins);
            }
            largest_codes(tile, n, static_cast<Code>(missing), most, known_end);
            tile += n * kTileFeatures;
            for (int lane = 0; lane < n_lanes; ++lane) {
                const int32_t feature = view_.dense_features[first + lane];
                require(
                    known_end[lane] <= n_bins[lane],
                    "a code of feature " + std::to_string(feature) + " is not one of its bins");
                is_two_valued_[feature] = most[lane] <= 1;
            }
        }
    }

    void check_dense(Interrupt& interrupt) {
        if (view_.n_dense == 0) return;
        require(codes_u8_.has_value() != codes_u32_.has_value(),
                "dense codes must be given once, as uint8 or as uint32");
        if (codes_u8_) {
            check_codes(*codes_u8_, kMissingU8, interrupt);
            view_.codes_u8 = codes_u8_->data();
        } else {
            check_codes(*codes_u32_, kMissingU32, interrupt);
            view_.codes_u32 = codes_u32_->data();
        }
    }

    void check_sparse(Interrupt& interrupt) {
        const int64_t n_sparse = length(sparse_features_), nnz = length(sparse_slot_);
        require_length(sparse_default_, n_sparse, "sparse_default");
        require_length(sparse_indptr_, view_.n_rows + 1, "sparse_indptr");
        require_offsets(sparse_indptr_, nnz, "sparse_indptr");
        require_range(sparse_slot_, 0, n_sparse, "sparse_slot");
        auto is_bin = [&](int64_t slot, uint32_t code) {
            return code == kMissingU32 || code < view_.n_bins(sparse_features_.data()[slot]);
        };
        for (int64_t slot = 0; slot < n_sparse; ++slot)
            require(is_bin(slot, sparse_default_.data()[slot]),
                    "a default code is not one of its feature's bins");
        for (int64_t slot = 0; slot < n_sparse; ++slot) {
            const int32_t feature = sparse_features_.data()[slot];
            is_two_valued_[feature] =
                view_.n_bins(feature) <= 2 && sparse_default_.data()[slot] != kMissingU32;
        }
        const int32_t* slots = sparse_slot_.data();
        interrupt.check();
        if (sparse_code_)
            check_listed_codes(nnz);
        else
            check_two_codes(nnz);
        view_.n_sparse = static_cast<int32_t>(n_sparse);
        view_.sparse_features = sparse_features_.data();
        view_.sparse_default = sparse_default_.data();
        view_.sparse_indptr = sparse_indptr_.data();
        view_.sparse_slot = slots;
        view_.sparse_code = sparse_code_ ? sparse_code_->data() : nullptr;
    }

    void check_listed_codes(int64_t n_listed) {
        const int64_t n_sparse = length(sparse_features_);
        require_length(*sparse_code_, n_listed, "sparse_code");
        std::vector<uint32_t> limits(n_sparse);
        for (int64_t slot = 0; slot < n_sparse; ++slot)
            limits[slot] = static_cast<uint32_t>(
                std::min<int64_t>(view_.n_bins(sparse_features_.data()[slot]), kMissingU32));
        std::vector<uint8_t> has_missing(n_sparse, 0);
        if (!are_lists_sound({view_.n_rows, sparse_indptr_.data(), sparse_slot_.data(),
                              sparse_code_->data(), limits.data(), sparse_default_.data()},
                             has_missing.data()))
            refuse_lists();
        for (int64_t slot = 0; slot < n_sparse; ++slot)
            if (has_missing[slot]) is_two_valued_[sparse_features_.data()[slot]] = 0;
    }

    // What is listed has the other one of two codes.
    void check_two_codes(int64_t n_listed) const {
        std::vector<int8_t> has_one(length(sparse_features_));
        for (size_t slot = 0; slot < has_one.size(); ++slot) {
            const int32_t feature = sparse_features_.data()[slot];
            require(is_two_valued_[feature] != 0,
                    "without sparse codes, sparse features must have two values");
            has_one[slot] = view_.n_bins(feature) < 2;
        }
        const int32_t* slots = sparse_slot_.data();
        const bool has_any = std::find(has_one.begin(), has_one.end(), 1) != has_one.end();
        require(!has_any || sum_at(has_one.data(), slots, n_listed) == 0,
                "without sparse codes, listed features must have two values");
        if (!rise_within_rows(sparse_indptr_.data(), view_.n_rows, slots)) refuse_lists();
    }

    // Says what is wrong with them.
    void refuse_lists() const {
        const int32_t* slots = sparse_slot_.data();
        for (int64_t row = 0; row < view_.n_rows; ++row) {
            const int64_t begin = sparse_indptr_.data()[row];
            for (int64_t e = begin + 1; e < sparse_indptr_.data()[row + 1]; ++e)
                require(slots[e] > slots[e - 1], "sparse_slot must rise within a row");
        }
        throw std::invalid_argument(
            "a sparse code is not one of its feature's bins, or is its default");
    }

    Vector<uint8_t> is_categorical_;
    Vector<int64_t> bin_offsets_;
    Vector<double> bin_low_, bin_high_;
    Vector<int32_t> dense_features_;
    std::optional<Cube<uint8_t>> codes_u8_;
    std::optional<Cube<uint32_t>> codes_u32_;
    Vector<int32_t> sparse_features_;
    Vector<uint32_t> sparse_default_;
    Vector<int64_t> sparse_indptr_;
    Vector<int32_t> sparse_slot_;
    std::optional<Vector<uint32_t>> sparse_code_;
    std::vector<uint8_t> is_two_valued_;
    SharedCuts cuts_;
    FixedStore fixed_;
    BinnedView view_;
};

}  // namespace polyleaf::bindings
