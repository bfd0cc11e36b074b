// The two ways to grow a tree: depth-first, subtrees in parallel; or best-first.
#include "ramify/grower.hpp"

#include <algorithm>
#include <memory>
#include <queue>

#include "node_search.hpp"
#include "ramify/random.hpp"

namespace ramify {

namespace {

// A node whose impurity per row is this far below the root's holds rounding errors only.
constexpr double kPureShare = 1e-11;

struct OpenNode {
    int32_t id = 0;  // in the tree under construction
    NodeRange range;
    int64_t depth = 0;
    uint64_t seed = 0;
    NodeTotals totals;
    Split split;
    std::unique_ptr<NodeHistograms> histograms;
};

struct Subtree {
    int32_t id = 0;
    NodeRange range;
    int64_t depth = 0;
    uint64_t seed = 0;
    std::vector<TreeNode> nodes;  // nodes[0] replaces the node `id`
    std::vector<uint32_t> words;
};

class Grower {
  public:
    Grower(const BinnedView& binned, const ChannelsView& channels, const int32_t* rows,
           int64_t n_rows, const GrowParams& params, Interrupt& interrupt)
        : params_(params),
          workspace_(binned, channels, rows, n_rows, params, interrupt),
          team_(params.n_threads, interrupt),
          search_(workspace_, team_) {}

    GrownTree grow() {
        OpenNode root;
        root.range = {0, workspace_.n_rows};
        root.seed = mix(params_.seed + 1);
        nodes_.emplace_back();
        const bool is_best_first = params_.max_leaf_nodes > 0;
        if (!is_best_first && workspace_.n_rows <= search_.subtree_rows()) {
            subtrees_.push_back({0, root.range, 0, root.seed, {}, {}});
            grow_subtrees();
            return assemble();
        }
        open_with_team(root);
        if (is_best_first)
            grow_best_first(std::move(root));
        else
            grow_depth_first(std::move(root));
        return assemble();
    }

  private:
    void record(TreeNode& node, const NodeRange& range, const NodeTotals& totals) {
        node.begin = range.begin;
        node.end = range.end;
        node.weight = totals.weight;
        node.impurity = totals.impurity;
    }

    bool can_split(const NodeRange& range, int64_t depth) const {
        return (params_.max_depth < 0 || depth < params_.max_depth) &&
               range.size() >= params_.min_samples_split &&
               range.size() / 2 >= params_.min_samples_leaf;
    }
    bool is_pure(const NodeTotals& totals) const {
        return totals.impurity <= kPureShare * pure_scale_ * totals.weight;
    }
    bool is_accepted(const Split& split) const {
        if (!split.found()) return false;
        if (params_.min_impurity_decrease > 0.0) return split.gain >= least_gain_;
        // Without regularisation a gain is never negative, and a zero one (exclusive or) may
        // be what it takes to get on.
        return params_.l2_regularization == 0.0 || split.gain > 0.0;
    }

    void note_root(const NodeTotals& totals) {
        pure_scale_ = totals.weight > 0.0 ? totals.impurity / totals.weight : 0.0;
        least_gain_ =
            params_.min_impurity_decrease * totals.weight * workspace_.channels.n_channels;
    }

    // Sums and best split of one node, by all threads.
    void open_with_team(OpenNode& node) {
        const bool is_best_first = params_.max_leaf_nodes > 0;
        if (node.totals.n_rows == 0) node.totals = search_.summarise(node.range, 0, false);
        if (node.id == 0) note_root(node.totals);
        record(nodes_[node.id], node.range, node.totals);
        if (!can_split(node.range, node.depth) || is_pure(node.totals)) return;
        if (!is_best_first && search_.keeps_histograms(node.range.size()))
            node.histograms = search_.new_histograms();
        const SearchNode view{node.range, &node.totals, node.seed, search_.store_of(0)};
        node.split = search_.find_with_team(view, node.histograms.get());
        // q numbers that nobody needs while the node waits
        if (!search_.is_incremental()) node.totals = {};
    }

    void summarise_children(OpenNode& parent, OpenNode& left, OpenNode& right) {
        if (search_.is_incremental())
            search_.summarise_children(parent.range, parent.totals, left.range, right.range, 0,
                                       left.totals, right.totals);
    }

