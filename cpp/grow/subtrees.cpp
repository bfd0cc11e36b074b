#include "grow/subtrees.hpp"

#include <algorithm>
#include <thread>

#include "base/bits.hpp"
#include "base/random.hpp"

namespace polyleaf {

namespace {

// A large node asks for Ctrl-C as it is searched; small ones after so many of them.
constexpr uint32_t kNodesPerCheck = 16;

// Fewer rows are not worth being handed from one thread to another.
constexpr int64_t kLeastGivenRows = 128;

// A thread that waits for something to do lets others go first after so many looks.
constexpr uint32_t kLooksPerTurn = 64;

// The next node in preorder, a child of `parent`.
int32_t append_node(std::vector<TreeNode>& nodes, int32_t parent, bool is_right) {
    const int32_t id = static_cast<int32_t>(nodes.size());
    nodes.emplace_back();
    if (parent >= 0) (is_right ? nodes[parent].right : nodes[parent].left) = id;
    return id;
}

}  // namespace

// While it lives, others wait for what may be given to them.
class Subtrees::Growing {
  public:
    explicit Growing(Subtrees& all) : all_(all) {}
    ~Growing() {
        std::lock_guard<std::mutex> lock(all_.mutex_);
        --all_.n_growing_;
    }

  private:
    Subtrees& all_;
};

void Subtrees::grow() {
    search_.release_large_buffers();
    std::sort(all_.begin(), all_.end(), [](const Subtree& a, const Subtree& b) {
        return a.range.size() != b.range.size() ? a.range.size() > b.range.size() : a.id < b.id;
    });
    for (const Subtree& subtree : all_) at_node_[subtree.id] = &subtree;
    if (!search_.has_whole_lists() || team_.size() == 1) {
        team_.parallel_for(static_cast<int64_t>(all_.size()),
                           [&](int64_t i, int thread) { grow(all_[i], thread); });
        return;
    }
    for (Subtree& subtree : all_) waiting_.push_back(&subtree);
    team_.parallel_for(team_.size(), [&](int64_t, int thread) {
        while (Subtree* const subtree = take()) {
            const Growing growing(*this);
            grow(*subtree, thread);
        }
    });
}

Subtrees::Subtree* Subtrees::take() {
    uint32_t n_looks = 0;
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
        // The one who grows may need this processor.
        if (++n_looks % kLooksPerTurn == 0) std::this_thread::yield();
        pause_briefly();
    }
}

void Subtrees::give_away(Subtree& subtree, std::vector<Node>& waiting) {
    if (waiting.empty() || waiting[0].range.size() < kLeastGivenRows || !waiting[0].may_split)
        return;
    Node& node = waiting[0];
    const int32_t id = append_node(subtree.nodes, node.parent, node.is_right);
    std::lock_guard<std::mutex> lock(mutex_);
    Subtree& given = all_.emplace_back(id, node.range, node.depth, node.seed);
    given.is_given = given.may_split = true;
    given.totals = std::move(node.totals);
    subtree.given.push_back(&given);
    waiting_.push_back(&given);
    waiting.erase(waiting.begin());
}

// Nodes are numbered as they are searched: in preorder, unless the sums of nodes are derived from
// each other, or a part is given away.
void Subtrees::grow(Subtree& subtree, int thread) {
    std::vector<Node> stack(1);
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
        Node node = std::move(stack.back());
        stack.pop_back();
        if (n_searched++ % kNodesPerCheck == 0) team_.interrupt().check();
        while (grow_node(subtree, node, stack, thread)) {
            if (n_hungry_.load(std::memory_order_relaxed) > 0) give_away(subtree, stack);
            if (n_searched++ % kNodesPerCheck == 0) team_.interrupt().check();
        }
    }
    search_.stop_subtree(thread);
}

