// Subtrees of a tree, each grown by one thread, which may give parts of it to others.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/parallel.hpp"
#include "grow/node_search.hpp"
#include "grow/stopping.hpp"

namespace polyleaf {

class Subtrees {
  public:
    Subtrees(StoppingRules& rules, const Workspace& workspace, ThreadTeam& team,
             NodeSearch& search)
        : rules_(rules), workspace_(workspace), team_(team), search_(search) {}

    // The tree below node `id`. totals: of all its rows, if they are known.
    void add(int32_t id, const NodeRange& range, int64_t depth, uint64_t seed,
             NodeTotals totals = {}) {
        all_.emplace_back(id, range, depth, seed).totals = std::move(totals);
    }
    void grow();

    bool is_whole_tree() const { return all_.size() == 1 && all_[0].id == 0; }
    // Gives the nodes of the only subtree away, which are in preorder.
    void move_to(GrownTree& tree) {
        tree.nodes = std::move(all_[0].nodes);
        tree.category_words = std::move(all_[0].words);
    }
    size_t n_nodes() const;
    // Appends the subtree that is in the place of node `id`; false if there is none.
    bool append_to(GrownTree& tree, int32_t id) const;

  private:
    struct Subtree {
        Subtree(int32_t id, const NodeRange& range, int64_t depth, uint64_t seed)
            : id(id), range(range), depth(depth), seed(seed) {}

        int32_t id;
        NodeRange range;
        int64_t depth;
        uint64_t seed;
        std::vector<TreeNode> nodes;  // nodes[0] replaces the node `id`
        std::vector<uint32_t> words;
        NodeTotals totals;
        // Where it is a part of another one, which was given away.
        bool is_given = false, may_split = false;
        std::vector<const Subtree*> given;  // parts of it, in the place of its nodes `id`
    };
    struct Node {
        int32_t parent = -1;  // -1: the root of the subtree
        bool is_right = false;
        NodeRange range;
        int64_t depth = 0;
        uint64_t seed = 0;
        NodeTotals totals;
        bool may_split = false;
    };
    struct SmallNode {
        int32_t parent;
        bool is_right;
        uint32_t rows;  // of the root of its subtree, as bits
        int64_t begin;
        int64_t depth;
        uint64_t seed;
    };
    class Growing;

    // The largest subtree that waits; null once all are grown. Who takes one holds a Growing.
    Subtree* take();
    // Lets a thread that has nothing to do grow the largest of the nodes that wait.
    void give_away(Subtree& subtree, std::vector<Node>& waiting);

    void grow(Subtree& subtree, int thread);
    // Searches a node. If it is split, one child takes its place and the other one waits: true.
    bool grow_node(Subtree& subtree, Node& node, std::vector<Node>& waiting, int thread);
    // Sums of both children; small ones do without.
    void summarise_children(Subtree& subtree, Node& node, Node& left, Node& right, int thread);
    // Whether a node is left to the search of small ones; the root tells what a pure node is.
    bool is_small(const Subtree& subtree, const Node& node, int thread) const {
        return (node.parent >= 0 || subtree.id != 0) && search_.small_search(node.range, thread);
    }
    // Whether a node of these sums may be split.
    bool is_open(const Subtree& subtree, const Node& node);
    // All of what is below a small node, whose sums are not needed.
    void grow_small(Subtree& subtree, const Node& root, int thread);
    // The rows that go left, or none.
    uint32_t find_small(TreeNode& recorded, const SmallNode& node, SmallSearch& search,
                        Split& split) const;
    void append(GrownTree& tree, const Subtree& subtree) const;

    StoppingRules& rules_;
    const Workspace& workspace_;
    ThreadTeam& team_;
    NodeSearch& search_;
    std::deque<Subtree> all_;
    std::unordered_map<int32_t, const Subtree*> at_node_;  // those that were not given away
    // What threads take from each other's work, and how many of them grow something or wait.
    std::mutex mutex_;
    std::vector<Subtree*> waiting_;
    int n_growing_ = 0;
    std::atomic<int> n_hungry_{0};
};

}  // namespace polyleaf
