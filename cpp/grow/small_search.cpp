#include "grow/small_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/bits.hpp"

namespace polyleaf {

namespace {

// Up to here, cuts are drawn one by one until one is as good as any.
constexpr int kMostLazyRows = 3;
// Up to here, it pays to know how good the best division is.
constexpr int kMostCeilingRows = 6;
constexpr double kNoCeiling = std::numeric_limits<double>::infinity();
constexpr double kAnyGain = 0.0;  // two rows have one division

}  // namespace

SmallSearch::SmallSearch(Workspace& workspace, const CutGuide* guide)
    : workspace_(workspace),
      kernels_(kernels_for(workspace.lanes)),
      guide_(guide),
      finder_(workspace.plan.finder(
          NodeKind::small,
          workspace.plan.is_incremental ? FeatureKind::flag : FeatureKind::numeric, 0)),
      subsets_(workspace),
      draw_(draws_features() ? workspace.binned.n_features : 0),
      columns_(finder_ == Finder::small_flags ? workspace.binned.n_features : 0) {
    if (guide) {
        codes_ = workspace.row_codes->codes.data();
        code_stride_ = workspace.row_codes->stride;
        few_cuts_.tables = guide->tables();
        few_cuts_.row_codes = row_codes_;
    } else {
        codes_ = workspace.binned.codes_u8;
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
    if (finder_ == Finder::small_flags) list_columns();
}

void SmallSearch::place(uint32_t rows, int64_t begin) {
    for_each_bit(rows, [&](int i) {
        workspace_.rows[begin] = rows_[i];
        if (workspace_.channels.policy == HessianPolicy::shared)
            workspace_.weights[begin] = weights_[i];
        if (workspace_.plan.is_incremental)
            workspace_.position[rows_[i]] = static_cast<int32_t>(begin);
        ++begin;
    });
}

uint32_t SmallSearch::find(uint32_t rows, uint64_t seed, Split& best) {
    Node node{rows, count_bits(rows), seed, best};
    counts.add(finder_);
    if (finder_ == Finder::small_flags)
        find_two_valued(node);
    else
        find_dense(node);
    if (best.found() && node.is_cut)
        best.cut_later(seed, node.cut.first, node.cut.last, kLimitLater);
    return node.left;
}

// Dense features
// ----------------------------------------------------------------------------------

void SmallSearch::find_dense(Node& node) {
    const int64_t n_drawn = workspace_.params.max_features;
    if (guide_ && !draws_features()) return cut_all(node);
    if (guide_ && node.n_rows > kMostLazyRows) return cut_drawn(node);
    const double most = node.n_rows == 2                  ? kAnyGain
                        : node.n_rows <= kMostCeilingRows ? least_of_best(node)
                                                          : kNoCeiling;
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
            if (is_last)
                node.best.cut_off_missing(all[i]);
            else
                node.best.cut_between(workspace_.binned, all[i], right);
        }
    });
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
    if (node.best.found())
        cut_flag(workspace_.binned, node.seed, workspace_.params.random_cuts, node.best);
}

}  // namespace polyleaf
