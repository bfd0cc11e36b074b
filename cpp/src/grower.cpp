// The two ways to grow a tree: depth-first, subtrees in parallel; or best-first.
#include "ramify/grower.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <queue>

#include "bits.hpp"
#include "node_search.hpp"
#include "ramify/random.hpp"

namespace ramify {

namespace {

// A node whose impurity per row is this far below the root's holds rounding errors only.
constexpr double kPureShare = 1e-11;

// A large node asks for Ctrl-C as it is searched; small ones after so many of them.
constexpr uint32_t kNodesPerCheck = 16;

// Fewer rows are not worth being handed from one thread to another.
constexpr int64_t kLeastGivenRows = 128;

struct OpenNode {
    int32_t id = 0;  // in the tree under construction
    NodeRange range;
    int64_t depth = 0;
    uint64_t seed = 0;
    NodeTotals totals;
    Split split;
    std::unique_ptr<NodeHistograms> histograms;
    std::unique_ptr<ListedSums> listed;
};

struct Subtree {
    Subtree(int32_t id, const NodeRange& range, int64_t depth, uint64_t seed)
        : id(id), range(range), depth(depth), seed(seed) {}

    int32_t id;
    NodeRange range;
    int64_t depth;
    uint64_t seed;
    std::vector<TreeNode> nodes;  // nodes[0] replaces the node `id`
    std::vector<uint32_t> words;
    NodeTotals totals;  // of all its rows, if they are known
    // Where it is a part of another one, which was given away.
    bool is_given = false, may_split = false;
    std::vector<const Subtree*> given;  // parts of it; `id` counts its nodes
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
            subtrees_.emplace_back(0, root.range, 0, root.seed);
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
    static void record(TreeNode& node, const NodeRange& range, double weight, double impurity) {
        node.begin = static_cast<int32_t>(range.begin);
        node.end = static_cast<int32_t>(range.end);
        node.weight = weight;
        node.impurity = impurity;
    }
    static void record(TreeNode& node, const NodeRange& range, const NodeTotals& totals) {
        record(node, range, totals.weight, totals.impurity);
    }

    bool can_split(const NodeRange& range, int64_t depth) const {
        return (params_.max_depth < 0 || depth < params_.max_depth) &&
               range.size() >= params_.min_samples_split &&
               range.size() / 2 >= params_.min_samples_leaf;
    }
    bool is_pure(double weight, double impurity) const {
        return impurity <= kPureShare * pure_scale_ * weight;
    }
    bool is_pure(const NodeTotals& totals) const {
        return is_pure(totals.weight, totals.impurity);
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

    // Sums of a node; whether it is to be searched.
    bool enter(OpenNode& node, bool is_searched) {
        if (node.totals.n_rows == 0) node.totals = search_.summarise(node.range, 0, false);
        if (node.id == 0) note_root(node.totals);
        record(nodes_[node.id], node.range, node.totals);
        return is_searched && can_split(node.range, node.depth) && !is_pure(node.totals);
    }

    // Sums and best split of one node, by all threads.
    void open_with_team(OpenNode& node, bool is_searched = true) {
        const bool is_best_first = params_.max_leaf_nodes > 0;
        if (!enter(node, is_searched)) return;
        if (!is_best_first && search_.keeps_histograms(node.range.size()))
            node.histograms = search_.new_histograms();
        SearchNode view{node.range, &node.totals, node.seed, search_.store_of(0)};
        if (is_best_first && !node.listed && search_.keeps_listed_sums(node.range.size()))
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
        if (search_.keeps_histograms(large.range.size()))
            large.histograms = std::move(parent);
        else
            search_.reuse(std::move(parent));
    }

    // Sums of the larger child are its parent's less those of the smaller.
    void derive_listed_sums(OpenNode& parent, OpenNode& a, OpenNode& b) {
        const bool a_small = a.range.size() <= b.range.size();
        OpenNode& small = a_small ? a : b;
        OpenNode& large = a_small ? b : a;
        if (!parent.listed || !can_split(large.range, large.depth) ||
            !search_.keeps_listed_sums(large.range.size()))
            return;
        small.listed = search_.listed_sums_of(small.range);
        parent.listed->subtract(*small.listed);
        large.listed = std::move(parent.listed);
        if (!search_.keeps_listed_sums(small.range.size())) small.listed.reset();
    }

    static void note_split(TreeNode& record, const Split& split, std::vector<uint32_t>& words) {
        record.feature = split.feature;
        record.threshold = split.threshold;
        record.cut_first = split.cut_first;
        record.cut_last = split.cut_last;
        record.cut_limit = static_cast<uint8_t>(split.left_code);
        record.missing_left = split.missing_left;
        record.gain = std::max(0.0, split.gain);
        if (split.is_categorical) {
            record.category_offset = static_cast<int64_t>(words.size());
            words.insert(words.end(), split.category_words.begin(), split.category_words.end());
        }
    }

    // Applies the node's split; fills the two children except for their ids.
    template <typename Node>
    void divide(TreeNode& record, const Node& node, const Split& split,
                std::vector<uint32_t>& words, int thread, Node& left, Node& right) {
        NodeTotals totals[2];
        const int64_t middle = search_.partition(node.range, split, thread, totals);
        left.totals = std::move(totals[0]);
        right.totals = std::move(totals[1]);
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
            if (!is_accepted(node.split)) {
                search_.reuse(std::move(node.histograms));
                continue;
            }
            OpenNode children[2];
            divide(nodes_[node.id], node, node.split, words_, 0, children[0], children[1]);
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
            search_.reuse(std::move(node.histograms));
            summarise_children(node, children[0], children[1]);
            OpenNode* opened[2];
            for (int i = 0; i < 2; ++i) {
                OpenNode& child = children[i];
                const bool is_later = child.range.size() <= search_.subtree_rows();
                if (is_later) {
                    subtrees_.emplace_back(child.id, child.range, child.depth, child.seed);
                    // Sums that are derived from each other are made anew by another thread.
                    if (!search_.is_incremental())
                        subtrees_.back().totals = std::move(child.totals);
                }
                opened[i] = is_later ? nullptr : &child;
            }
            open_children(node, opened, true);
            for (OpenNode* child : opened)
                if (child) stack.push_back(std::move(*child));
        }
        grow_subtrees();
    }

