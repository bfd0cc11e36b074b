#include "predict/coded_trees.hpp"

#include <algorithm>

namespace polyleaf {

namespace {

// Above a deep tree's walks: blends cost twice as much per level, walks the same.
constexpr int kLevelsAboveWalks = 7;
// Steps of a row between two looks at whether it has arrived.
constexpr int kStepsTogether = 4;
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

std::unique_ptr<CodedTrees> CodedTrees::make(const TreeNodes& trees) {
    std::unique_ptr<CodedTrees> coded(new CodedTrees(trees));
    std::vector<std::vector<int32_t>> depths(trees.n_trees());
    for (int64_t tree = 0; tree < trees.n_trees(); ++tree) {
        if (!coded->plan_tree(tree, depths[tree])) return nullptr;
    }
    if (!coded->bytes_.finish() || !coded->words_.finish()) return nullptr;
    if (coded->bytes_.n_planes() + coded->most_members_ > kMostPlanes ||
        coded->words_.n_planes() > kMostPlanes)
        return nullptr;
    if (coded->has_deep_) coded->walk_nodes_.resize(trees.nodes.size());
    if (coded->has_deep_) coded->leaf_numbers_.resize(trees.nodes.size());
    for (int64_t tree = 0; tree < trees.n_trees(); ++tree)
        coded->place_tree(coded->tree_[tree], depths[tree]);
    return coded;
}

// Decides how rows go down a tree, and notes what is compared with codes of which kind.
bool CodedTrees::plan_tree(int64_t number, std::vector<int32_t>& depths) {
    const int64_t end = number + 1 < trees_.n_trees() ? trees_.roots[number + 1]
                                                      : static_cast<int64_t>(trees_.nodes.size());
    Tree tree;
    tree.root = trees_.roots[number];
    const TreeNode* const nodes = trees_.nodes.data() + tree.root;
    const int64_t n_nodes = end - tree.root;
    tree.levels = find_depths(nodes, n_nodes, depths);
    tree.is_deep = tree.levels > kMostLevels;
    if (tree.is_deep) tree.levels = kLevelsAboveWalks;
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
    return n_nodes < INT32_MAX;
}

void CodedTrees::place_tree(Tree& tree, const std::vector<int32_t>& depths) {
    place_node(tree, 0, 0, 0);
    if (tree.is_deep) place_walk(tree, depths);
}

// `id`: the decisions above the node in binary.
void CodedTrees::place_node(Tree& tree, int64_t at, int level, int64_t id) {
    const TreeNode& node = trees_.nodes[tree.root + at];
    if (level == tree.levels || node.is_leaf()) {
        ends_[tree.first_end + (id << (tree.levels - level))] =
            static_cast<int32_t>(tree.is_deep ? at : node.right_child);
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
    place_node(tree, at + 1, level + 1, 2 * id);
    place_node(tree, node.right_child, level + 1, 2 * id + 1);
}

void CodedTrees::place_walk(const Tree& tree, const std::vector<int32_t>& depths) {
    for (int64_t at = 0; at < static_cast<int64_t>(depths.size()); ++at) {
        const TreeNode& node = trees_.nodes[tree.root + at];
        WalkNode& walked = walk_nodes_[tree.root + at];
        if (node.is_leaf()) {
            walked = {static_cast<uint32_t>(at), 0, 0};
            leaf_numbers_[tree.root + at] = static_cast<int32_t>(node.right_child);
        } else if (depths[at] < tree.levels) {
            walked = {node.right_child, 0, 1};  // nobody walks here
        } else if (node.is_categorical()) {
            const int64_t plane = words_.category_plane(node.feature_number());
            walked = {node.right_child, static_cast<uint16_t>(plane | kCategory), 1};
        } else {
            const auto place =
                words_.place(node.feature_number(), node.is_missing_left(), node.threshold);
            walked = {node.right_child, static_cast<uint16_t>(place.plane),
                      static_cast<uint16_t>(place.code + 1)};
        }
    }
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
            for (int64_t first = 0; first < n; first += kCodedRows) {
                const int64_t n_coded = std::min<int64_t>(kCodedRows, n - first);
                const int64_t group = first / kCodedRows;
                bytes_.encode(rows, begin + first, n_coded,
                              own.bytes.data() + group * own.byte_stride);
                words_.encode(rows, begin + first, n_coded,
                              own.words.data() + group * own.word_stride);
            }
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

// The rows that have not arrived take a few steps each, without a branch that nobody can predict;
// rows do not wait for each other, so that the processor works on several at once.
template <bool kHasCategories>
void CodedTrees::walk(const Tree& tree, const uint16_t* codes, const uint8_t* ids,
                      int32_t* leaves) const {
    const WalkNode* const nodes = walk_nodes_.data() + tree.root;
    uint32_t at[kCodedRows];
    uint8_t moving[kCodedRows];
    int n_moving = 0;
    for (int r = 0; r < kCodedRows; ++r) {
        at[r] = static_cast<uint32_t>(ends_[tree.first_end + ids[r]]);
        moving[n_moving] = static_cast<uint8_t>(r);
        n_moving += nodes[at[r]].limit != 0;
    }
    while (n_moving > 0) {
        int n_left = 0;
        for (int i = 0; i < n_moving; ++i) {
            const uint8_t r = moving[i];
            uint32_t node = at[r];
            for (int step = 0; step < kStepsTogether; ++step) {
                const WalkNode own = nodes[node];
                uint32_t right = codes[(own.plane & ~kCategory) * kCodedRows + r] >= own.limit;
                if (kHasCategories && own.plane & kCategory)
                    right = !trees_.has_category_left(
                        tree.root + node, codes[(own.plane & ~kCategory) * kCodedRows + r]);
                node = (node + 1) ^ (((node + 1) ^ own.right_child) & (0u - right));
            }
            at[r] = node;
            moving[n_left] = r;
            n_left += nodes[node].limit != 0;
        }
        n_moving = n_left;
    }
    for (int r = 0; r < kCodedRows; ++r) leaves[r] = leaf_numbers_[tree.root + at[r]];
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
                const Tree& tree = tree_[first + k];
                for (int64_t group = 0; group < n_groups; ++group) {
                    uint8_t ids[kCodedRows];
                    int32_t* const leaves =
                        scratch.leaves.data() + k * stride + group * kCodedRows;
                    const uint16_t* const words =
                        scratch.words.data() + group * scratch.word_stride;
                    descend(tree, scratch, group, ids);
                    if (!tree.is_deep) {
                        const int32_t* const ends = ends_.data() + tree.first_end;
                        for (int r = 0; r < kCodedRows; ++r) leaves[r] = ends[ids[r]];
                    } else if (walks_categories_) {
                        walk<true>(tree, words, ids, leaves);
                    } else {
                        walk<false>(tree, words, ids, leaves);
                    }
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
