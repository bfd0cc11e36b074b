// The two ways to grow a tree: depth-first, subtrees in parallel; or best-first.
#include "grow/grower.hpp"

#include <algorithm>
#include <memory>
#include <queue>
#include <set>

#include "base/random.hpp"
#include "grow/node_search.hpp"
#include "grow/stopping.hpp"
#include "grow/subtrees.hpp"

namespace polyleaf {

namespace {

struct OpenNode {
    int32_t id = 0;  // in the tree under construction
    NodeRange range;
    int64_t depth = 0;
    uint64_t seed = 0;
    NodeTotals totals;
    Split split;
    std::unique_ptr<NodeHistograms> histograms;
    std::unique_ptr<FlagSums> listed;
};

class Grower {
  public:
    Grower(const BinnedView& binned, const ChannelsView& channels, const int32_t* rows,
           int64_t n_rows, const GrowParams& params, Interrupt& interrupt)
        : params_(params),
          workspace_(binned, channels, rows, n_rows, params, interrupt),
          team_(params.n_threads, interrupt),
          search_(workspace_, team_),
          rules_(params_, channels.n_channels),
          subtrees_(rules_, workspace_, team_, search_) {}

    GrownTree grow() {
        OpenNode root;
        root.range = {0, workspace_.n_rows};
        root.seed = mix(params_.seed + 1);
        nodes_.emplace_back();
        const bool is_best_first = params_.max_leaf_nodes > 0;
        if (!is_best_first && workspace_.n_rows <= search_.subtree_rows()) {
            subtrees_.add(0, root.range, 0, root.seed);
            subtrees_.grow();
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
    // Sums of a node; whether it is to be searched.
    bool enter(OpenNode& node, bool is_searched) {
        if (node.totals.n_rows == 0) node.totals = search_.summarise(node.range, 0, false);
        if (node.id == 0) rules_.note_root(node.totals);
        record_node(nodes_[node.id], node.range, node.totals);
        return is_searched && rules_.can_split(node.range, node.depth) &&
               !rules_.is_pure(node.totals);
    }

    // Whether children of the node may be searched from what is left of its histograms.
    bool keeps_histograms(const OpenNode& node) const {
        if (!search_.keeps_histograms(node.range.size())) return false;
        return params_.max_leaf_nodes < 0 || (n_leaves_ + 1 < params_.max_leaf_nodes &&
                                              rules_.can_split(node.range, node.depth + 1));
    }

    // Sums and best split of one node, by all threads.
    void open_with_team(OpenNode& node, bool is_searched = true) {
        if (!enter(node, is_searched)) return;
        if (keeps_histograms(node)) node.histograms = search_.new_histograms();
        SearchNode view{node.range, &node.totals, node.seed, search_.store_of(0)};
        if (params_.max_leaf_nodes > 0 && !node.listed &&
            search_.keeps_listed_sums(node.range.size()))
            node.listed = search_.listed_sums_of(node.range);
        view.listed = node.listed.get();
        node.split = search_.find_with_team(view, node.histograms.get());
        // q numbers that nobody needs while the node waits
        if (!search_.is_incremental()) node.totals = {};
    }

    // Both children of a node whose rows are parted; null: those that are opened later.
    void open_children(const OpenNode& parent, OpenNode* const (&children)[2], bool is_searched) {
        if (!search_.has_whole_lists()) {
            for (OpenNode* child : children)
                if (child) open_with_team(*child, is_searched);
            return;
        }
        NodeSearch::Child views[2];
        for (int i = 0; i < 2; ++i) {
            OpenNode* const child = children[i];
            if (!child) continue;
            views[i].is_searched = enter(*child, is_searched);
            views[i].node = {child->range, &child->totals, child->seed, search_.store_of(0)};
        }
        const bool is_one_later = !children[0] || !children[1];
        if (views[0].is_searched || views[1].is_searched || is_one_later)
            search_.split_and_search_lists(parent.range, views);
        for (int i = 0; i < 2; ++i) {
            if (!children[i]) continue;
            if (views[i].is_searched) children[i]->split = std::move(views[i].best);
            children[i]->totals = {};
        }
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
            record_node(nodes_[node->id], node->range, node->totals);
        }
        if (keeps_histograms(small)) small.histograms = search_.new_histograms();
        ChannelStore* const store = search_.store_of(0);
        const SearchNode small_view{small.range, &small.totals, small.seed, store};
        const SearchNode large_view{large.range, &large.totals, large.seed, store};
        search_.find_siblings_with_team(small_view, large_view, small.histograms.get(), *parent,
                                        small.split, large.split);
        for (OpenNode* node : {&small, &large}) {
            if (rules_.is_pure(node->totals) || !rules_.can_split(node->range, node->depth))
                node->split = Split{};
            node->totals = {};
        }
        if (keeps_histograms(large))
            large.histograms = std::move(parent);
        else
            search_.reuse(std::move(parent));
    }

    // Sums of the larger child are its parent's less those of the smaller.
    void derive_listed_sums(OpenNode& parent, OpenNode& a, OpenNode& b) {
        const bool a_small = a.range.size() <= b.range.size();
        OpenNode& small = a_small ? a : b;
        OpenNode& large = a_small ? b : a;
        if (!parent.listed || !rules_.can_split(large.range, large.depth) ||
            !search_.keeps_listed_sums(large.range.size()))
            return;
        small.listed = search_.listed_sums_of(small.range);
        parent.listed->subtract(*small.listed);
        large.listed = std::move(parent.listed);
        if (!search_.keeps_listed_sums(small.range.size())) small.listed.reset();
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
            if (!rules_.is_accepted(node.split)) {
                search_.reuse(std::move(node.histograms));
                continue;
            }
            OpenNode children[2];
            divide(search_, nodes_[node.id], node, node.split, words_, 0, children[0],
                   children[1]);
            add_children(node.id, children[0], children[1]);
            const bool both = rules_.can_split(children[0].range, node.depth + 1) &&
                              rules_.can_split(children[1].range, node.depth + 1);
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
            search_.reuse(std::move(node.histograms));
            summarise_children(node, children[0], children[1]);
            OpenNode* opened[2];
            for (int i = 0; i < 2; ++i) {
                OpenNode& child = children[i];
                const bool is_later = child.range.size() <= search_.subtree_rows();
                // Sums that are derived from each other are made anew by another thread.
                if (is_later && search_.is_incremental()) child.totals = {};
                if (is_later)
                    subtrees_.add(child.id, child.range, child.depth, child.seed,
                                  std::move(child.totals));
                opened[i] = is_later ? nullptr : &child;
            }
            open_children(node, opened, true);
            for (OpenNode* child : opened)
                if (child) stack.push_back(std::move(*child));
        }
        subtrees_.grow();
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
        // Nodes that keep their histograms. Those of the least gain, which are split last, lose
        // them first; their children are built from their rows.
        std::set<int32_t, decltype(later)> keeping(later);
        auto offer = [&](OpenNode node) {
            if (!rules_.is_accepted(node.split)) return search_.reuse(std::move(node.histograms));
            const int32_t place = static_cast<int32_t>(open.size());
            open.push_back(std::move(node));
            queue.push(place);
            if (!open[place].histograms) return;
            keeping.insert(place);
            if (static_cast<int64_t>(keeping.size()) <= search_.waiting_histograms()) return;
            search_.reuse(std::move(open[*keeping.begin()].histograms));
            keeping.erase(keeping.begin());
        };
        offer(std::move(root));
        while (n_leaves_ < params_.max_leaf_nodes && !queue.empty()) {
            team_.interrupt().check();
            keeping.erase(queue.top());
            OpenNode node = std::move(open[queue.top()]);
            queue.pop();
            OpenNode left, right;
            divide(search_, nodes_[node.id], node, node.split, words_, 0, left, right);
            add_children(node.id, left, right);
            const bool goes_on = ++n_leaves_ < params_.max_leaf_nodes;
            const OpenNode& large = left.range.size() > right.range.size() ? left : right;
            if (node.histograms && goes_on && rules_.can_split(large.range, large.depth)) {
                open_siblings(left, right, std::move(node.histograms));
            } else {
                search_.reuse(std::move(node.histograms));
                summarise_children(node, left, right);
                if (goes_on) derive_listed_sums(node, left, right);
                open_children(node, {&left, &right}, goes_on);
            }
            offer(std::move(left));
            offer(std::move(right));
        }
    }