    void grow_subtrees() {
        search_.release_large_buffers();
        std::sort(subtrees_.begin(), subtrees_.end(), [](const Subtree& a, const Subtree& b) {
            return a.range.size() != b.range.size() ? a.range.size() > b.range.size()
                                                    : a.id < b.id;
        });
        if (!search_.has_whole_lists() || team_.size() == 1) {
            team_.parallel_for(static_cast<int64_t>(subtrees_.size()),
                               [&](int64_t i, int thread) { grow_subtree(subtrees_[i], thread); });
            return;
        }
        for (Subtree& subtree : subtrees_) waiting_.push_back(&subtree);
        team_.parallel_for(team_.size(), [&](int64_t, int thread) {
            while (Subtree* const subtree = take_subtree()) {
                const Growing growing(*this);
                grow_subtree(*subtree, thread);
            }
        });
    }

    struct SubtreeNode {
        int32_t parent = -1;  // -1: the root of the subtree
        bool is_right = false;
        NodeRange range;
        int64_t depth = 0;
        uint64_t seed = 0;
        NodeTotals totals;
        bool may_split = false;
    };

    // While it lives, others wait for what may be given to them.
    class Growing {
      public:
        explicit Growing(Grower& grower) : grower_(grower) {}
        ~Growing() {
            std::lock_guard<std::mutex> lock(grower_.mutex_);
            --grower_.n_growing_;
        }

      private:
        Grower& grower_;
    };

    // The largest subtree that waits; null once all are grown. Its taker is Growing.
    Subtree* take_subtree() {
        for (bool is_hungry = false;; is_hungry = true) {
            std::unique_lock<std::mutex> lock(mutex_);
            if (!waiting_.empty() || n_growing_ == 0) {
                if (is_hungry) --n_hungry_;
                if (waiting_.empty()) return nullptr;
                const auto largest = std::max_element(waiting_.begin(), waiting_.end(),
                                                      [](const Subtree* a, const Subtree* b) {
                                                          return a->range.size() < b->range.size();
                                                      });
                Subtree* const taken = *largest;
                waiting_.erase(largest);
                ++n_growing_;
                return taken;
            }
            if (!is_hungry) ++n_hungry_;
            lock.unlock();
            team_.interrupt().check();
            pause_briefly();
        }
    }

    // Lets a thread that has nothing to do grow the largest of the nodes that wait.
    void give_away(Subtree& subtree, std::vector<SubtreeNode>& stack) {
        if (stack.empty() || stack[0].range.size() < kLeastGivenRows || !stack[0].may_split)
            return;
        SubtreeNode& node = stack[0];
        const int32_t id = append_node(subtree, node.parent, node.is_right);
        std::lock_guard<std::mutex> lock(mutex_);
        Subtree& given = subtrees_.emplace_back(id, node.range, node.depth, node.seed);
        given.is_given = given.may_split = true;
        given.totals = std::move(node.totals);
        subtree.given.push_back(&given);
        waiting_.push_back(&given);
        stack.erase(stack.begin());
    }

    // Whether a node is left to the search of small ones; the root tells what a pure node is.
    bool is_small(const Subtree& subtree, const SubtreeNode& node, int thread) {
        return (node.parent >= 0 || subtree.id != 0) && search_.small_search(node.range, thread);
    }

