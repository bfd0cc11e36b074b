// Trees on codes, for many rows. 64 rows descend up to eight levels at once (kernels/blends.inl);
// below, and in trees that split on too many categories, each row walks on its own, on nodes of
// eight bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/parallel.hpp"
#include "predict/code_planes.hpp"
#include "predict/tree_nodes.hpp"

namespace polyleaf {

class CodedTrees {
  public:
    // Null if the trees cannot be coded: more than 65,534 thresholds of one feature, or so. The
    // trees must outlive what is made of them.
    static std::unique_ptr<CodedTrees> make(const TreeNodes& trees);

    // The same, but rows walk from the root on, so that they can take both sides of some splits.
    static std::unique_ptr<CodedTrees> make_walks(const TreeNodes& trees);

    // Codes of rows for walks: [group of kCodedRows][kCodedRows][plane].
    template <typename T>
    std::vector<uint16_t> encode_walks(const RowsView<T>& rows, ThreadTeam& team) const;
    // Of trees made by make_walks: counts[leaf of the tree] += the weight of every row that
    // reaches it (weights null: 1). Splits on chosen features do not part rows: they lead to the
    // children that is_reached, by node of the tree, tells.
    void count_reached(int64_t tree, const std::vector<uint16_t>& codes, int64_t n_rows,
                       const double* weights, const std::vector<int32_t>& chosen_features,
                       const uint8_t* is_reached, double* counts) const;

    // visit(block) for all rows and trees, tree by tree for each row, from several threads.
    template <typename T>
    void visit(const RowsView<T>& rows, ThreadTeam& team, const VisitLeaves& visit) const;

    // Whether `add_numbers` can be used: no tree goes on below the levels of blends.
    bool has_only_levels() const { return !has_deep_; }
    // raw[row] += values[leaf], tree after tree; values: (n_leaves,).
    template <typename T>
    void add_numbers(const RowsView<T>& rows, const float* values, float* raw,
                     ThreadTeam& team) const;

  private:
    struct Tree {
        int levels = 0;        // by blends; the tree is padded to that many
        bool is_deep = false;  // rows walk on below them
        int64_t root = 0, first_offset = 0, first_threshold = 0, first_end = 0;
        int64_t first_member = 0, n_members = 0;
        // Deep trees: where they are among small_walks_ if 15 bits are enough for their children,
        // else among large_walks_.
        bool is_small = false;
        int64_t first_walk = 0, n_walks = 0, first_leaf = 0;
    };
    // Codes of a categorical split: made for each tree, behind the planes.
    struct Member {
        int64_t plane;
        uint8_t set[32];
    };
    // A node below the levels of a deep tree. Its children are nodes of the same tree, or leaves:
    // then the number of the leaf within the tree, with the highest bit set. There are no nodes
    // for leaves, so that most trees fit in the nearest cache.
    template <typename Child>
    struct WalkNode {
        static constexpr Child kLeaf = static_cast<Child>(Child{1} << (8 * sizeof(Child) - 1));
        uint16_t plane;  // kCategory is set at a categorical split
        uint16_t limit;  // codes above it go right
        Child children[2];
    };
    static constexpr uint16_t kCategory = 1 << 15;
    static constexpr uint32_t kLeaf = WalkNode<uint32_t>::kLeaf;
    template <typename Child>
    struct Walks {
        std::vector<WalkNode<Child>> nodes;
        std::vector<int64_t> origins;  // each as a node of trees_; empty if nobody asks
    };
    struct Scratch;

    explicit CodedTrees(const TreeNodes& trees)
        : trees_(trees), bytes_(trees.n_features), words_(trees.n_features) {}
    static std::unique_ptr<CodedTrees> make(const TreeNodes& trees, bool only_walks);

    void plan_tree(int64_t tree);
    void place_tree(Tree& tree);
    void place_node(Tree& tree, int64_t node, int level, int64_t id, Walks<uint32_t>& placed);
    uint32_t place_walks(const Tree& tree, int64_t from, Walks<uint32_t>& placed) const;
    uint32_t place_walk(const Tree& tree, int64_t at, Walks<uint32_t>& placed) const;
    template <typename Child>
    void keep_walks(Tree& tree, const Walks<uint32_t>& placed, Walks<Child>& kept) const;
    bool fits_bytes(const TreeNode& node) const;

    int64_t groups_per_block(int64_t n_rows, int n_threads) const;
    template <typename T, typename Body>
    void for_each_block(const RowsView<T>& rows, ThreadTeam& team, Body&& body) const;
    void descend(const Tree& tree, Scratch& scratch, int64_t group, uint8_t* ids) const;
    // Rows from a group on down one tree, to leaves numbered over all trees.
    void find_leaves(const Tree& tree, Scratch& scratch, int64_t group, int n_rows,
                     int32_t* leaves) const;
    template <bool kHasCategories, typename Child>
    void walk(const Tree& tree, const Walks<Child>& walks, const uint16_t* codes,
              const uint8_t* ids, int n_rows, int32_t* leaves) const;
    template <typename Child>
    void count_in(const Tree& tree, const Walks<Child>& walks, const std::vector<uint16_t>& codes,
                  int64_t n_rows, const double* weights, const std::vector<uint8_t>& is_chosen,
                  const uint8_t* is_reached, double* counts) const;
    void prefetch_part(const Tree& tree, int64_t part, int64_t n_parts) const;

    const TreeNodes& trees_;
    CodePlanes<uint8_t> bytes_;
    CodePlanes<uint16_t> words_;
    std::vector<Tree> tree_;
    std::vector<uint32_t> offsets_;
    std::vector<uint8_t> thresholds_;
    std::vector<int32_t> ends_;  // leaf; of a deep tree as the children of WalkNode<uint32_t>
    std::vector<Member> members_;
    Walks<uint16_t> small_walks_;
    Walks<uint32_t> large_walks_;
    int64_t most_members_ = 0;
    bool has_deep_ = false, walks_categories_ = false, only_walks_ = false;
};

}  // namespace polyleaf
