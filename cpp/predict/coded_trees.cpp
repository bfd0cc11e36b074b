#include "predict/coded_trees.hpp"

#include <algorithm>
#include <utility>

namespace polyleaf {

namespace {

// Above a deep tree's walks: blends cost twice as much per level, walks the same.
constexpr int kLevelsAboveWalks = 7;
// Groups whose rows walk together: the last rows of few have nothing to wait beside.
constexpr int64_t kWalkedGroups = 2;
static_assert(kWalkedGroups * kCodedRows <= 256, "rows are numbered by bytes");
constexpr int64_t kTreesTogether = 8;
constexpr int64_t kMostGroups = 8, kMostDeepGroups = 32;  // of 64 rows in a block
constexpr int64_t kBytesPerBlock = 1 << 19;               // of codes
constexpr int64_t kMostPlanes = 1 << 15;

// Depth of every node of a tree in preorder; returns the largest.
int32_t find_depths(const TreeNode* nodes, int64_t n_nodes, std::vector<int32_t>& depths) {
    depths.assign(n_nodes, 0);
    int32_t deepest = 0;
    for (int64_t node = 0; node < n_nodes; ++node) {
        deepest = std::max(deepest, depths[node]);
        if (nodes[node].is_leaf()) continue;
        depths[node + 1] = depths[nodes[node].right_child] = depths[node] + 1;
    }
    return deepest;
}

}  // namespace

struct CodedTrees::Scratch {
    Scratch(const CodedTrees& coded, int64_t n_groups)
        : byte_stride((coded.bytes_.n_planes() + coded.most_members_) * kCodedRows),
          word_stride(coded.words_.n_planes() * kCodedRows),
          bytes(n_groups * byte_stride),
          words(n_groups * word_stride),
          ids(kTreesTogether * n_groups * kCodedRows),
          leaves(kTreesTogether * n_groups * kCodedRows) {}
    int64_t byte_stride, word_stride;
    std::vector<uint8_t> bytes;
    std::vector<uint16_t> words;
    std::vector<uint8_t> ids;
    std::vector<int32_t> leaves;
};

// The codes of a categorical split are bytes.
bool CodedTrees::fits_bytes(const TreeNode& node) const {
    return !node.is_categorical() || trees_.n_categories[node.feature_number()] <= 255;
}

std::unique_ptr<CodedTrees> CodedTrees::make(const TreeNodes& trees) { return make(trees, false); }

std::unique_ptr<CodedTrees> CodedTrees::make_walks(const TreeNodes& trees) {
    return make(trees, true);
}

std::unique_ptr<CodedTrees> CodedTrees::make(const TreeNodes& trees, bool only_walks) {
    std::unique_ptr<CodedTrees> coded(new CodedTrees(trees));
    coded->only_walks_ = only_walks;
    if (static_cast<int64_t>(trees.nodes.size()) > INT32_MAX) return nullptr;
    for (int64_t tree = 0; tree < trees.n_trees(); ++tree) coded->plan_tree(tree);
    if (!coded->bytes_.finish() || !coded->words_.finish()) return nullptr;
    if (coded->bytes_.n_planes() + coded->most_members_ > kMostPlanes ||
        coded->words_.n_planes() > kMostPlanes)
        return nullptr;
    for (Tree& tree : coded->tree_) coded->place_tree(tree);
    return coded;
}

// Decides how rows go down a tree, and notes what is compared with codes of which kind.
void CodedTrees::plan_tree(int64_t number) {
    const int64_t end = number + 1 < trees_.n_trees() ? trees_.roots[number + 1]
                                                      : static_cast<int64_t>(trees_.nodes.size());
    Tree tree;
    tree.root = trees_.roots[number];
    const TreeNode* const nodes = trees_.nodes.data() + tree.root;
    const TreeNode* first_leaf = nodes;
    while (!first_leaf->is_leaf()) ++first_leaf;
    tree.first_leaf = first_leaf->right_child;
    const int64_t n_nodes = end - tree.root;
    std::vector<int32_t> depths;
    tree.levels = find_depths(nodes, n_nodes, depths);
    tree.is_deep = tree.levels > kMostLevels;
    if (tree.is_deep) tree.levels = kLevelsAboveWalks;
    if (only_walks_) {
        tree.is_deep = true;
        tree.levels = 0;
    }
    for (int64_t node = 0; node < n_nodes; ++node) {
        if (depths[node] >= tree.levels || nodes[node].is_leaf() || fits_bytes(nodes[node]))
            continue;
        tree.is_deep = true;
        tree.levels = 0;
    }
    has_deep_ |= tree.is_deep;
    tree.first_offset = static_cast<int64_t>(offsets_.size());
    tree.first_threshold = static_cast<int64_t>(thresholds_.size());
    tree.first_end = static_cast<int64_t>(ends_.size());
    tree.first_member = static_cast<int64_t>(members_.size());
    // A padded node has all codes go left.
    offsets_.resize(offsets_.size() + (size_t{1} << tree.levels) - 1, 0);
    thresholds_.resize(thresholds_.size() + first_threshold(tree.levels), 255);
    ends_.resize(ends_.size() + (size_t{1} << tree.levels), 0);
    for (int64_t at = 0; at < n_nodes; ++at) {
        const TreeNode& node = nodes[at];
        if (node.is_leaf()) continue;
        const int32_t feature = node.feature_number();
        const int32_t n_categories = trees_.n_categories[feature];
        const bool is_above = depths[at] < tree.levels;
        if (node.is_categorical() && is_above) {
            bytes_.note_category(feature, n_categories);
            ++tree.n_members;
            members_.emplace_back();
        } else if (node.is_categorical()) {
            words_.note_category(feature, n_categories);
            walks_categories_ = true;
        } else if (is_above) {
            bytes_.note(feature, node.is_missing_left(), node.threshold);
        } else {
            words_.note(feature, node.is_missing_left(), node.threshold);
        }
    }
    most_members_ = std::max(most_members_, tree.n_members);
    tree.n_members = 0;  // counted again as they are placed
    tree_.push_back(tree);
}

void CodedTrees::place_tree(Tree& tree) {
    Walks<uint32_t> placed;
    place_node(tree, 0, 0, 0, placed);
    if (!tree.is_deep) return;
    tree.n_walks = static_cast<int64_t>(placed.nodes.size());
    // One leaf more than there are nodes, and some above.
    tree.is_small = tree.n_walks + (int64_t{1} << tree.levels) < WalkNode<uint16_t>::kLeaf;
    if (tree.is_small)
        keep_walks(tree, placed, small_walks_);
    else
        keep_walks(tree, placed, large_walks_);
}

template <typename Child>
void CodedTrees::keep_walks(Tree& tree, const Walks<uint32_t>& placed, Walks<Child>& kept) const {
    tree.first_walk = static_cast<int64_t>(kept.nodes.size());
    auto narrowed = [](uint32_t child) {
        return child & kLeaf ? static_cast<Child>(WalkNode<Child>::kLeaf | (child & ~kLeaf))
                             : static_cast<Child>(child);
    };
    for (const WalkNode<uint32_t>& node : placed.nodes)
        kept.nodes.push_back(
            {node.plane, node.limit, {narrowed(node.children[0]), narrowed(node.children[1])}});
    if (!walks_categories_ && !only_walks_) return;
    kept.origins.insert(kept.origins.end(), placed.origins.begin(), placed.origins.end());
}

// `id`: the decisions above the node in binary.
void CodedTrees::place_node(Tree& tree, int64_t at, int level, int64_t id,
                            Walks<uint32_t>& placed) {
    const TreeNode& node = trees_.nodes[tree.root + at];
    if (level == tree.levels || node.is_leaf()) {
        ends_[tree.first_end + (id << (tree.levels - level))] =
            static_cast<int32_t>(tree.is_deep ? place_walks(tree, at, placed) : node.right_child);
        return;
    }
    uint32_t& offset = offsets_[tree.first_offset + (int64_t{1} << level) - 1 + id];
    uint8_t& threshold = thresholds_[tree.first_threshold + first_threshold(level) + id];
    const int32_t feature = node.feature_number();
    if (node.is_categorical()) {
        Member& member = members_[tree.first_member + tree.n_members];
        member.plane = bytes_.category_plane(feature);
        std::fill_n(member.set, 32, uint8_t{0});
        for (int code = 0; code < 256; ++code) {
            const bool is_left = code < trees_.n_categories[feature]
                                     ? trees_.has_category_left(tree.root + at, code)
                                     : node.is_missing_left();
            member.set[code >> 3] |= static_cast<uint8_t>(is_left << (code & 7));
        }
        offset = static_cast<uint32_t>((bytes_.n_planes() + tree.n_members++) * kCodedRows);
        threshold = 0;
    } else {
        const auto place = bytes_.place(feature, node.is_missing_left(), node.threshold);
        offset = static_cast<uint32_t>(place.plane * kCodedRows);
        threshold = static_cast<uint8_t>(place.code);
    }
    place_node(tree, at + 1, level + 1, 2 * id, placed);
    place_node(tree, node.right_child, level + 1, 2 * id + 1, placed);
}

// A node without its children; returns what stands for it among the children of others.
uint32_t CodedTrees::place_walk(const Tree& tree, int64_t at, Walks<uint32_t>& placed) const {
    const TreeNode& node = trees_.nodes[tree.root + at];
    if (node.is_leaf()) return kLeaf | static_cast<uint32_t>(node.right_child - tree.first_leaf);
    WalkNode<uint32_t> walked = {0, 0, {0, 0}};
    if (node.is_categorical()) {
        walked.plane = static_cast<uint16_t>(words_.category_plane(node.feature_number()));
        walked.plane |= kCategory;
    } else {
        const auto found =
            words_.place(node.feature_number(), node.is_missing_left(), node.threshold);
        walked.plane = static_cast<uint16_t>(found.plane);
        walked.limit = static_cast<uint16_t>(found.code);
    }
    placed.nodes.push_back(walked);
    placed.origins.push_back(tree.root + at);
    return static_cast<uint32_t>(placed.nodes.size() - 1);
}

// A node and all below it, in preorder.
uint32_t CodedTrees::place_walks(const Tree& tree, int64_t from, Walks<uint32_t>& placed) const {
    struct Pending {
        int64_t at;
        uint32_t parent;
        int side;
    };
    std::vector<Pending> pending;
    auto place = [&](int64_t at) {
        const uint32_t found = place_walk(tree, at, placed);
        if (found & kLeaf) return found;
        pending.push_back({trees_.nodes[tree.root + at].right_child, found, 1});
        pending.push_back({at + 1, found, 0});
        return found;
    };
    const uint32_t start = place(from);
    while (!pending.empty()) {
        const Pending next = pending.back();
        pending.pop_back();
        const uint32_t found = place(next.at);
        placed.nodes[next.parent].children[next.side] = found;
    }
    return start;
}

// Blocks whose codes stay in the cache while all trees pass, and some for every thread.
int64_t CodedTrees::groups_per_block(int64_t n_rows, int n_threads) const {
    const int64_t bytes = kCodedRows * (bytes_.n_planes() + most_members_ + 2 * words_.n_planes());
    // Deep trees do not stay in the cache: more rows make use of them each time they come.
    const int64_t n_most = has_deep_ ? kMostDeepGroups : kMostGroups;
    const int64_t n_fitting = std::clamp<int64_t>(kBytesPerBlock / (bytes + 1), 1, n_most);
    const int64_t n_groups = (n_rows + kCodedRows - 1) / kCodedRows;
    return std::clamp<int64_t>(n_groups / (2 * n_threads), 1, n_fitting);
}

// body(first row, number of rows, scratch) for every block, its codes being made.
template <typename T, typename Body>
void CodedTrees::for_each_block(const RowsView<T>& rows, ThreadTeam& team, Body&& body) const {
    const int64_t n_per_block = groups_per_block(rows.n_rows, team.size()) * kCodedRows;
    std::vector<std::unique_ptr<Scratch>> scratch(team.size());
    team.parallel_for(
        (rows.n_rows + n_per_block - 1) / n_per_block, [&](int64_t block, int thread) {
            if (!scratch[thread])
                scratch[thread] = std::make_unique<Scratch>(*this, n_per_block / kCodedRows);
            Scratch& own = *scratch[thread];
            const int64_t begin = block * n_per_block;
            const int64_t n = std::min(rows.n_rows - begin, n_per_block);
            bytes_.encode(rows, begin, n, own.byte_stride, own.bytes.data());
            words_.encode(rows, begin, n, own.word_stride, own.words.data());
            body(begin, n, own);
        });
}

// The first levels of a tree.
void CodedTrees::descend(const Tree& tree, Scratch& scratch, int64_t group, uint8_t* ids) const {
    const PredictKernels& kernels = predict_kernels();
    uint8_t* const codes = scratch.bytes.data() + group * scratch.byte_stride;
    for (int64_t k = 0; k < tree.n_members; ++k) {
        const Member& member = members_[tree.first_member + k];
        kernels.find_members({codes + member.plane * kCodedRows, member.set,
                              codes + (bytes_.n_planes() + k) * kCodedRows});
    }
    kernels.blend({codes, offsets_.data() + tree.first_offset,
                   thresholds_.data() + tree.first_threshold, tree.levels, ids});
}

// All rows that have not arrived take a step, then all take the next: a row's steps wait for each
// other, those of different rows do not, and the processor has many of them at hand. Nothing
// branches on what cannot be predicted: whether a row has arrived decides only if it is kept.
template <bool kHasCategories, typename Child>
void CodedTrees::walk(const Tree& tree, const Walks<Child>& walks, const uint16_t* codes,
                      const uint8_t* ids, int n_rows, int32_t* leaves) const {
    using Node = WalkNode<Child>;
    const Node* const nodes = walks.nodes.data() + tree.first_walk;
    const int32_t* const ends = ends_.data() + tree.first_end;
    const int64_t n_planes = words_.n_planes();
    const int32_t first_leaf = static_cast<int32_t>(tree.first_leaf);
    Child at[kWalkedGroups * kCodedRows];
    uint8_t moving[kWalkedGroups * kCodedRows];
    int n_moving = 0;
    for (int r = 0; r < n_rows; ++r) {
        const uint32_t start = static_cast<uint32_t>(ends[ids[r]]);
        leaves[r] = first_leaf + static_cast<int32_t>(start & ~kLeaf);
        at[n_moving] = static_cast<Child>(start);
        moving[n_moving] = static_cast<uint8_t>(r);
        n_moving += (start & kLeaf) == 0;
    }
    while (n_moving > 0) {
        int n_left = 0;
        for (int i = 0; i < n_moving; ++i) {
            const uint8_t r = moving[i];
            const Node& node = nodes[at[i]];
            const uint16_t* const own = codes + r * n_planes;
            bool right;
            if (kHasCategories && node.plane & kCategory)
                right = !trees_.has_category_left(walks.origins[tree.first_walk + at[i]],
                                                  own[node.plane & ~kCategory]);
            else
                right = own[node.plane] > node.limit;
            const Child next = node.children[right];
            leaves[r] = first_leaf + static_cast<int32_t>(next & ~Node::kLeaf);
            at[n_left] = next;
            moving[n_left] = r;
            n_left += (next & Node::kLeaf) == 0;
        }
        n_moving = n_left;
    }
}

// Of rows in up to kWalkedGroups groups.
void CodedTrees::find_leaves(const Tree& tree, Scratch& scratch, int64_t group, int n_rows,
                             int32_t* leaves) const {
    uint8_t ids[kWalkedGroups * kCodedRows];
    for (int64_t first = 0; first < n_rows; first += kCodedRows)
        descend(tree, scratch, group + first / kCodedRows, ids + first);
    if (!tree.is_deep) {
        const int32_t* const ends = ends_.data() + tree.first_end;
        for (int r = 0; r < n_rows; ++r) leaves[r] = ends[ids[r]];
        return;
    }
    const uint16_t* const codes = scratch.words.data() + group * scratch.word_stride;
    auto walk_in = [&](const auto& walks) {
        if (walks_categories_)
            walk<true>(tree, walks, codes, ids, n_rows, leaves);
        else
            walk<false>(tree, walks, codes, ids, n_rows, leaves);
    };
    if (tree.is_small)
        walk_in(small_walks_);
    else
        walk_in(large_walks_);
}

// Fetches a part of what rows will walk on, while other rows walk on the tree before.
void CodedTrees::prefetch_part(const Tree& tree, int64_t part, int64_t n_parts) const {
    constexpr int64_t kLine = 64;
    const int64_t size = tree.is_small ? sizeof(WalkNode<uint16_t>) : sizeof(WalkNode<uint32_t>);
    const char* const nodes =
        tree.is_small ? reinterpret_cast<const char*>(small_walks_.nodes.data() + tree.first_walk)
                      : reinterpret_cast<const char*>(large_walks_.nodes.data() + tree.first_walk);
    const int64_t n_lines = tree.n_walks * size / kLine + 1;
    const int64_t end = std::min(part + kWalkedGroups, n_parts) * n_lines / n_parts;
    for (int64_t line = part * n_lines / n_parts; line < end; ++line)
        __builtin_prefetch(nodes + line * kLine, 0, 2);
}

template <typename T>
void CodedTrees::visit(const RowsView<T>& rows, ThreadTeam& team, const VisitLeaves& visit) const {
    for_each_block(rows, team, [&](int64_t begin, int64_t n, Scratch& scratch) {
        const int64_t n_groups = (n + kCodedRows - 1) / kCodedRows;
        const int64_t stride = n_groups * kCodedRows;
        const int64_t n_trees = trees_.n_trees();
        for (int64_t first = 0; first < n_trees; first += kTreesTogether) {
            const int64_t n_together = std::min(kTreesTogether, n_trees - first);
            for (int64_t k = 0; k < n_together; ++k) {
                const int64_t next = std::min(first + k + 1, n_trees - 1);
                for (int64_t group = 0; group < n_groups; group += kWalkedGroups) {
                    if (has_deep_) prefetch_part(tree_[next], group, n_groups);
                    const int64_t n_own =
                        std::min(kWalkedGroups * kCodedRows, n - group * kCodedRows);
                    find_leaves(tree_[first + k], scratch, group, static_cast<int>(n_own),
                                scratch.leaves.data() + k * stride + group * kCodedRows);
                }
            }
            visit({begin, n, first, n_together, scratch.leaves.data(), stride});
        }
    });
}

template <typename T>
void CodedTrees::add_numbers(const RowsView<T>& rows, const float* values, float* raw,
                             ThreadTeam& team) const {
    // One number per end, so that no row looks for the number of its leaf first.
    std::vector<float> numbers(ends_.size() + 16, 0.0f);
    for (size_t i = 0; i < ends_.size(); ++i) numbers[i] = values[ends_[i]];
    std::vector<const float*> tables;
    std::vector<uint8_t> depths;
    for (const Tree& tree : tree_) {
        tables.push_back(numbers.data() + tree.first_end);
        depths.push_back(static_cast<uint8_t>(tree.levels));
    }
    for_each_block(rows, team, [&](int64_t begin, int64_t n, Scratch& scratch) {
        for (int64_t group = 0; group * kCodedRows < n; ++group) {
            const int64_t n_own = std::min<int64_t>(kCodedRows, n - group * kCodedRows);
            float* const own = raw + begin + group * kCodedRows;
            float sums[kCodedRows] = {};
            std::copy_n(own, n_own, sums);
            for (int64_t first = 0; first < trees_.n_trees(); first += kTreesTogether) {
                const int64_t n_together = std::min(kTreesTogether, trees_.n_trees() - first);
                for (int64_t k = 0; k < n_together; ++k)
                    descend(tree_[first + k], scratch, group, scratch.ids.data() + k * kCodedRows);
                predict_kernels().add_numbers({n_together, scratch.ids.data(), kCodedRows,
                                               depths.data() + first, tables.data() + first,
                                               sums});
            }
            std::copy_n(sums, n_own, own);
        }
    });
}

template void CodedTrees::visit(const RowsView<float>&, ThreadTeam&, const VisitLeaves&) const;
template void CodedTrees::visit(const RowsView<double>&, ThreadTeam&, const VisitLeaves&) const;
template void CodedTrees::add_numbers(const RowsView<float>&, const float*, float*,
                                      ThreadTeam&) const;
template void CodedTrees::add_numbers(const RowsView<double>&, const float*, float*,
                                      ThreadTeam&) const;

}  // namespace polyleaf
