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
    };
    // Codes of a categorical split: made for each tree, behind the planes.
    struct Member {
        int64_t plane;
        uint8_t set[32];
    };
    struct WalkNode {
        uint32_t right_child;  // within the tree; a leaf: itself
        uint16_t plane;        // kCategory is set at a categorical split
        uint16_t limit;        // codes from here on go right; a leaf: 0
    };
    static constexpr uint16_t kCategory = 1 << 15;
    struct Scratch;

    explicit CodedTrees(const TreeNodes& trees)
        : trees_(trees), bytes_(trees.n_features), words_(trees.n_features) {}

    bool plan_tree(int64_t tree, std::vector<int32_t>& depths);
    void place_tree(Tree& tree, const std::vector<int32_t>& depths);
    void place_node(Tree& tree, int64_t node, int level, int64_t id);
    void place_walk(const Tree& tree, const std::vector<int32_t>& depths);
    bool fits_bytes(const TreeNode& node) const;

    int64_t groups_per_block(int64_t n_rows, int n_threads) const;
    template <typename T, typename Body>
    void for_each_block(const RowsView<T>& rows, ThreadTeam& team, Body&& body) const;
    void descend(const Tree& tree, Scratch& scratch, int64_t group, uint8_t* ids) const;
    template <bool kHasCategories>
    void walk(const Tree& tree, const uint16_t* codes, const uint8_t* ids, int32_t* leaves) const;

    const TreeNodes& trees_;
    CodePlanes<uint8_t> bytes_;
    CodePlanes<uint16_t> words_;
    std::vector<Tree> tree_;
    std::vector<uint32_t> offsets_;
    std::vector<uint8_t> thresholds_;
    std::vector<int32_t> ends_;  // leaf, or node to walk on from
    std::vector<Member> members_;
    // Numbered as all nodes; empty if no tree is deep.
    std::vector<WalkNode> walk_nodes_;
    std::vector<int32_t> leaf_numbers_;
    int64_t most_members_ = 0;
    bool has_deep_ = false, walks_categories_ = false;
};

}  // namespace polyleaf
