#include "small_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "bits.hpp"

namespace ramify {

namespace {

// Up to here, cuts are drawn one by one until one is as good as any.
constexpr int kMostLazyRows = 3;
// Up to here, it pays to know how good the best division is.
constexpr int kMostCeilingRows = 6;
constexpr double kNoCeiling = std::numeric_limits<double>::infinity();

}  // namespace

bool SmallSearch::knows(const Workspace& workspace) {
    const GrowParams& params = workspace.params;
    const BinnedView& binned = workspace.binned;
    if (params.l2_regularization != 0.0 || params.double_precision || workspace.per_channel() ||
        params.histogram_min_rows != 0)
        return false;
    for (int32_t feature = 0; feature < binned.n_features; ++feature)
        if (binned.is_categorical[feature]) return false;
    if (workspace.is_incremental)
        return !binned.codes_u32 &&
               std::all_of(binned.is_two_valued, binned.is_two_valued + binned.n_features,
                           [](uint8_t is_two_valued) { return is_two_valued != 0; });
    return binned.n_sparse == 0 && binned.codes_u8 &&
           (params.random_cuts || params.max_features < binned.n_features);
}

SmallSearch::SmallSearch(Workspace& workspace, const CutGuide* guide)
    : workspace_(workspace),
      kernels_(kernels_for(workspace.lanes)),
      guide_(guide),
      subsets_(workspace),
      draw_(draws_features() ? workspace.binned.n_features : 0),
      columns_(workspace.is_incremental ? workspace.binned.n_features : 0) {
    const BinnedView& binned = workspace.binned;
    if (guide) {
        codes_ = workspace.row_codes->codes.data();
        code_stride_ = workspace.row_codes->stride;
        groups_.resize((binned.n_dense + kCodeColumns - 1) / kCodeColumns);
        for (auto* codes : {&least_, &largest_, &most_})
            codes->resize(groups_.size() * kCodeColumns);
    } else {
        codes_ = binned.codes_u8;
        code_stride_ = kTileFeatures;
    }
}

void SmallSearch::start(const NodeRange& range, ChannelStore* store) {
    n_ = static_cast<int>(range.size());
    for (int i = 0; i < n_; ++i) {
        rows_[i] = workspace_.rows[range.begin + i];
        row_codes_[i] = codes_ + rows_[i] * code_stride_;
        if (workspace_.channels.policy == HessianPolicy::shared)
            weights_[i] = workspace_.weights[range.begin + i];
    }
    subsets_.tabulate(range, store);
    if (workspace_.is_incremental) list_columns();
}

void SmallSearch::place(uint32_t rows, int64_t begin) {
    for_each_bit(rows, [&](int i) {
        workspace_.rows[begin] = rows_[i];
        if (workspace_.channels.policy == HessianPolicy::shared)
            workspace_.weights[begin] = weights_[i];
        if (workspace_.is_incremental) workspace_.position[rows_[i]] = static_cast<int32_t>(begin);
        ++begin;
    });
}

Split SmallSearch::find(uint32_t rows, uint64_t seed, uint32_t& left) {
    Node node;
    node.rows = rows;
    node.n_rows = count_bits(rows);
    node.seed = seed;
    if (workspace_.is_incremental)
        find_two_valued(node);
    else
        find_dense(node);
    left = node.left;
    if (node.best.found()) {
        node.best.n_left = count_bits(left);
        if (node.is_cut) node.best.note_cut(seed, node.cut.first, node.cut.last, node.cut.limit);
    }
    return std::move(node.best);
}

// Keeps the division if it is the best so far; the caller tells it in terms of the feature.
bool SmallSearch::offer(Node& node, uint32_t left, int32_t feature, uint64_t rank) const {
    const double gain = subsets_.gain(node.rows, left);
    if (gain < 0.0 || gain < node.best.least_rival() || !node.best.beaten_by(gain, rank))
        return false;
    node.best.gain = gain;
    node.best.rank = rank;
    node.best.feature = feature;
    node.left = left;
    node.best.missing_left = 2 * count_bits(left) >= node.n_rows;
    return true;
}

// Dense features
// ----------------------------------------------------------------------------------

void SmallSearch::find_dense(Node& node) {
    const int64_t n_drawn = workspace_.params.max_features;
    if (guide_ && !draws_features()) return cut_all(node);
    if (guide_ && node.n_rows > kMostLazyRows) return cut_drawn(node);
    const double most = node.n_rows <= kMostCeilingRows ? least_of_best(node) : kNoCeiling;
    draw_.for_each(node.seed, 0, workspace_.binned.n_features, [&](int32_t feature, int64_t i) {
        // If none of the drawn features can split the node: on until one can.
        if (i >= n_drawn && node.best.found()) return false;
        if (guide_)
            cut_feature(node, feature, i);
        else
            sort_feature(node, feature, i);
        return node.best.least_rival() < most;
    });
}

// Ties go to what was drawn first: a division that is as good as the best of all, found early,
// saves looking at the other features. What the best comes to, as `least_rival` tells it.
double SmallSearch::least_of_best(const Node& node) const {
    Split best;
    const uint32_t first = node.rows & (0u - node.rows), others = node.rows ^ first;
    for (uint32_t some = (others - 1) & others;; some = (some - 1) & others) {
        best.gain = std::max(best.gain, subsets_.gain(node.rows, first | some));
        if (some == 0) return best.least_rival();
    }
}

void SmallSearch::sort_feature(Node& node, int32_t feature, uint64_t rank) const {
    typedef uint8_t Bytes __attribute__((vector_size(8)));
    constexpr Bytes kBit = {1, 2, 4, 8, 16, 32, 64, 128};
    const int32_t home = workspace_.feature_home[feature];
    const uint8_t* const codes = codes_ + workspace_.dense_base(home);
    uint8_t all[8] = {};
    uint32_t missing = 0;
    for_each_bit(node.rows, [&](int i) {
        all[i] = codes[int64_t{rows_[i]} * kTileFeatures];
        missing |= uint32_t{all[i] == kMissingU8} << i;
    });
    Bytes code;
    std::memcpy(&code, all, sizeof(code));
    const uint32_t present = node.rows ^ missing;
    for_each_bit(present, [&](int i) {
        const Bytes is_below = (Bytes)(code <= (Bytes{} + all[i])) & kBit;
        uint64_t bits;
        std::memcpy(&bits, &is_below, sizeof(bits));
        // The bytes hold different bits: their sum, in the highest byte, is their union.
        const uint32_t below = bits * 0x0101010101010101ULL >> 56 & present;
        const bool is_last = below == present;
        for (int with_missing = 0; with_missing <= (missing != 0); ++with_missing) {
            if (is_last && (with_missing || missing == 0)) continue;
            if (!offer(node, with_missing ? below | missing : below, feature, rank)) continue;
            if (missing != 0) node.best.missing_left = with_missing;
            uint32_t right = kMissingU8;
            for_each_bit(present ^ below,
                         [&](int j) { right = std::min<uint32_t>(right, all[j]); });
            const int64_t offset = workspace_.binned.bin_offsets[feature];
            node.best.threshold = is_last ? std::numeric_limits<double>::infinity()
                                          : midpoint(workspace_.binned.bin_high[offset + all[i]],
                                                     workspace_.binned.bin_low[offset + right]);
        }
    });
}

// One cut of every feature.
void SmallSearch::cut_all(Node& node) {
    if (node.n_rows == 2) return cut_two_rows(node);
    const int32_t n_dense = workspace_.binned.n_dense;
    for (int32_t begin = 0; begin < n_dense; begin += kCodeColumns) {
        const int n_columns = std::min(kCodeColumns, n_dense - begin);
        cut_columns(node, begin, ~uint64_t{0} >> (kCodeColumns - n_columns));
    }
}

// Every feature that tells two rows apart has the same gain, so that only the first in rank needs
// its cut drawn.
void SmallSearch::cut_two_rows(Node& node) const {
    const uint8_t* const a = codes_ + rows_[__builtin_ctz(node.rows)] * code_stride_;
    const uint8_t* const b = codes_ + rows_[31 - __builtin_clz(node.rows)] * code_stride_;
    uint64_t least_rank = ~uint64_t{0};
    int32_t first = -1;
    for (int32_t home = 0; home < workspace_.binned.n_dense; ++home) {
        if (a[home] == b[home]) continue;
        const int32_t feature = workspace_.binned.dense_features[home];
        const uint64_t rank = feature_rank(node.seed, feature);
        if (rank > least_rank) continue;
        least_rank = rank;
        first = feature;
    }
    if (first >= 0) cut_feature(node, first, least_rank);
}

// One cut of each drawn feature, in the order in which they were drawn.
void SmallSearch::cut_drawn(Node& node) {
    const int64_t n_drawn = workspace_.params.max_features;
    drawn_.clear();
    group_numbers_.clear();
    draw_.for_each(node.seed, 0, n_drawn, [&](int32_t feature, int64_t) {
        const int32_t home = workspace_.feature_home[feature];
        drawn_.push_back(home);
        uint8_t& is_read = groups_[home / kCodeColumns];
        if (is_read == 0) group_numbers_.push_back(home / kCodeColumns);
        is_read = 1;
        return true;
    });
    int32_t rows[RowSubsets::kMostRows];
    int n_rows = 0;
    for_each_bit(node.rows, [&](int i) { rows[n_rows++] = rows_[i]; });
    for (const int32_t number : group_numbers_) {
        const int64_t at = number * kCodeColumns;
        kernels_.code_ranges({codes_ + at, code_stride_, rows, n_rows, least_.data() + at,
                              largest_.data() + at, most_.data() + at});
        groups_[number] = 0;
    }
    for (int64_t begin = 0; begin < n_drawn; begin += kCodeColumns)
        cut_some_drawn(node, begin, std::min<int64_t>(n_drawn, begin + kCodeColumns));
    if (node.best.found()) return;
    draw_.for_each(node.seed, n_drawn, workspace_.binned.n_features,
                   [&](int32_t feature, int64_t i) {
                       cut_feature(node, feature, i);
                       return !node.best.found();
                   });
}

void SmallSearch::cut_some_drawn(Node& node, int64_t begin, int64_t end) {
    uint8_t first[kCodeColumns] = {}, last[kCodeColumns] = {}, limits[kCodeColumns];
    int32_t homes[kCodeColumns] = {};
    int64_t ranks[kCodeColumns];
    int n_cuts = 0;
    for (int64_t rank = begin; rank < end; ++rank) {
        const int32_t home = drawn_[rank];
        if (most_[home] == kMissingU8) {
            cut_feature(node, workspace_.binned.dense_features[home], rank);
            continue;
        }
        // Written in any case, and kept if there is something to cut.
        homes[n_cuts] = home;
        ranks[n_cuts] = rank;
        first[n_cuts] = least_[home];
        last[n_cuts] = largest_[home];
        n_cuts += least_[home] != largest_[home];
    }
    guide_->draw(kernels_, node.seed, n_cuts, homes, first, last, limits);
    for (int k = 0; k < n_cuts; ++k) {
        uint32_t below = 0;
        for_each_bit(node.rows,
                     [&](int i) { below |= uint32_t{row_codes_[i][homes[k]] <= limits[k]} << i; });
        if (!offer(node, below, workspace_.binned.dense_features[homes[k]], ranks[k])) continue;
        node.is_cut = true;
        node.cut = {first[k], last[k], limits[k]};
    }
}

void SmallSearch::cut_feature(Node& node, int32_t feature, uint64_t rank) const {
    const int32_t home = workspace_.feature_home[feature];
    uint8_t least = kMissingU8, most = 0;
    uint32_t present = 0;
    for_each_bit(node.rows, [&](int i) {
        const uint8_t code = code_of(i, home);
        if (code == kMissingU8) return;
        present |= 1u << i;
        least = std::min(least, code);
        most = std::max(most, code);
    });
    if (present == 0) return;
    if (least == most) return offer_cut(node, home, present, nullptr, rank);
    Cut cut{least, most, 0};
    guide_->draw(kernels_, node.seed, 1, &home, &least, &most, &cut.limit);
    offer_cut(node, home, present, &cut, rank);
}

// The cuts of up to 64 features whose codes are neighbours.
void SmallSearch::cut_columns(Node& node, int32_t begin, uint64_t columns) {
    uint8_t least[kCodeColumns], largest[kCodeColumns], most[kCodeColumns];
    uint8_t first[kCodeColumns], last[kCodeColumns], limits[kCodeColumns];
    int32_t homes[kCodeColumns];
    int32_t rows[RowSubsets::kMostRows];
    int n_rows = 0, n_cuts = 0;
    for_each_bit(node.rows, [&](int i) { rows[n_rows++] = rows_[i]; });
    kernels_.code_ranges({codes_ + begin, code_stride_, rows, n_rows, least, largest, most});
    auto rank_of = [&](int32_t home) {
        return feature_rank(node.seed, workspace_.binned.dense_features[home]);
    };
    uint64_t with_missing = 0;
    for_each_bit(columns, [&](int c) {
        with_missing |= uint64_t{most[c] == kMissingU8} << c;
        // Written in any case, and kept if there is something to cut.
        homes[n_cuts] = begin + c;
        first[n_cuts] = least[c];
        last[n_cuts] = largest[c];
        n_cuts += least[c] != largest[c] && most[c] != kMissingU8;
    });
    guide_->draw(kernels_, node.seed, n_cuts, homes, first, last, limits);
    for (int k = 0; k < n_cuts; ++k) {
        const Cut cut{first[k], last[k], limits[k]};
        offer_cut(node, homes[k], node.rows, &cut, rank_of(homes[k]));
    }
    for_each_bit(with_missing, [&](int c) {
        cut_feature(node, workspace_.binned.dense_features[begin + c], rank_of(begin + c));
    });
}

// A cut with the missing rows on either side, and the values against the missing rows. cut: null
// if all values are the same.
void SmallSearch::offer_cut(Node& node, int32_t home, uint32_t present, const Cut* cut,
                            uint64_t rank) const {
    const int32_t feature = workspace_.binned.dense_features[home];
    const uint32_t missing = node.rows ^ present;
    uint32_t below = 0;
    if (cut)
        for_each_bit(present,
                     [&](int i) { below |= uint32_t{code_of(i, home) <= cut->limit} << i; });
    if (missing != 0) {
        if (cut && offer(node, below | missing, feature, rank)) {
            node.best.missing_left = true;
            node.is_cut = true;
            node.cut = *cut;
        }
        if (offer(node, present, feature, rank)) {
            node.best.missing_left = false;
            node.best.threshold = std::numeric_limits<double>::infinity();
            node.is_cut = false;
        }
    }
    if (cut && offer(node, below, feature, rank)) {
        if (missing != 0) node.best.missing_left = false;
        node.is_cut = true;
        node.cut = *cut;
    }
}

// Features of two values

void SmallSearch::list_columns() {
    const BinnedView& binned = workspace_.binned;
    for (const int32_t feature : touched_) columns_[feature] = 0;
    touched_.clear();
    auto list = [&](int32_t feature, int i) {
        if (columns_[feature] == 0) touched_.push_back(feature);
        columns_[feature] |= 1u << i;
    };
    for (int i = 0; i < n_; ++i) {
        const int32_t row = rows_[i];
        for (int64_t e = binned.sparse_indptr[row]; e < binned.sparse_indptr[row + 1]; ++e)
            list(binned.sparse_features[binned.sparse_slot[e]], i);
        for (int32_t home = 0; home < binned.n_dense; ++home)
            if (code_of(i, home) != 0) list(binned.dense_features[home], i);
    }
}

void SmallSearch::offer_column(Node& node, int32_t feature, uint64_t rank) const {
    const uint32_t listed = columns_[feature] & node.rows;
    if (listed == 0 || listed == node.rows) return;
    const int32_t home = workspace_.feature_home[feature];
    const bool lists_left = home < 0 && workspace_.binned.sparse_default[~home] == 1;
    offer(node, lists_left ? listed : node.rows ^ listed, feature, rank);
}

// None of the drawn features can split the node: the first of the others that can, in random
// order.
void SmallSearch::offer_first(Node& node) const {
    uint64_t least = ~uint64_t{0};
    int32_t first = -1;
    for (const int32_t feature : touched_) {
        const uint32_t listed = columns_[feature] & node.rows;
        const uint64_t rank = feature_rank(node.seed, feature);
        if (listed == 0 || listed == node.rows || rank >= least) continue;
        if (subsets_.gain(node.rows, listed) < 0.0) continue;
        least = rank;
        first = feature;
    }
    if (first >= 0) offer_column(node, first, least);
}

void SmallSearch::find_two_valued(Node& node) {
    const BinnedView& binned = workspace_.binned;
    if (draws_features()) {
        draw_.for_each(node.seed, 0, workspace_.params.max_features,
                       [&](int32_t feature, int64_t i) {
                           offer_column(node, feature, i);
                           return true;
                       });
        if (!node.best.found()) offer_first(node);
    } else {
        for (const int32_t feature : touched_)
            offer_column(node, feature, feature_rank(node.seed, feature));
    }
    if (!node.best.found()) return;
    const int32_t feature = node.best.feature;
    const int64_t offset = binned.bin_offsets[feature];
    node.best.threshold =
        workspace_.params.random_cuts
            ? draw_random_cut(binned, feature, node.seed, 0, 1).threshold(binned, feature)
            : midpoint(binned.bin_high[offset], binned.bin_low[offset + 1]);
}

}  // namespace ramify