    GrownTree assemble() {
        GrownTree tree = number_nodes();
        search_.finish_cuts(tree.nodes);
        tree.plan = workspace_.plan;
        tree.finder_counts = search_.finder_counts();
        return tree;
    }

    // Numbers the nodes in preorder.
    GrownTree number_nodes() {
        GrownTree tree;
        if (subtrees_.is_whole_tree() && !search_.is_incremental()) {
            subtrees_.move_to(tree);
            tree.rows = std::move(workspace_.rows);
            tree.work = search_.work();
            return tree;
        }
        tree.nodes.reserve(nodes_.size() + subtrees_.n_nodes());
        tree.category_words = std::move(words_);
        append_in_preorder(tree, nodes_, 0,
                           [&](int32_t id) { return subtrees_.append_to(tree, id); });
        tree.rows = std::move(workspace_.rows);
        // The order of moves that were saved must not show.
        if (search_.is_incremental())
            for (const TreeNode& node : tree.nodes)
                if (node.feature == kNoFeature)
                    std::sort(tree.rows.begin() + node.begin, tree.rows.begin() + node.end);
        tree.work = search_.work();
        return tree;
    }

    const GrowParams params_;
    Workspace workspace_;
    ThreadTeam team_;
    NodeSearch search_;
    std::vector<TreeNode> nodes_;
    int64_t n_leaves_ = 1;  // best-first: of the tree so far
    std::vector<uint32_t> words_;
    StoppingRules rules_;
    Subtrees subtrees_;
};

}  // namespace

GrownTree grow_tree(const BinnedView& binned, const ChannelsView& channels, const int32_t* rows,
                    int64_t n_rows, const GrowParams& params, Interrupt& interrupt) {
    return Grower(binned, channels, rows, n_rows, params, interrupt).grow();
}

}  // namespace polyleaf
