// The plan of a tree: which finder searches which features of which node. It is made once per
// tree, from facts about data and channels and from parameters, and nothing else decides.
//
// The table in plan.cpp is the plan: the first rule that holds names the finder. It is repeated in
// docs/internals/life_of_a_node.md; a test compares the two.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/data.hpp"
#include "kernels/list_kernels.hpp"

namespace polyleaf {

// Ways to score the splits of a node's features. `finder_names` describes each.
enum class Finder : uint8_t {
    histogram,
    subtracted_histogram,
    sorted_list,
    presorted_list,
    whole_list,
    list_table,  // this one and the next three: how a list is scored, wherever it comes from
    list_groups,
    list_pairs,
    list_rows,
    random_cuts,
    walk,
    walk_cut,
    greedy_categories,
    ordered_categories,
    random_categories,
    flags,
    flag_sums,
    small_sorted,
    small_cuts,
    small_flags,
    fixed_histogram,
    fixed_difference,
    fixed_categories,
};
constexpr int kFinders = 23;

// Where a node stands in the growth of its tree.
enum class NodeKind : uint8_t {
    large,      // searched by all threads: more rows than a subtree, or a tree grown best-first
    sibling,    // large, and its histograms are its parent's minus its sibling's
    subtree,    // in a subtree, which one thread grows
    listed,     // the same, if the subtree keeps its rows sorted by every feature
    small,      // of a few rows in a subtree; never the root of the tree
    remaining,  // none of its drawn features can split it: the others are tried one by one
};
constexpr int kNodeKinds = 6;

enum class FeatureKind : uint8_t {
    numeric,         // dense
    sparse_numeric,  // stored as entries that differ from a default
    category,        // however it is stored
    flag,            // sparse, with two values; only in incremental trees
    list,            // the sorted rows of a numeric feature, made by one of the *_list finders
};
constexpr int kFeatureKinds = 5;

// Conditions on the tree, known before its first node.
enum class When : uint8_t {
    always,
    best_cuts,
    random_cuts,
    batched_cuts,
    sorted_lists,
    presorted_lists,
    whole_lists,
    histograms,
    subtraction,
    greedy_categories,
    flag_sums,
    few_blocks,
    small_sorted,
    small_cuts,
    small_flags,
    fixed_sums,
};
constexpr int kWhens = 16;

// Conditions on the node at hand.
enum class Limit : uint8_t {
    none,
    below_sorted_rows,
    from_histogram_rows,
    table_pays,
    groups_pay,
    has_partner,
    few_categories,
    from_flag_sums_rows,
};
constexpr int kLimits = 8;

// One line of the plan's table. nodes: bit i is NodeKind i.
struct PlanRule {
    uint8_t nodes;
    FeatureKind feature;
    When when;
    Limit limit;
    Finder finder;
};

struct Described {
    const char* name;
    const char* text;
};
extern const Described finder_names[kFinders];
extern const Described node_kind_names[kNodeKinds];
extern const Described feature_kind_names[kFeatureKinds];
extern const Described when_names[kWhens];
extern const Described limit_names[kLimits];
extern const PlanRule plan_rules[];
extern const int n_plan_rules;

// Thresholds that do not depend on the data.

// Codes of a byte, that of missing values included.
constexpr int64_t kHistogramBins = 256;
// With so many sparse features to a dense one, what the dense ones cost does not matter.
constexpr int64_t kSparsePerDense = 8;
// Below this many rows, sorting beats filling a histogram of 256 bins.
constexpr int64_t kHistogramMinRows = 384;
// A feature that is sorted for one node has no neighbours to share a histogram's pass with:
// sorting pays up to here.
constexpr int64_t kSortedListRows = 1024;
// Below this many rows, a histogram is built as quickly as it is subtracted.
constexpr int64_t kSubtractionMinRows = 4096;
// Histograms of a node that are kept whatever the number of rows.
constexpr size_t kFewHistogramBytes = size_t{16} << 20;
// Depth-first, few nodes have them at a time. Best-first, many nodes wait, and together they may
// take this many times what one node may.
constexpr size_t kWaitingShare = 2;
// Larger subtrees do better with histograms, unless their rows come sorted.
constexpr int64_t kMaxListRows = 4096;
// The lists of a subtree stay in the second-level cache.
constexpr size_t kMaxListBytes = size_t{4} << 20;
// Small nodes, and nodes with a table of all ways to divide them, have at most so many rows.
constexpr int64_t kSmallRows = kMostProductRows;
// More categories than this in a node are ordered along their main axis instead of one by one.
constexpr int64_t kMaxGreedyCategories = 64;
// By chance, the best cut of a number gains about as much as the best subset of so many
// categories: they are free of GrowParams::category_penalty.
constexpr double kFreeCategories = 8.0;
// From so many rows to a code, a list is walked from code to code.
constexpr int64_t kLongGroup = kLongGroupOfBlock;
// What the sums of all flags may take: in one node, and in all nodes that wait.
constexpr size_t kMostFlagSumsBytes = size_t{64} << 20;

// What the plan must know about data and channels.
struct TreeFacts {
    int64_t n_rows = 0;  // that the tree is grown on
    int64_t n_features = 0;
    int64_t n_dense_numeric = 0, n_dense_category = 0, n_sparse = 0;
    bool has_byte_codes = false;    // dense codes are uint8
    bool has_wide_codes = false;    // dense codes are uint32: exact splits
    bool has_categories = false;    // dense or sparse ones
    bool are_flags = false;         // all features have two values and none is missing
    bool are_sparse_flags = false;  // the same of all sparse features
    int64_t n_code_bytes = 0;       // of all dense features, also of rows that are not used
    double entries_per_row = 0.0;   // of the sparse features
    bool has_row_orders = false;    // the tree's rows come sorted by every feature
    int32_t n_channels = 1;
    bool has_sparse_labels = false;
    bool has_entry_weights = false;  // HessianPolicy::per_channel
};

// What is asked about a node; what a rule does not look at may be left out.
struct NodeQuestion {
    int64_t n_rows = 0;
    int64_t n_lists = 0;       // features whose lists are searched together
    int64_t n_codes = 0;       // from the first to the last value of a list
    bool has_missing = false;  // in a list
    bool has_partner = false;  // a second list can be walked along, without missing values or
                               // long groups in either
    int64_t n_categories = 0;  // in the node
};

class SearchPlan {
  public:
    SearchPlan() = default;
    SearchPlan(const TreeFacts& facts, const GrowParams& params);