    // Whether a node of these sums may be split.
    bool is_open(const Subtree& subtree, const SubtreeNode& node) {
        if (subtree.id == 0 && node.parent < 0) note_root(node.totals);
        return can_split(node.range, node.depth) && !is_pure(node.totals);
    }

    // The next node in preorder, a child of `parent`.
    static int32_t append_node(Subtree& subtree, int32_t parent, bool is_right) {
        const int32_t id = static_cast<int32_t>(subtree.nodes.size());
        subtree.nodes.emplace_back();
        if (parent >= 0)
            (is_right ? subtree.nodes[parent].right : subtree.nodes[parent].left) = id;
        return id;
    }

    // Nodes are numbered as they are searched: in preorder, unless the sums of nodes are derived
    // from each other, or a part is given away.
    void grow_subtree(Subtree& subtree, int thread) {
        std::vector<SubtreeNode> stack(1);
        stack[0].range = subtree.range;
        stack[0].depth = subtree.depth;
        stack[0].seed = subtree.seed;
        subtree.nodes.reserve(2 * subtree.range.size());
        search_.start_subtree(subtree.range, thread);
        stack[0].totals = std::move(subtree.totals);
        if (stack[0].totals.n_rows == 0 && !is_small(subtree, stack[0], thread))
            stack[0].totals = search_.summarise(subtree.range, thread, false);
        stack[0].may_split = subtree.is_given ? subtree.may_split : is_open(subtree, stack[0]);
        for (uint32_t n_searched = 0; !stack.empty();) {
            SubtreeNode node = std::move(stack.back());
            stack.pop_back();
            if (n_searched++ % kNodesPerCheck == 0) team_.interrupt().check();
            while (grow_node(subtree, node, stack, thread)) {
                if (n_hungry_.load(std::memory_order_relaxed) > 0) give_away(subtree, stack);
                if (n_searched++ % kNodesPerCheck == 0) team_.interrupt().check();
            }
        }
        search_.stop_subtree(thread);
    }

    // Searches a node. If it is split, one child takes its place and the other one waits: true.
    bool grow_node(Subtree& subtree, SubtreeNode& node, std::vector<SubtreeNode>& waiting,
                   int thread) {
        if (is_small(subtree, node, thread)) {
            grow_small_subtree(subtree, node, thread);
            return false;
        }
        const int32_t id = append_node(subtree, node.parent, node.is_right);
        record(subtree.nodes[id], node.range, node.totals);
        if (!node.may_split) return false;
        const Split split =
            search_.find({node.range, &node.totals, node.seed, search_.store_of(thread)}, thread);
        if (!is_accepted(split)) return false;
        SubtreeNode left, right;
        divide(subtree.nodes[id], node, split, subtree.words, thread, left, right);
        left.parent = right.parent = id;
        right.is_right = true;
        summarise_in_subtree(subtree, node, left, right, thread);
        // The larger child goes first where its sums are derived from its parent's.
        const bool right_first =
            search_.is_incremental() && right.range.size() > left.range.size();
        waiting.push_back(std::move(right_first ? left : right));
        node = std::move(right_first ? right : left);
        return true;
    }

    // Sums of both children; small ones do without.
    void summarise_in_subtree(Subtree& subtree, SubtreeNode& node, SubtreeNode& left,
                              SubtreeNode& right, int thread) {
        const bool left_ends = search_.small_search(left.range, thread) != nullptr;
        const bool right_ends = search_.small_search(right.range, thread) != nullptr;
        if (search_.is_incremental() && !(left_ends && right_ends)) {
            search_.summarise_children(node.range, node.totals, left.range, right.range, thread,
                                       left.totals, right.totals);
        } else {
            for (SubtreeNode* child : {&left, &right})
                if (child->totals.n_rows == 0 && !search_.small_search(child->range, thread))
                    child->totals = search_.summarise(child->range, thread, false);
        }
        left.may_split = !left_ends && is_open(subtree, left);
        right.may_split = !right_ends && is_open(subtree, right);
        if (left.may_split || right.may_split) search_.split_lists(node.range, thread);
    }

    struct SmallNode {
        int32_t parent;
        bool is_right;
        uint32_t rows;  // of the root of its subtree, as bits
        int64_t begin;
        int64_t depth;
        uint64_t seed;
    };