bool Subtrees::grow_node(Subtree& subtree, Node& node, std::vector<Node>& waiting, int thread) {
    if (is_small(subtree, node, thread)) {
        grow_small(subtree, node, thread);
        return false;
    }
    const int32_t id = append_node(subtree.nodes, node.parent, node.is_right);
    record_node(subtree.nodes[id], node.range, node.totals);
    if (!node.may_split) return false;
    const Split split =
        search_.find({node.range, &node.totals, node.seed, search_.store_of(thread)}, thread);
    if (!rules_.is_accepted(split)) return false;
    Node left, right;
    divide(search_, subtree.nodes[id], node, split, subtree.words, thread, left, right);
    left.parent = right.parent = id;
    right.is_right = true;
    summarise_children(subtree, node, left, right, thread);
    // The larger child goes first where its sums are derived from its parent's.
    const bool right_first = search_.is_incremental() && right.range.size() > left.range.size();
    waiting.push_back(std::move(right_first ? left : right));
    node = std::move(right_first ? right : left);
    return true;
}

void Subtrees::summarise_children(Subtree& subtree, Node& node, Node& left, Node& right,
                                  int thread) {
    const bool left_ends = search_.small_search(left.range, thread) != nullptr;
    const bool right_ends = search_.small_search(right.range, thread) != nullptr;
    if (search_.is_incremental() && !(left_ends && right_ends)) {
        search_.summarise_children(node.range, node.totals, left.range, right.range, thread,
                                   left.totals, right.totals);
    } else {
        for (Node* child : {&left, &right})
            if (child->totals.n_rows == 0 && !search_.small_search(child->range, thread))
                child->totals = search_.summarise(child->range, thread, false);
    }
    left.may_split = !left_ends && is_open(subtree, left);
    right.may_split = !right_ends && is_open(subtree, right);
    if (left.may_split || right.may_split) search_.split_lists(node.range, thread);
}

bool Subtrees::is_open(const Subtree& subtree, const Node& node) {
    if (subtree.id == 0 && node.parent < 0) rules_.note_root(node.totals);
    return rules_.can_split(node.range, node.depth) && !rules_.is_pure(node.totals);
}

void Subtrees::grow_small(Subtree& subtree, const Node& root, int thread) {
    if (root.range.size() == 1) {
        const int32_t id = append_node(subtree.nodes, root.parent, root.is_right);
        const double weight = workspace_.row_weight(root.range.begin);
        return record_node(subtree.nodes[id], root.range, weight, 0.0);
    }
    SmallSearch& search = *search_.small_search(root.range, thread);
    search.start(root.range, search_.store_of(thread));
    SmallNode waiting[RowSubsets::kMostRows];
    int n_waiting = 0;
    SmallNode node{root.parent,      root.is_right, (1u << root.range.size()) - 1,
                   root.range.begin, root.depth,    root.seed};
    while (true) {
        const int32_t id = append_node(subtree.nodes, node.parent, node.is_right);
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

uint32_t Subtrees::find_small(TreeNode& recorded, const SmallNode& node, SmallSearch& search,
                              Split& split) const {
    const NodeRange range{node.begin, node.begin + count_bits(node.rows)};
    const double weight = search.weight(node.rows);
    const double impurity = range.size() > 1 ? search.impurity(node.rows) : 0.0;
    record_node(recorded, range, weight, impurity);
    if (!rules_.can_split(range, node.depth) || rules_.is_pure(weight, impurity)) return 0;
    const uint32_t left = search.find(node.rows, node.seed, split);
    return rules_.is_accepted(split) ? left : 0;
}

size_t Subtrees::n_nodes() const {
    size_t n = 0;
    for (const Subtree& subtree : all_) n += subtree.nodes.size();
    return n;
}

bool Subtrees::append_to(GrownTree& tree, int32_t id) const {
    const auto found = at_node_.find(id);
    if (found == at_node_.end()) return false;
    append(tree, *found->second);
    return true;
}

void Subtrees::append(GrownTree& tree, const Subtree& subtree) const {
    const int64_t word_offset = tree.category_words.size();
    tree.category_words.insert(tree.category_words.end(), subtree.words.begin(),
                               subtree.words.end());
    if (search_.is_incremental() || !subtree.given.empty())
        return append_in_preorder(tree, subtree.nodes, word_offset, [&](int32_t id) {
            const auto given = std::find_if(subtree.given.begin(), subtree.given.end(),
                                            [&](const Subtree* s) { return s->id == id; });
            if (given == subtree.given.end()) return false;
            append(tree, **given);
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

}  // namespace polyleaf