    // The first rule that holds.
    Finder finder(NodeKind node, FeatureKind feature, const NodeQuestion& question) const {
        const Step* step = steps_[static_cast<int>(node)][static_cast<int>(feature)].data();
        while (!holds(step->limit, question)) ++step;
        return step->finder;
    }
    Finder finder(NodeKind node, FeatureKind feature, int64_t n_rows) const {
        NodeQuestion question;
        question.n_rows = n_rows;
        return finder(node, feature, question);
    }
    // Whether any rule serves such a feature in such a node.
    bool serves(NodeKind node, FeatureKind feature) const {
        return n_steps_[static_cast<int>(node)][static_cast<int>(feature)] > 0;
    }
    bool holds(When when) const { return whens_ >> static_cast<int>(when) & 1; }
    bool holds(Limit limit, const NodeQuestion& question) const;

    // Searched by IncrementalSearch: sums of nodes are derived from each other, in double
    // precision, and rows are moved no more than they must be.
    bool is_incremental = false;
    bool is_best_first = false;
    bool draws_features = false;
    bool has_other_features = false;  // beside dense numeric ones
    bool has_row_orders = false;
    // The gain of a side A is |A|^2 times a factor: weights of rows at most, centred channels, no
    // regularisation, float32 sums, and thresholds that were left to the core.
    bool has_plain_gains = false;
    // Large nodes load their channels block by block, and subtrees their own: a fraction of the
    // memory. Possible where large nodes see histograms only.
    bool loads_lazily = false;
    // Best-first: nodes that wait keep the sums of their flags.
    bool keeps_flag_sums = false;

    // Subtrees of at most this many rows are grown by one thread each.
    int64_t subtree_rows = 0;
    // Nodes of at least so many rows; kNever: none.
    static constexpr int64_t kNever = INT64_MAX;
    int64_t histogram_rows = kNever;
    int64_t subtraction_rows = kNever;  // keep their histograms for their children
    // Best-first: so many nodes keep them at a time, those of the highest gain.
    int64_t waiting_histograms = 0;
    int64_t flag_sums_rows = kNever;
    // Nodes or subtrees of at most so many rows; 0: none.
    int64_t presorted_rows = 0;
    int64_t small_rows = 0;
    int64_t sorted_rows = 0;  // fewer than