    // Both children of a node with histograms: one pass builds the smaller, subtraction the other.
    void open_siblings(OpenNode& a, OpenNode& b, std::unique_ptr<NodeHistograms> parent) {
        const bool a_small = a.range.size() <= b.range.size();
        OpenNode& small = a_small ? a : b;
        OpenNode& large = a_small ? b : a;
        for (OpenNode* node : {&small, &large}) {
            node->totals = search_.summarise(node->range, 0, true);
            record(nodes_[node->id], node->range, node->totals);
        }
        if (search_.keeps_histograms(small.range.size()))
            small.histograms = search_.new_histograms();
        ChannelStore* const store = search_.store_of(0);
        const SearchNode small_view{small.range, &small.totals, small.seed, store};
        const SearchNode large_view{large.range, &large.totals, large.seed, store};
        search_.find_siblings_with_team(small_view, large_view, small.histograms.get(), *parent,
                                        small.split, large.split);
        for (OpenNode* node : {&small, &large})
            if (is_pure(node->totals)) node->split = Split{};
        if (search_.keeps_histograms(large.range.size())) large.histograms = std::move(parent);
    }

    static void note_split(TreeNode& record, const Split& split, std::vector<uint32_t>& words) {
        record.feature = split.feature;
        record.threshold = split.threshold;
        record.missing_left = split.missing_left;
        record.gain = std::max(0.0, split.gain);
        if (split.is_categorical) {
            record.category_offset = static_cast<int64_t>(words.size());
            words.insert(words.end(), split.category_words.begin(), split.category_words.end());
        }
    }

    // Applies the node's split; fills the two children except for their ids.
    template <typename Node, typename Child>
    void divide(TreeNode& record, Node& node, std::vector<uint32_t>& words, int thread,
                Child& left, Child& right) {
        const Split& split = node.split;
        const int64_t middle = search_.partition(node.range, split, thread);
        note_split(record, split, words);
        left.range = {node.range.begin, middle};
        right.range = {middle, node.range.end};
        left.depth = right.depth = node.depth + 1;
        left.seed = child_seed(node.seed, 0);
        right.seed = child_seed(node.seed, 1);
    }

    void add_children(int32_t parent, OpenNode& left, OpenNode& right) {
        left.id = static_cast<int32_t>(nodes_.size());
        right.id = left.id + 1;
        nodes_.resize(nodes_.size() + 2);
        nodes_[parent].left = left.id;
        nodes_[parent].right = right.id;
    }

    void grow_depth_first(OpenNode root) {
        std::vector<OpenNode> stack;
        stack.push_back(std::move(root));
        while (!stack.empty()) {
            team_.interrupt().check();
            OpenNode node = std::move(stack.back());
            stack.pop_back();
            if (!is_accepted(node.split)) continue;
            OpenNode children[2];
            divide(nodes_[node.id], node, words_, 0, children[0], children[1]);
            add_children(node.id, children[0], children[1]);
            const bool both = can_split(children[0].range, node.depth + 1) &&
                              can_split(children[1].range, node.depth + 1);
            const int64_t larger = std::max(children[0].range.size(), children[1].range.size());
            if (node.histograms && both && larger > search_.subtree_rows()) {
                open_siblings(children[0], children[1], std::move(node.histograms));
                // The smaller goes first, so that few nodes wait with their histograms, however
                // lopsided the tree.
                const int smaller = children[0].range.size() <= children[1].range.size() ? 0 : 1;
                stack.push_back(std::move(children[1 - smaller]));
                stack.push_back(std::move(children[smaller]));
                continue;
            }
            node.histograms.reset();
            search_.split_lists_with_team(node.range);
            summarise_children(node, children[0], children[1]);
            for (OpenNode& child : children) {
                if (child.range.size() <= search_.subtree_rows()) {
                    subtrees_.push_back({child.id, child.range, child.depth, child.seed, {}, {}});
                    continue;
                }
                open_with_team(child);
                stack.push_back(std::move(child));
            }
        }
        grow_subtrees();
    }

    void grow_subtrees() {
        search_.release_large_buffers();
        std::sort(subtrees_.begin(), subtrees_.end(), [](const Subtree& a, const Subtree& b) {
            return a.range.size() != b.range.size() ? a.range.size() > b.range.size()
                                                    : a.id < b.id;
        });
        team_.parallel_for(static_cast<int64_t>(subtrees_.size()),
                           [&](int64_t i, int thread) { grow_subtree(subtrees_[i], thread); });
    }

    struct SubtreeNode {
        int32_t id = 0;
        NodeRange range;
        int64_t depth = 0;
        uint64_t seed = 0;
        NodeTotals totals;
        Split split;
    };