    // All of what is below a small node, whose sums are not needed.
    void grow_small_subtree(Subtree& subtree, const SubtreeNode& root, int thread) {
        if (root.range.size() == 1) {
            const int32_t id = append_node(subtree, root.parent, root.is_right);
            const double weight = workspace_.row_weight(root.range.begin);
            return record(subtree.nodes[id], root.range, weight, 0.0);
        }
        SmallSearch& search = *search_.small_search(root.range, thread);
        search.start(root.range, search_.store_of(thread));
        SmallNode waiting[RowSubsets::kMostRows];
        int n_waiting = 0;
        SmallNode node{root.parent,      root.is_right, (1u << root.range.size()) - 1,
                       root.range.begin, root.depth,    root.seed};
        while (true) {
            const int32_t id = append_node(subtree, node.parent, node.is_right);
            Split split;
            const uint32_t left = find_small(subtree.nodes[id], node, search, split);
            if (left == 0) {
                search.place(node.rows, node.begin);
                if (n_waiting == 0) return;
                node = waiting[--n_waiting];
                continue;
            }
            note_split(subtree.nodes[id], split, subtree.words);
            waiting[n_waiting++] = {id,
                                    true,
                                    node.rows ^ left,
                                    node.begin + split.n_left,
                                    node.depth + 1,
                                    child_seed(node.seed, 1)};
            node = {id, false, left, node.begin, node.depth + 1, child_seed(node.seed, 0)};
        }
    }

    // The rows that go left, or none.
    uint32_t find_small(TreeNode& recorded, const SmallNode& node, SmallSearch& search,
                        Split& split) const {
        const NodeRange range{node.begin, node.begin + count_bits(node.rows)};
        const double weight = search.weight(node.rows);
        const double impurity = range.size() > 1 ? search.impurity(node.rows) : 0.0;
        record(recorded, range, weight, impurity);
        if (!can_split(range, node.depth) || is_pure(weight, impurity)) return 0;
        const uint32_t left = search.find(node.rows, node.seed, split);
        return is_accepted(split) ? left : 0;
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
            divide(nodes_[node.id], node, node.split, words_, 0, left, right);
            add_children(node.id, left, right);
            const bool goes_on = n_leaves + 1 < params_.max_leaf_nodes;
            summarise_children(node, left, right);
            if (goes_on) derive_listed_sums(node, left, right);
            open_children(node, {&left, &right}, goes_on);
            offer(std::move(left));
            offer(std::move(right));
        }
    }

    GrownTree assemble() {
        GrownTree tree = number_nodes();
        search_.finish_cuts(tree.nodes);
        return tree;
    }

    // Numbers the nodes in preorder.
    GrownTree number_nodes() {
        GrownTree tree;
        if (nodes_.size() == 1 && subtrees_.size() == 1 && !search_.is_incremental()) {
            tree.nodes = std::move(subtrees_[0].nodes);
            tree.category_words = std::move(subtrees_[0].words);
            tree.rows = std::move(workspace_.rows);
            tree.work = search_.work();
            return tree;
        }
        size_t n_nodes = nodes_.size();
        std::vector<int32_t> subtree_of(nodes_.size(), -1);
        for (size_t i = 0; i < subtrees_.size(); ++i) {
            if (!subtrees_[i].is_given) subtree_of[subtrees_[i].id] = static_cast<int32_t>(i);
            n_nodes += subtrees_[i].nodes.size() - 1;
        }
        tree.nodes.reserve(n_nodes);
        tree.category_words = std::move(words_);
        append(tree, nodes_, 0, [&](int32_t id) {
            if (subtree_of[id] < 0) return false;
            append_subtree(tree, subtrees_[subtree_of[id]]);
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

    void append_subtree(GrownTree& tree, const Subtree& subtree) const {
        const int64_t word_offset = tree.category_words.size();
        tree.category_words.insert(tree.category_words.end(), subtree.words.begin(),
                                   subtree.words.end());
        if (search_.is_incremental() || !subtree.given.empty())
            return append(tree, subtree.nodes, word_offset, [&](int32_t id) {
                const auto given = std::find_if(subtree.given.begin(), subtree.given.end(),
                                                [&](const Subtree* s) { return s->id == id; });
                if (given == subtree.given.end()) return false;
                append_subtree(tree, **given);
                return true;
            });
        // They are in preorder already.
        const int32_t first = static_cast<int32_t>(tree.nodes.size());
        for (const TreeNode& node : subtree.nodes) {
            tree.nodes.push_back(node);
            TreeNode& copy = tree.nodes.back();
            if (copy.category_offset >= 0) copy.category_offset += word_offset;
            if (copy.left >= 0) copy.left += first, copy.right += first;
        }
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
    std::deque<Subtree> subtrees_;
    // Subtrees that threads take from each other's work, and how many threads grow one or wait.
    std::mutex mutex_;
    std::vector<Subtree*> waiting_;
    int n_growing_ = 0;
    std::atomic<int> n_hungry_{0};
    double pure_scale_ = 0.0, least_gain_ = 0.0;
};

}  // namespace

GrownTree grow_tree(const BinnedView& binned, const ChannelsView& channels, const int32_t* rows,
                    int64_t n_rows, const GrowParams& params, Interrupt& interrupt) {
    return Grower(binned, channels, rows, n_rows, params, interrupt).grow();
}

}  // namespace ramify