    // Whether a node needs the sums of its channels, and the product of each row with them.
    bool needs_sums(int64_t n_rows) const {
        return !has_plain_gains || has_other_features ||
               (!holds(When::random_cuts) && n_rows >= histogram_rows);
    }
    bool needs_products(int64_t n_rows) const {
        return n_rows < histogram_rows || has_other_features || draws_features;
    }

  private:
    struct Step {
        Limit limit = Limit::none;
        Finder finder = Finder::walk;
    };
    static constexpr int kMostSteps = 6;

    void set(When when, bool does_hold) {
        whens_ |= uint32_t{does_hold} << static_cast<int>(when);
    }
    void decide_conditions(const TreeFacts& facts, const GrowParams& params);
    void decide_small_nodes(const TreeFacts& facts, const GrowParams& params);
    void decide_flag_sums(const TreeFacts& facts, const GrowParams& params);
    void decide_rows(const TreeFacts& facts, const GrowParams& params);
    void compile();

    uint32_t whens_ = 0;
    std::array<Step, kMostSteps> steps_[kNodeKinds][kFeatureKinds] = {};
    uint8_t n_steps_[kNodeKinds][kFeatureKinds] = {};
};

// Whether a table of all divisions of a node is cheaper than scoring its lists one by one.
inline bool table_pays(int64_t n_rows, int64_t n_lists) {
    return n_rows > 1 && n_rows <= kSmallRows &&
           int64_t{1} << (n_rows - 1) <= n_lists * (n_rows - 1);
}
// A walk from code to code serves both sides that missing rows may go to. Where few rows have a
// code, the norms of all prefixes cost less than keeping the last one of each code.
inline bool groups_pay(int64_t n_rows, int64_t n_codes, bool has_missing) {
    return has_missing || n_rows >= kLongGroup * n_codes;
}

inline bool SearchPlan::holds(Limit limit, const NodeQuestion& question) const {
    switch (limit) {
        case Limit::none:
            return true;
        case Limit::below_sorted_rows:
            return question.n_rows < sorted_rows;
        case Limit::from_histogram_rows:
            return question.n_rows >= histogram_rows;
        case Limit::table_pays:
            return table_pays(question.n_rows, question.n_lists);
        case Limit::groups_pay:
            return groups_pay(question.n_rows, question.n_codes, question.has_missing);
        case Limit::has_partner:
            return question.has_partner;
        case Limit::few_categories:
            return question.n_categories <= kMaxGreedyCategories;
        case Limit::from_flag_sums_rows:
            return question.n_rows >= flag_sums_rows;
    }
    return true;
}

// are_all_rows: the tree is grown on all rows, in their order.
TreeFacts facts_of(const BinnedView& binned, const ChannelsView& channels, int64_t n_rows,
                   bool are_all_rows);

// Whether all nodes of a tree on rows that come sorted find them sorted: a block of channels stays
// in the second-level cache while rows are read in any order, and there are few blocks.
bool uses_whole_orders(int64_t n_rows, int32_t n_channels);
// Whether a tree has any use for the order of its rows.
bool uses_row_orders(int64_t n_rows, int32_t n_channels);

size_t histogram_bytes(int64_t n_dense_numeric, int32_t n_channels, bool has_entry_weights);
size_t flag_sums_bytes(int64_t n_sparse, int32_t n_channels);

// The finders that took part in the search of a node.
class FinderSet {
  public:
    void add(Finder finder) { bits_ |= uint32_t{1} << static_cast<int>(finder); }
    void add(const FinderSet& other) { bits_ |= other.bits_; }
    // What it holds; it is empty afterwards.
    FinderSet take() {
        const FinderSet taken = *this;
        bits_ = 0;
        return taken;
    }
    uint32_t bits() const { return bits_; }

  private:
    uint32_t bits_ = 0;
};

// How many nodes each finder served. A node counts for every finder that took part.
struct FinderCounts {
    std::array<int64_t, kFinders> nodes = {};

    void add(Finder finder) { ++nodes[static_cast<int>(finder)]; }
    void add(const FinderSet& set) {
        for (uint32_t bits = set.bits(); bits; bits &= bits - 1) ++nodes[__builtin_ctz(bits)];
    }
    void add(const FinderCounts& other) {
        for (int i = 0; i < kFinders; ++i) nodes[i] += other.nodes[i];
    }
};

}  // namespace polyleaf
