// Rows down both sides of some splits, and how many of them reach each leaf; see coded_trees.hpp.
#include <algorithm>

#include "predict/coded_trees.hpp"

namespace polyleaf {

template <typename T>
std::vector<uint16_t> CodedTrees::encode_walks(const RowsView<T>& rows, ThreadTeam& team) const {
    constexpr int64_t kGroups = 8;
    const int64_t stride = words_.n_planes() * kCodedRows;
    const int64_t n_groups = (rows.n_rows + kCodedRows - 1) / kCodedRows;
    std::vector<uint16_t> codes(n_groups * stride);
    team.parallel_for((n_groups + kGroups - 1) / kGroups, [&](int64_t block, int) {
        const int64_t begin = block * kGroups * kCodedRows;
        words_.encode(rows, begin, std::min(kGroups * kCodedRows, rows.n_rows - begin), stride,
                      codes.data() + block * kGroups * stride);
    });
    return codes;
}

template <typename Child>
void CodedTrees::count_in(const Tree& tree, const Walks<Child>& walks,
                          const std::vector<uint16_t>& codes, int64_t n_rows,
                          const double* weights, const std::vector<uint8_t>& is_chosen,
                          const uint8_t* is_reached, double* counts) const {
    using Node = WalkNode<Child>;
    const Node* const nodes = walks.nodes.data() + tree.first_walk;
    const int64_t* const origins = walks.origins.data() + tree.first_walk;
    const int64_t n_planes = words_.n_planes();
    // Rows that go on, those that go on after this step, and those that arrived with it.
    struct Visits {
        std::vector<Child> at;
        std::vector<uint8_t> row;
        void make_room(size_t n) {
            if (at.size() >= n) return;
            at.resize(2 * n);
            row.resize(2 * n);
        }
    };
    Visits moving, next, arrived;
    const Child root = static_cast<Child>(ends_[tree.first_end]);
    for (int64_t first = 0; first < n_rows; first += kCodedRows) {
        const int n_own = static_cast<int>(std::min<int64_t>(kCodedRows, n_rows - first));
        const uint16_t* const own_codes = codes.data() + first * n_planes;
        int64_t n_moving = n_own;
        moving.make_room(n_own);
        for (int r = 0; r < n_own; ++r) {
            moving.at[r] = root;
            moving.row[r] = static_cast<uint8_t>(r);
        }
        while (n_moving > 0) {
            next.make_room(2 * n_moving);
            arrived.make_room(2 * n_moving);
            int64_t n_next = 0, n_arrived = 0;
            Child* const next_at = next.at.data();
            Child* const arrived_at = arrived.at.data();
            uint8_t* const next_row = next.row.data();
            uint8_t* const arrived_row = arrived.row.data();
            // Written to both, without a branch that nobody can predict; one of them counts it.
            auto send = [&](uint8_t row, Child child, bool counts_here) {
                const bool is_leaf = child & Node::kLeaf;
                next_at[n_next] = child;
                next_row[n_next] = row;
                arrived_at[n_arrived] = child;
                arrived_row[n_arrived] = row;
                n_next += counts_here & !is_leaf;
                n_arrived += counts_here & is_leaf;
            };
            for (int64_t i = 0; i < n_moving; ++i) {
                const uint8_t row = moving.row[i];
                const Child at = moving.at[i];
                const Node node = nodes[at];
                const uint16_t plane = node.plane & static_cast<uint16_t>(~kCategory);
                const uint16_t code = own_codes[row * n_planes + plane];
                if (is_chosen[plane]) {
                    const int64_t own = origins[at] - tree.root;
                    send(row, node.children[0], is_reached[own + 1]);
                    send(row, node.children[1], is_reached[trees_.nodes[origins[at]].right_child]);
                } else if (node.plane & kCategory) {
                    send(row, node.children[!trees_.has_category_left(origins[at], code)], true);
                } else {
                    send(row, node.children[code > node.limit], true);
                }
            }
            for (int64_t i = 0; i < n_arrived; ++i)
                counts[arrived_at[i] & static_cast<Child>(~Node::kLeaf)] +=
                    weights == nullptr ? 1.0 : weights[first + arrived_row[i]];
            std::swap(moving, next);
            n_moving = n_next;
        }
    }
}

void CodedTrees::count_reached(int64_t number, const std::vector<uint16_t>& codes, int64_t n_rows,
                               const double* weights, const std::vector<int32_t>& chosen_features,
                               const uint8_t* is_reached, double* counts) const {
    const Tree& tree = tree_[number];
    if (tree.n_walks == 0) {  // one leaf
        for (int64_t i = 0; i < n_rows; ++i) counts[0] += weights == nullptr ? 1.0 : weights[i];
        return;
    }
    std::vector<uint8_t> is_chosen(words_.n_planes(), 0);
    for (int32_t feature : chosen_features) words_.mark_planes(feature, is_chosen);
    if (tree.is_small)
        count_in(tree, small_walks_, codes, n_rows, weights, is_chosen, is_reached, counts);
    else
        count_in(tree, large_walks_, codes, n_rows, weights, is_chosen, is_reached, counts);
}

template std::vector<uint16_t> CodedTrees::encode_walks(const RowsView<float>&, ThreadTeam&) const;
template std::vector<uint16_t> CodedTrees::encode_walks(const RowsView<double>&,
                                                        ThreadTeam&) const;

}  // namespace polyleaf