    // Notes the sums of a node; true if it may be split.
    bool open_in_subtree(Subtree& subtree, SubtreeNode& node) {
        if (subtree.id == 0 && node.id == 0) note_root(node.totals);
        record(subtree.nodes[node.id], node.range, node.totals);
        return can_split(node.range, node.depth) && !is_pure(node.totals);
    }

    void grow_subtree(Subtree& subtree, int thread) {
        std::vector<SubtreeNode> stack(1);
        stack[0].range = subtree.range;
        stack[0].depth = subtree.depth;
        stack[0].seed = subtree.seed;
        subtree.nodes.reserve(2 * subtree.range.size());
        subtree.nodes.emplace_back();
        search_.start_subtree(subtree.range, thread);
        stack[0].totals = search_.summarise(subtree.range, thread, false);
        if (!open_in_subtree(subtree, stack[0])) stack.clear();
        while (!stack.empty()) {
            team_.interrupt().check();
            SubtreeNode node = std::move(stack.back());
            stack.pop_back();
            node.split = search_.find(
                {node.range, &node.totals, node.seed, search_.store_of(thread)}, thread);
            if (!is_accepted(node.split)) continue;
            SubtreeNode left, right;
            divide(subtree.nodes[node.id], node, subtree.words, thread, left, right);
            left.id = static_cast<int32_t>(subtree.nodes.size());
            right.id = left.id + 1;
            subtree.nodes[node.id].left = left.id;
            subtree.nodes[node.id].right = right.id;
            subtree.nodes.resize(subtree.nodes.size() + 2);
            const bool left_ends = search_.small_search(left.range, thread) != nullptr;
            const bool right_ends = search_.small_search(right.range, thread) != nullptr;
            if (search_.is_incremental() && !(left_ends && right_ends)) {
                search_.summarise_children(node.range, node.totals, left.range, right.range,
                                           thread, left.totals, right.totals);
            } else {
                if (!left_ends) left.totals = search_.summarise(left.range, thread, false);
                if (!right_ends) right.totals = search_.summarise(right.range, thread, false);
            }
            if (left_ends) grow_small_subtree(subtree, left, thread);
            if (right_ends) grow_small_subtree(subtree, right, thread);
            const bool go_left = !left_ends && open_in_subtree(subtree, left);
            const bool go_right = !right_ends && open_in_subtree(subtree, right);
            if (go_left || go_right) search_.split_lists(node.range, thread);
            // The larger child goes first where its sums are derived from its parent's.
            const bool right_first =
                search_.is_incremental() && right.range.size() > left.range.size();
            if (go_left && right_first) stack.push_back(std::move(left));
            if (go_right) stack.push_back(std::move(right));
            if (go_left && !right_first) stack.push_back(std::move(left));
        }
        search_.stop_subtree(thread);
    }

    // All of what is below a small node, whose sums are not needed.
    void grow_small_subtree(Subtree& subtree, const SubtreeNode& root, int thread) {
        struct SmallNode {
            int32_t id;
            uint32_t rows;  // of `root`, as bits
            NodeRange range;
            int64_t depth;
            uint64_t seed;
        };
        SmallSearch& search = *search_.small_search(root.range, thread);
        search.start(root.range, search_.store_of(thread));
        const uint32_t all = (1u << root.range.size()) - 1;
        SmallNode stack[RowSubsets::kMostRows];
        int n_waiting = 0;
        stack[n_waiting++] = {root.id, all, root.range, root.depth, root.seed};
        while (n_waiting > 0) {
            const SmallNode node = stack[--n_waiting];
            NodeTotals totals;
            totals.weight = search.weight(node.rows);
            totals.impurity = search.impurity(node.rows);
            record(subtree.nodes[node.id], node.range, totals);
            Split split;
            uint32_t left = 0;
            if (can_split(node.range, node.depth) && !is_pure(totals))
                split = search.find(node.rows, node.seed, left);
            if (!is_accepted(split)) {
                search.place(node.rows, node.range.begin);
                continue;
            }
            note_split(subtree.nodes[node.id], split, subtree.words);
            const int32_t id = static_cast<int32_t>(subtree.nodes.size());
            subtree.nodes[node.id].left = id;
            subtree.nodes[node.id].right = id + 1;
            subtree.nodes.resize(subtree.nodes.size() + 2);
            const int64_t middle = node.range.begin + split.n_left;
            stack[n_waiting++] = {id + 1,
                                  node.rows ^ left,
                                  {middle, node.range.end},
                                  node.depth + 1,
                                  child_seed(node.seed, 1)};
            stack[n_waiting++] = {
                id, left, {node.range.begin, middle}, node.depth + 1, child_seed(node.seed, 0)};
        }
    }

