#include "grow/plan.hpp"

#include <algorithm>
#include <iterator>

#include "kernels/kernels.hpp"

namespace polyleaf {

namespace {

// Subtrees of incremental trees, which are lopsided.
constexpr int64_t kIncrementalSubtreeRows = 1 << 15;
// Fewer entries per flag are collected more quickly than the sums of all flags are cleared and
// scored.
constexpr double kMinEntriesPerFlag = 0.25;
// A block of channels up to this size is read in any order without much waiting.
constexpr int64_t kMostBlockBytes = int64_t{1} << 20;
// More blocks than this are read faster row by row, for a histogram. As many keep the adder busy
// even if lists are walked one by one.
constexpr int64_t kMostListBlocks = 2;

constexpr uint8_t bit(NodeKind kind) { return uint8_t{1} << static_cast<int>(kind); }
constexpr uint8_t kLarge = bit(NodeKind::large), kSibling = bit(NodeKind::sibling),
                  kSubtree = bit(NodeKind::subtree), kListed = bit(NodeKind::listed),
                  kSmall = bit(NodeKind::small), kRemaining = bit(NodeKind::remaining);
constexpr uint8_t kBoth = kLarge | kSubtree;
constexpr uint8_t kAnyButSmall = kLarge | kSibling | kSubtree | kListed | kRemaining;

int64_t blocks_of(int32_t n_channels) {
    const int lanes = block_lanes(n_channels);
    return (n_channels + lanes - 1) / lanes;
}

}  // namespace

const PlanRule plan_rules[] = {
    // nodes, feature, when, limit, finder
    {kLarge, FeatureKind::numeric, When::fixed_sums, Limit::none, Finder::fixed_histogram},
    {kLarge, FeatureKind::sparse_numeric, When::fixed_sums, Limit::none, Finder::fixed_histogram},
    {kSibling, FeatureKind::numeric, When::fixed_sums, Limit::none, Finder::fixed_difference},
    {kSibling, FeatureKind::sparse_numeric, When::fixed_sums, Limit::none,
     Finder::fixed_difference},
    {kLarge | kSibling, FeatureKind::category, When::fixed_sums, Limit::none,
     Finder::fixed_categories},
    {kLarge | kListed, FeatureKind::numeric, When::whole_lists, Limit::none, Finder::whole_list},
    {kListed, FeatureKind::numeric, When::presorted_lists, Limit::none, Finder::presorted_list},
    {kSibling, FeatureKind::numeric, When::subtraction, Limit::none, Finder::subtracted_histogram},
    {kBoth, FeatureKind::numeric, When::batched_cuts, Limit::none, Finder::random_cuts},
    {kBoth, FeatureKind::numeric, When::sorted_lists, Limit::below_sorted_rows,
     Finder::sorted_list},
    {kBoth, FeatureKind::numeric, When::histograms, Limit::from_histogram_rows, Finder::histogram},
    {kBoth | kRemaining, FeatureKind::numeric, When::best_cuts, Limit::none, Finder::walk},
    {kBoth | kRemaining, FeatureKind::numeric, When::random_cuts, Limit::none, Finder::walk_cut},
    {kAnyButSmall, FeatureKind::sparse_numeric, When::best_cuts, Limit::none, Finder::walk},
    {kAnyButSmall, FeatureKind::sparse_numeric, When::random_cuts, Limit::none, Finder::walk_cut},
    {kAnyButSmall, FeatureKind::category, When::random_cuts, Limit::none,
     Finder::random_categories},
    {kAnyButSmall, FeatureKind::category, When::greedy_categories, Limit::few_categories,
     Finder::greedy_categories},
    {kAnyButSmall, FeatureKind::category, When::best_cuts, Limit::none,
     Finder::ordered_categories},
    {kBoth, FeatureKind::flag, When::flag_sums, Limit::from_flag_sums_rows, Finder::flag_sums},
    {kBoth | kRemaining, FeatureKind::flag, When::always, Limit::none, Finder::flags},
    {kSmall, FeatureKind::numeric, When::small_cuts, Limit::none, Finder::small_cuts},
    {kSmall, FeatureKind::numeric, When::small_sorted, Limit::none, Finder::small_sorted},
    {kSmall, FeatureKind::numeric, When::small_flags, Limit::none, Finder::small_flags},
    {kSmall, FeatureKind::flag, When::small_flags, Limit::none, Finder::small_flags},
    {kBoth | kListed, FeatureKind::list, When::always, Limit::table_pays, Finder::list_table},
    {kBoth | kListed, FeatureKind::list, When::always, Limit::groups_pay, Finder::list_groups},
    {kBoth | kListed, FeatureKind::list, When::few_blocks, Limit::has_partner, Finder::list_pairs},
    {kBoth | kListed, FeatureKind::list, When::always, Limit::none, Finder::list_rows},
};
const int n_plan_rules = static_cast<int>(std::size(plan_rules));

const Described finder_names[kFinders] = {
    {"histogram", "sums per bin, four features to a pass over the rows, scanned from bin to bin"},
    {"subtracted_histogram", "the parent's histogram minus the smaller sibling's"},
    {"sorted_list", "rows sorted for this node, as packed lists"},
    {"presorted_list", "rows of a subtree, kept sorted by every feature while it is split"},
    {"whole_list", "rows that came sorted, kept so in the whole tree"},
    {"list_table", "the gain of every way to divide a few rows, tabulated once for all lists"},
    {"list_groups", "one list or two, walked from code to code"},
    {"list_pairs", "two lists or four, walked row by row at once"},
    {"list_rows", "one list, walked row by row"},
    {"random_cuts", "one random cut per feature, 64 features at a time, rows as bits"},
    {"walk", "rows grouped by code, walked from either end; any weights and precision"},
    {"walk_cut", "one random cut per feature, from rows grouped by code"},
    {"greedy_categories", "categories join a side one by one while the gain rises"},
    {"ordered_categories", "categories ordered along the main axis of their means, then walked"},
    {"random_categories", "a random subset of the categories"},
    {"flags", "the one split of each flag, from the rows that it lists"},
    {"flag_sums", "the same for all flags at once, from one pass over the rows"},
    {"small_sorted", "drawn features of a few rows, from inner products of the rows"},
    {"small_cuts", "random cuts of a few rows, from inner products of the rows"},
    {"small_flags", "flags of a few rows, from inner products of the rows"},
    {"fixed_histogram", "sums per bin in fixed point, all features to a pass over the rows"},
    {"fixed_difference", "the parent's sums in fixed point minus the smaller sibling's"},
    {"fixed_categories", "categories, as the greedy or ordered ones, from sums in fixed point"},
};

const Described node_kind_names[kNodeKinds] = {
    {"large", "more rows than a subtree, or any node of a tree grown best-first"},
    {"sibling", "a large node that is the larger child of one that kept its histograms"},
    {"subtree", "in a subtree that one thread grows, without lists"},
    {"listed", "in a subtree that keeps its rows sorted by every feature"},
    {"small", "at most 8 rows, in a subtree; not the root of the tree"},
    {"remaining", "none of the drawn features can split the node: the others, one by one"},
};

const Described feature_kind_names[kFeatureKinds] = {
    {"numeric", "dense and numeric"},
    {"sparse_numeric", "sparse and numeric"},
    {"category", "categorical, dense or sparse"},
    {"flag", "sparse with two values, in an incremental tree"},
    {"list", "the sorted rows of a numeric feature"},
};

const Described when_names[kWhens] = {
    {"always", "any tree"},
    {"best_cuts", "not `random_cuts`"},
    {"random_cuts", "parameter `random_cuts`"},
    {"batched_cuts", "`random_cuts` with plain gains"},
    {"sorted_lists", "plain gains, not `random_cuts`"},
    {"presorted_lists", "plain gains, not `random_cuts`, all features are candidates"},
    {"whole_lists",
     "the same, rows come sorted, at most two blocks of channels of 1 MB each, all features dense "
     "and numeric"},
    {"histograms", "uint8 codes, float32 sums, not `random_cuts`, not `whole_lists`"},
    {"subtraction",
     "histograms of all features, and those of a node take at most 16 MB or the "
     "memory of all codes"},
    {"greedy_categories", "several dense channels, not `random_cuts`"},
    {"flag_sums",
     "incremental, all sparse features are flags and candidates, one block of channels, at most "
     "64 MB"},
    {"few_blocks", "at most two blocks of channels"},
    {"small_sorted", "plain gains, drawn features, all dense and numeric"},
    {"small_cuts", "plain gains, `random_cuts`, all features dense and numeric"},
    {"small_flags", "incremental, all features have two values, no regularisation, float32"},
    {"fixed_sums", "parameter `fixed_sums`"},
};

const Described limit_names[kLimits] = {
    {"none", ""},
    {"below_sorted_rows", "rows < 1024"},
    {"from_histogram_rows", "rows >= `histogram_min_rows` (384)"},
    {"table_pays", "rows <= 8 and 2^(rows - 1) <= lists * (rows - 1)"},
    {"groups_pay", "missing values, or at least 24 rows to a code"},
    {"has_partner", "the next list needs no groups either"},
    {"few_categories", "at most 64 categories in the node"},
    {"from_flag_sums_rows", "at least one entry to four sparse features"},
};

TreeFacts facts_of(const BinnedView& binned, const ChannelsView& channels, int64_t n_rows,
                   bool are_all_rows) {
    TreeFacts facts;
    auto all_two_valued = [&](const int32_t* features, int32_t n) {
        return std::all_of(features, features + n,
                           [&](int32_t feature) { return binned.is_two_valued[feature] != 0; });
    };
    facts.n_rows = n_rows;
    facts.n_features = binned.n_features;
    for (int32_t i = 0; i < binned.n_dense; ++i)
        facts.n_dense_category += binned.is_categorical[binned.dense_features[i]] != 0;
    facts.n_dense_numeric = binned.n_dense - facts.n_dense_category;
    facts.n_sparse = binned.n_sparse;
    facts.has_byte_codes = binned.codes_u8 != nullptr;
    facts.has_wide_codes = binned.codes_u32 != nullptr;
    facts.has_categories =
        std::any_of(binned.is_categorical, binned.is_categorical + binned.n_features,
                    [](uint8_t is_categorical) { return is_categorical != 0; });
    facts.are_sparse_flags = all_two_valued(binned.sparse_features, binned.n_sparse);
    facts.are_flags =
        facts.are_sparse_flags && all_two_valued(binned.dense_features, binned.n_dense);
    facts.n_code_bytes = binned.n_rows * binned.n_dense;
    if (binned.n_sparse > 0)
        facts.entries_per_row =
            static_cast<double>(binned.sparse_indptr[binned.n_rows]) / binned.n_rows;
    facts.has_row_orders = are_all_rows && binned.row_orders;
    facts.n_channels = channels.n_channels;
    facts.has_sparse_labels = channels.is_sparse();
    facts.has_entry_weights = channels.policy == HessianPolicy::per_channel;
    return facts;
}

SearchPlan::SearchPlan(const TreeFacts& facts, const GrowParams& params) {
    is_best_first = params.max_leaf_nodes > 0;
    draws_features = params.max_features < facts.n_features;
    has_other_features = facts.n_dense_category > 0 || facts.n_sparse > 0;
    has_row_orders = facts.has_row_orders;
    const int64_t n_dense = facts.n_dense_numeric + facts.n_dense_category;
    is_incremental = facts.has_sparse_labels || (!facts.has_entry_weights && facts.n_sparse > 0 &&
                                                 facts.n_sparse >= kSparsePerDense * n_dense);
    decide_conditions(facts, params);
    decide_rows(facts, params);
    decide_flag_sums(facts, params);
    decide_small_nodes(facts, params);
    compile();
}

void SearchPlan::decide_conditions(const TreeFacts& facts, const GrowParams& params) {
    set(When::always, true);
    set(When::best_cuts, !params.random_cuts);
    set(When::random_cuts, params.random_cuts);
    set(When::fixed_sums, params.fixed_sums);
    // Sorting by the mean is optimal for one channel; for several the subset is grown greedily.
    set(When::greedy_categories,
        !params.random_cuts && facts.n_channels > 1 && !facts.has_sparse_labels);
    set(When::few_blocks, blocks_of(facts.n_channels) <= kMostListBlocks);
    if (is_incremental) return;
    has_plain_gains = params.histogram_min_rows == 0 && facts.has_byte_codes &&
                      !params.double_precision && !facts.has_entry_weights &&
                      params.l2_regularization == 0.0;
    const bool has_numeric = facts.n_dense_numeric > 0;
    set(When::batched_cuts, has_plain_gains && params.random_cuts && has_numeric);
    set(When::sorted_lists, has_plain_gains && !params.random_cuts);
    const bool may_use_histograms =
        facts.has_byte_codes && !params.random_cuts && !params.double_precision && has_numeric;
    const bool has_lists = has_plain_gains && may_use_histograms && !draws_features;
    const bool has_whole_lists = has_lists && !has_other_features && has_row_orders &&
                                 uses_whole_orders(facts.n_rows, facts.n_channels);
    set(When::presorted_lists, has_lists);
    set(When::whole_lists, has_whole_lists);
    set(When::histograms, may_use_histograms && !has_whole_lists);
    // Kept histograms may take as much memory as the codes they save passes over, or little.
    const size_t kept_bytes =
        histogram_bytes(facts.n_dense_numeric, facts.n_channels, facts.has_entry_weights);
    const size_t most_bytes =
        std::max(static_cast<size_t>(facts.n_code_bytes), kFewHistogramBytes);
    set(When::subtraction, holds(When::histograms) && !draws_features && kept_bytes <= most_bytes);
    if (holds(When::subtraction))
        waiting_histograms = static_cast<int64_t>(kWaitingShare * most_bytes / kept_bytes);
}

void SearchPlan::decide_rows(const TreeFacts& facts, const GrowParams& params) {
    const int64_t n_rows = facts.n_rows;
    // An eighth of the rows, so that the lists of a subtree take half the memory of all codes.
    subtree_rows =
        n_rows <= kMaxListRows ? n_rows : std::clamp(n_rows / 8, int64_t{1024}, kMaxListRows);
    // Random cuts need no lists, and one thread no subtrees.
    if (holds(When::batched_cuts) && params.n_threads == 1 && !has_other_features)
        subtree_rows = n_rows;
    if (holds(When::whole_lists)) subtree_rows = n_rows / std::max(1, params.n_threads);
    if (is_incremental) subtree_rows = kIncrementalSubtreeRows;
    sorted_rows = holds(When::sorted_lists) ? kSortedListRows : 0;
    if (holds(When::presorted_lists))
        presorted_rows =
            std::min(kMaxListRows, static_cast<int64_t>(kMaxListBytes / sizeof(uint32_t)) /
                                       facts.n_dense_numeric);
    const int64_t least =
        params.histogram_min_rows == 0 ? kHistogramMinRows : params.histogram_min_rows;
    if (!holds(When::histograms)) return;
    histogram_rows = least;
    // Children that are grown from lists have no use for histograms.
    if (holds(When::subtraction))
        subtraction_rows =
            std::max({kSubtractionMinRows, is_best_first ? 0 : 2 * subtree_rows + 1, least});
    loads_lazily = !has_other_features && !draws_features && !facts.has_entry_weights &&
                   params.max_leaf_nodes < 0 && least <= subtree_rows;
}

void SearchPlan::decide_flag_sums(const TreeFacts& facts, const GrowParams& params) {
    const size_t bytes = flag_sums_bytes(facts.n_sparse, facts.n_channels);
    if (!is_incremental || facts.has_sparse_labels || blocks_of(facts.n_channels) != 1 ||
        facts.n_sparse == 0 || draws_features || bytes > kMostFlagSumsBytes ||
        !facts.are_sparse_flags)
        return;
    set(When::flag_sums, true);
    keeps_flag_sums = is_best_first && params.max_leaf_nodes * bytes <= kMostFlagSumsBytes;
    auto are_enough = [&](int64_t n_rows) {
        return facts.entries_per_row * n_rows >= kMinEntriesPerFlag * facts.n_sparse;
    };
    if (facts.entries_per_row <= 0.0) return;
    int64_t rows =
        static_cast<int64_t>(kMinEntriesPerFlag * facts.n_sparse / facts.entries_per_row);
    while (rows > 0 && are_enough(rows - 1)) --rows;
    while (!are_enough(rows)) ++rows;
    flag_sums_rows = rows;
}

// Where all features are of one kind that SmallSearch knows. Where all of them are candidates,
// lists that are kept sorted do better.
void SearchPlan::decide_small_nodes(const TreeFacts& facts, const GrowParams& params) {
    const bool has_products = params.l2_regularization == 0.0 && !params.double_precision &&
                              !facts.has_entry_weights && params.histogram_min_rows == 0 &&
                              !facts.has_categories;
    const bool are_dense = !is_incremental && facts.n_sparse == 0 && facts.has_byte_codes;
    set(When::small_cuts, has_products && are_dense && params.random_cuts);
    set(When::small_sorted, has_products && are_dense && !params.random_cuts && draws_features);
    set(When::small_flags,
        has_products && is_incremental && !facts.has_wide_codes && facts.are_flags);
    const bool has_small_nodes =
        holds(When::small_cuts) || holds(When::small_sorted) || holds(When::small_flags);
    small_rows = has_small_nodes ? kSmallRows : 0;
}

void SearchPlan::compile() {
    for (int i = 0; i < n_plan_rules; ++i) {
        const PlanRule& rule = plan_rules[i];
        if (!holds(rule.when)) continue;
        const int feature = static_cast<int>(rule.feature);
        for (int node = 0; node < kNodeKinds; ++node) {
            if (!(rule.nodes >> node & 1)) continue;
            uint8_t& n = n_steps_[node][feature];
            // What comes after a rule without a limit is never reached.
            if (n > 0 && steps_[node][feature][n - 1].limit == Limit::none) continue;
            steps_[node][feature][n++] = {rule.limit, rule.finder};
        }
    }
}

bool uses_whole_orders(int64_t n_rows, int32_t n_channels) {
    const int64_t lanes = block_lanes(n_channels);
    return n_channels <= kMostListBlocks * lanes &&
           n_rows * lanes * int64_t{sizeof(float)} <= kMostBlockBytes;
}

bool uses_row_orders(int64_t n_rows, int32_t n_channels) {
    return n_rows <= kMaxListRows || uses_whole_orders(n_rows, n_channels);
}

size_t histogram_bytes(int64_t n_dense_numeric, int32_t n_channels, bool has_entry_weights) {
    const size_t n_bins =
        (n_dense_numeric + kTileFeatures - 1) / kTileFeatures * kTileFeatures * kHistogramBins;
    const size_t n_sums = n_bins * blocks_of(n_channels) * block_lanes(n_channels);
    return sizeof(float) * (n_sums * (has_entry_weights ? 2 : 1) + 2 * n_bins);
}

size_t flag_sums_bytes(int64_t n_sparse, int32_t n_channels) {
    return static_cast<size_t>(n_sparse) *
           ((block_lanes(n_channels) + 1) * sizeof(double) + sizeof(int32_t));
}

}  // namespace polyleaf
