// Scores the splits of single features: by a walk over the rows in order of their codes.
#pragma once

#include <cstdint>
#include <vector>

#include "grow/column.hpp"
#include "grow/split.hpp"
#include "grow/workspace.hpp"

namespace polyleaf {

class FlagSums;

// Scores of the rows of `means` (n, width) along their weighted principal axis, by power
// iteration from the row that deviates most.
std::vector<double> principal_scores(std::vector<double> means, const std::vector<double>& weights,
                                     size_t width);

// Separates draws of subsets from other draws with the seed of a node.
constexpr uint64_t kSubsetSalt = 0xdecade00ULL;

// A node under search: its rows, its sums, its seed and where its channels are (null: only at
// the source, to be loaded block by block).
struct SearchNode {
    NodeRange range;
    const NodeTotals* totals = nullptr;
    uint64_t seed = 0;
    ChannelStore* store = nullptr;
    const double* label_totals = nullptr;  // (n_channels,) G; sparse labels only
    const FlagSums* listed = nullptr;      // null: features of two values are collected
};

// One thread's search; owns all scratch memory.
class FeatureSearch {
  public:
    explicit FeatureSearch(Workspace& workspace);

    // Each looks at one feature and keeps the better of its best split and `best`.
    void search_dense(const SearchNode& node, int32_t feature, uint64_t rank, Split& best);
    void search_sparse(const SearchNode& node, int32_t feature, uint64_t rank,
                       const SparseEntries& entries, Split& best);

    uint64_t work = 0;               // (row, feature, channel) triples that were added up
    FinderSet used;                  // of the node at hand
    std::vector<double> label_sums;  // zeros (n_channels,); sparse labels only

  private:
    // A side A of a split as sums over its rows.
    struct Side {
        int64_t n_rows = 0;
        double weight = 0.0, product = 0.0;
    };

    void search(const SearchNode& node, int32_t feature, uint64_t rank, Split& best);
    void search_ordered(const SearchNode& node, int32_t feature, uint64_t rank, Split& best);
    void search_missing(const SearchNode& node, int32_t feature, uint64_t rank, Split& best);
    void search_random_cut(const SearchNode& node, int32_t feature, uint64_t rank, Split& best);
    void search_random_subset(const SearchNode& node, int32_t feature, uint64_t rank, Split& best);
    // The next two find the sums of dense channels made.
    void search_greedy_subset(const SearchNode& node, int32_t feature, uint64_t rank, Split& best);
    void order_categories(const SearchNode& node);
    void sum_categories(const SearchNode& node);
    // The share of a subset's gain that chance does not explain, in [0, 1].
    double credit_categories(const SearchNode& node);
    double chance_share(const SearchNode& node) const;
    double chance_share_per_channel(const SearchNode& node, double n_free) const;
    double square_of_weight(int64_t position) const;
    double between_categories(const SearchNode& node) const;
    double between_categories_of_labels(const SearchNode& node);

    // Scores the prefixes of the listed groups; each may take the missing rows along.
    template <typename Accept>
    void walk_groups(const SearchNode& node, const uint32_t* order, const uint32_t* ends,
                     size_t n_groups, bool with_missing, Accept&& accept);
    void walk_norms(const SearchNode& node, const uint32_t* order, const uint32_t* ends,
                    size_t n_groups, bool with_missing);
    void walk_labels(const SearchNode& node, const uint32_t* order, const uint32_t* ends,
                     size_t n_groups, bool with_missing);
    // with_product: only where the node is not centred.
    Side side_of(const SearchNode& node, const uint32_t* rows, size_t n,
                 bool with_product = true) const;
    double gain_of(const SearchNode& node, const Side& side, double norm) const;
    bool large_enough(const SearchNode& node, int64_t n_side) const;
    void keep_subset(int32_t feature, uint64_t rank, double gain,
                     const std::vector<uint32_t>& left_codes, int64_t n_left, bool missing_left,
                     Split& best) const;

    Workspace& workspace_;
    const Kernels& kernels_;
    Column column_;
    ColumnScratch scratch_;
    std::vector<double> norms_, label_products_;
    std::vector<float> partial_;
    std::vector<uint32_t> reversed_, reversed_ends_;
    // Categories of the node: sums of channels (k, width), weights, counts, products.
    std::vector<double> category_sums_;
    std::vector<double> category_hessians_, category_squares_;  // sums of h and h^2
    std::vector<Side> category_sides_;
    std::vector<uint32_t> category_codes_;
    double category_credit_ = 1.0;  // of the feature at hand; 1 unless it has many categories
};

}  // namespace polyleaf