    void grow_best_first(OpenNode root) {
        std::vector<OpenNode> open;
        // Highest gain first, then the older node.
        auto later = [&](int32_t a, int32_t b) {
            return open[a].split.gain != open[b].split.gain
                       ? open[a].split.gain < open[b].split.gain
                       : a > b;
        };
        std::priority_queue<int32_t, std::vector<int32_t>, decltype(later)> queue(later);
        auto offer = [&](OpenNode node) {
            if (!is_accepted(node.split)) return;
            open.push_back(std::move(node));
            queue.push(static_cast<int32_t>(open.size()) - 1);
        };
        offer(std::move(root));
        for (int64_t n_leaves = 1; n_leaves < params_.max_leaf_nodes && !queue.empty();
             ++n_leaves) {
            team_.interrupt().check();
            OpenNode node = std::move(open[queue.top()]);
            queue.pop();
            OpenNode left, right;
            divide(nodes_[node.id], node, words_, 0, left, right);
            add_children(node.id, left, right);
            search_.split_lists_with_team(node.range);
            summarise_children(node, left, right);
            open_with_team(left);
            open_with_team(right);
            offer(std::move(left));
            offer(std::move(right));
        }
    }

    // Numbers the nodes in preorder.
    GrownTree assemble() {
        GrownTree tree;
        size_t n_nodes = nodes_.size();
        std::vector<int32_t> subtree_of(nodes_.size(), -1);
        for (size_t i = 0; i < subtrees_.size(); ++i) {
            subtree_of[subtrees_[i].id] = static_cast<int32_t>(i);
            n_nodes += subtrees_[i].nodes.size() - 1;
        }
        tree.nodes.reserve(n_nodes);
        tree.category_words = std::move(words_);
        append(tree, nodes_, 0, [&](int32_t id) {
            if (subtree_of[id] < 0) return false;
            Subtree& subtree = subtrees_[subtree_of[id]];
            append(tree, subtree.nodes, tree.category_words.size(), [](int32_t) { return false; });
            tree.category_words.insert(tree.category_words.end(), subtree.words.begin(),
                                       subtree.words.end());
            subtree = Subtree{};
            return true;
        });
        tree.rows = std::move(workspace_.rows);
        // The order of moves that were saved must not show.
        if (search_.is_incremental())
            for (const TreeNode& node : tree.nodes)
                if (node.feature == kNoFeature)
                    std::sort(tree.rows.begin() + node.begin, tree.rows.begin() + node.end);
        tree.work = search_.work();
        return tree;
    }

    // Appends nodes[0] and all below it. replaces(id): whether it has appended something else in
    // the place of a node.
    template <typename Replaces>
    static void append(GrownTree& tree, const std::vector<TreeNode>& nodes, int64_t word_offset,
                       Replaces&& replaces) {
        std::vector<std::pair<int32_t, int32_t>> stack{{0, -1}};  // node, parent if a right child
        while (!stack.empty()) {
            const auto [id, parent] = stack.back();
            stack.pop_back();
            const int32_t number = static_cast<int32_t>(tree.nodes.size());
            if (parent >= 0) tree.nodes[parent].right = number;
            if (replaces(id)) continue;
            tree.nodes.push_back(nodes[id]);
            TreeNode& node = tree.nodes.back();
            if (node.category_offset >= 0) node.category_offset += word_offset;
            if (node.left < 0) continue;
            stack.push_back({node.right, number});
            stack.push_back({node.left, -1});
            node.left = number + 1;
        }
    }

    const GrowParams params_;
    Workspace workspace_;
    ThreadTeam team_;
    NodeSearch search_;
    std::vector<TreeNode> nodes_;
    std::vector<uint32_t> words_;
    std::vector<Subtree> subtrees_;
    double pure_scale_ = 0.0, least_gain_ = 0.0;
};

}  // namespace

GrownTree grow_tree(const BinnedView& binned, const ChannelsView& channels, const int32_t* rows,
                    int64_t n_rows, const GrowParams& params, Interrupt& interrupt) {
    return Grower(binned, channels, rows, n_rows, params, interrupt).grow();
}

}  // namespace ramify
