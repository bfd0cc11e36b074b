#include "grow/fixed_grower.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <numeric>
#include <queue>

#include "base/random.hpp"
#include "grow/feature_draw.hpp"
#include "grow/fixed_partition.hpp"
#include "grow/fixed_scan.hpp"
#include "grow/fixed_store.hpp"
#include "grow/stopping.hpp"

namespace polyleaf {

namespace {

// Sums of nodes that are built at once, and of nodes that wait to be split.
constexpr int64_t kWaveBytes = int64_t{64} << 20, kWaitingBytes = int64_t{256} << 20;
// Features that one thread searches at a time.
constexpr int64_t kSearchFeatures = 8;
// A gain this small a share of a node's score is rounding.
constexpr double kLeastGainShare = 1e-12;

struct FixedNode {
    int32_t id = 0;  // in the tree under construction
    NodeRange range;
    int64_t depth = 0;
    uint64_t seed = 0;
    std::vector<int32_t> sums;  // of its rows, as integers
    FixedTotals totals;
    Split split;
    std::vector<int32_t> left_sums;   // of the rows that the split sends left
    std::unique_ptr<FixedSums> bins;  // null: not built, or given back
};

// A node that is finished in floats.
struct FloatSubtree {
    int32_t id;
    NodeRange range;
    int64_t depth;
    uint64_t seed;
    GrownTree tree;
};

class FixedGrower {
  public:
    FixedGrower(const BinnedView& binned, const ChannelsView& channels, const int32_t* rows,
                int64_t n_rows, const GrowParams& params, Interrupt& interrupt, Reducer* reducer)
        : binned_(binned),
          channels_(channels),
          params_(params),
          interrupt_(interrupt),
          reducer_(reducer),
          team_(params.n_threads, interrupt),
          codes_(store_of(binned).codes(binned, team_)),
          buffers_(store_of(binned).take()),
          rows_(filled(rows, n_rows)),
          histograms_(binned, rows_, codes_, team_, reducer),
          partition_(binned, codes_, team_, buffers_->order, buffers_->left, buffers_->right),
          rules_(params_, channels.n_channels),
          draws_(params.max_features < binned.n_features),
          has_categories_(std::any_of(binned.is_categorical,
                                      binned.is_categorical + binned.n_features,
                                      [](uint8_t is) { return is != 0; })) {
        for (int i = 0; i < team_.size(); ++i)
            scans_.emplace_back(binned_, params_, rows_, histograms_.shape, channels.policy);
    }
    ~FixedGrower() { store_of(binned_).give_back(std::move(buffers_)); }

    GrownTree grow() {
        std::deque<FixedNode> open;
        open.push_back(open_root());
        params_.max_leaf_nodes > 0 ? grow_best_first(open) : grow_in_waves(open);
        for (FixedNode& node : open) give_back(node);
        finish_in_floats();
        return assemble();
    }

  private:
    FixedStore& store_of(const BinnedView& binned) {
        return binned.fixed ? *binned.fixed : own_store_;
    }
    const FixedRows& filled(const int32_t* rows, int64_t n_rows) {
        buffers_->order.assign(rows, rows + n_rows);
        are_all_rows_ = n_rows == binned_.n_rows;  // they ascend
        buffers_->rows.fill(binned_, channels_, rows, n_rows, params_.measures_impurity, team_,
                            reducer_);
        return buffers_->rows;
    }

    std::unique_ptr<FixedSums> new_bins() {
        const size_t size = static_cast<size_t>(histograms_.shape.size());
        std::vector<std::unique_ptr<FixedSums>>& spare = buffers_->sums;
        while (!spare.empty()) {
            std::unique_ptr<FixedSums> bins = std::move(spare.back());
            spare.pop_back();
            if (bins->size() == size) return bins;
        }
        return std::make_unique<FixedSums>(size);
    }
    void give_back(FixedNode& node) {
        if (node.bins) buffers_->sums.push_back(std::move(node.bins));
    }

    bool can_split(const FixedNode& node) const {
        return rules_.can_split(node.totals.n_rows, node.depth) && !is_pure(node);
    }
    bool is_pure(const FixedNode& node) const {
        const TreeNode& stored = nodes_[node.id];
        return !rows_.squares.empty() &&
               (rules_.is_pure(stored.weight, stored.impurity) ||
                stored.impurity <= rows_.rounding_of(node.totals.n_rows, stored.weight));
    }
    bool is_accepted(const Split& split, const FixedTotals& totals) const {
        if (!rules_.is_accepted(split)) return false;
        // Without squares there is no other way to tell that all rows of a node are the same.
        return !rows_.squares.empty() ||
               split.gain > kLeastGainShare * std::abs(totals.base_score);
    }

    // Sums of the node's rows are known: note what is stored of it.
    void record(std::vector<FixedNode*> nodes) {
        std::vector<double> squares = squares_of(nodes);
        for (size_t i = 0; i < nodes.size(); ++i) {
            FixedNode& node = *nodes[i];
            node.totals = scans_[0].totals_of(node.sums);
            TreeNode& stored = nodes_[node.id];
            const double impurity = squares.empty()
                                        ? std::numeric_limits<double>::max()
                                        : deviations(squares[i], explained(node.totals));
            record_node(stored, node.range, node.totals.weight, impurity);
            if (!squares.empty()) node.totals.impurity = impurity;
            stored.n_samples = node.totals.n_rows;
        }
    }
    // What the mean explains of the squares.
    double explained(const FixedTotals& totals) const {
        const FixedLayout& layout = rows_.layout;
        if (!layout.per_channel) return totals.weight > 0.0 ? totals.norm / totals.weight : 0.0;
        double sum = 0.0;
        for (int b = 0; b < layout.n_blocks(); ++b)
            for (int k = 0; k < layout.blocks[b].n_channels; ++k)
                sum += channel_score(totals.sums[b * layout.lanes + layout.gradient_lane(b, k)],
                                     totals.sums[b * layout.lanes + layout.hessian_lane(b, k)],
                                     0.0, 0.0);
        return sum;
    }
    std::vector<double> squares_of(const std::vector<FixedNode*>& nodes) {
        if (rows_.squares.empty()) return {};
        std::vector<double> squares(nodes.size(), 0.0);
        team_.parallel_for(static_cast<int64_t>(nodes.size()), [&](int64_t at, int) {
            double sum = 0.0;
            for (int64_t i = nodes[at]->range.begin; i < nodes[at]->range.end; ++i)
                sum += rows_.squares[buffers_->order[i]];
            squares[at] = sum;
        });
        if (reducer_)
            reducer_->reduce(
                {SumOf::node_sums, squares.data(), static_cast<int64_t>(squares.size())});
        return squares;
    }

    FixedNode open_root() {
        FixedNode root;
        root.range = {0, static_cast<int64_t>(buffers_->order.size())};
        root.seed = mix(params_.seed + 1);
        root.bins = new_bins();
        nodes_.emplace_back();
        histograms_.build({{root.range, root.bins.get()}}, buffers_->order.data(), are_all_rows_);
        root.sums = histograms_.totals_of(*root.bins);
        record({&root});
        rules_.note_root(root.totals.weight, nodes_[0].impurity);
        finders_.add(Finder::fixed_histogram);
        if (is_left_to_floats(root.totals.n_rows)) {
            leave_to_floats(root);
            root.bins.reset();
        } else if (can_split(root)) {
            search({&root});
        }
        return root;
    }

    bool is_left_to_floats(int64_t n_rows) const {
        return params_.max_leaf_nodes < 0 && n_rows <= params_.float_rows;
    }
    void leave_to_floats(const FixedNode& node) {
        floats_.push_back({node.id, node.range, node.depth, node.seed, {}});
    }

    // The best splits of nodes whose sums are built.
    void search(const std::vector<FixedNode*>& nodes) {
        const int32_t p = binned_.n_features;
        const int64_t n_looked = draws_ ? params_.max_features : p;
        const int64_t n_groups = (n_looked + kSearchFeatures - 1) / kSearchFeatures;
        std::vector<std::vector<int32_t>> features(nodes.size());
        for (size_t i = 0; i < nodes.size(); ++i) features[i] = candidates_of(*nodes[i]);
        std::vector<Split> bests(nodes.size() * n_groups);
        team_.parallel_for(static_cast<int64_t>(bests.size()), [&](int64_t piece, int thread) {
            const size_t at = piece / n_groups;
            const int64_t begin = piece % n_groups * kSearchFeatures;
            const FixedNode& node = *nodes[at];
            for (int64_t i = begin; i < std::min(n_looked, begin + kSearchFeatures); ++i)
                search_feature(node, features[at][i], i, thread, bests[piece]);
        });
        for (size_t i = 0; i < nodes.size(); ++i) {
            FixedNode& node = *nodes[i];
            node.split = Split{};
            for (int64_t group = 0; group < n_groups; ++group) {
                Split& other = bests[i * n_groups + group];
                if (node.split.beaten_by(other.gain, other.rank)) node.split = std::move(other);
            }
            // None of the drawn features can split the node: the others, one by one.
            for (int64_t k = n_looked; k < p && !node.split.found(); ++k)
                search_feature(node, features[i][k], k, 0, node.split);
            if (has_categories_) finders_.add(Finder::fixed_categories);
            finish_search(node);
        }
    }
    void search_feature(const FixedNode& node, int32_t feature, int64_t place, int thread,
                        Split& best) {
        const uint64_t rank =
            draws_ ? static_cast<uint64_t>(place) : feature_rank(node.seed, feature);
        scans_[thread].search(node.totals, *node.bins, node.seed, feature, rank, best);
    }
    std::vector<int32_t> candidates_of(const FixedNode& node) {
        std::vector<int32_t> features(binned_.n_features);
        std::iota(features.begin(), features.end(), 0);
        if (!draws_) return features;
        FeatureDraw draw(binned_.n_features);
        draw.for_each(node.seed, 0, binned_.n_features, [&](int32_t feature, int64_t i) {
            features[i] = feature;
            return true;
        });
        return features;
    }
    // Keeps what children need of the node's sums.
    void finish_search(FixedNode& node) {
        if (!is_accepted(node.split, node.totals)) {
            node.split = Split{};
            return give_back(node);
        }
        node.left_sums = histograms_.totals_of(*node.bins, node.split.feature,
                                               scans_[0].left_codes(node.split));
        if (params_.max_depth >= 0 && node.depth + 1 >= params_.max_depth) give_back(node);
    }

    // Splits nodes; children that are split in their turn are appended to `open`.
    void split(std::vector<FixedNode> parents, std::deque<FixedNode>& open) {
        std::vector<FixedPartition::Job> jobs(parents.size());
        for (size_t i = 0; i < parents.size(); ++i)
            jobs[i] = {parents[i].range, parents[i].split.feature,
                       scans_[0].left_codes(parents[i].split), 0};
        partition_.run(jobs);
        are_all_rows_ = false;
        std::vector<FixedNode> children(2 * parents.size());
        std::vector<FixedNode*> all;
        for (size_t i = 0; i < parents.size(); ++i) {
            divide(parents[i], jobs[i].middle, &children[2 * i]);
            all.push_back(&children[2 * i]);
            all.push_back(&children[2 * i + 1]);
        }
        record(all);
        std::vector<FixedNode*> searched;
        build_children(parents, children, searched);
        if (!searched.empty()) search(searched);
        for (FixedNode* node : searched)
            if (node->split.found()) open.push_back(std::move(*node));
    }

    void divide(FixedNode& parent, int64_t middle, FixedNode* children) {
        note_split(nodes_[parent.id], parent.split, words_);
        const int32_t first = static_cast<int32_t>(nodes_.size());
        nodes_.resize(nodes_.size() + 2);
        nodes_[parent.id].left = first;
        nodes_[parent.id].right = first + 1;
        for (int side = 0; side < 2; ++side) {
            FixedNode& child = children[side];
            child.id = first + side;
            child.depth = parent.depth + 1;
            child.seed = child_seed(parent.seed, side);
            child.range = side == 0 ? NodeRange{parent.range.begin, middle}
                                    : NodeRange{middle, parent.range.end};
            child.sums = parent.left_sums;
        }
        for (size_t k = 0; k < parent.sums.size(); ++k)
            children[1].sums[k] = parent.sums[k] - children[0].sums[k];
    }

    // Sums per bin of the children that are searched: of each pair, the smaller one is built, and
    // the other is what is left of its parent.
    void build_children(std::vector<FixedNode>& parents, std::vector<FixedNode>& children,
                        std::vector<FixedNode*>& searched) {
        std::vector<FixedHistograms::Job> jobs;
        std::vector<std::pair<FixedNode*, FixedNode*>> subtractions;  // smaller, larger
        auto build = [&](FixedNode& node) {
            node.bins = new_bins();
            jobs.push_back({node.range, node.bins.get()});
            finders_.add(Finder::fixed_histogram);
        };
        for (size_t i = 0; i < parents.size(); ++i) {
            FixedNode *small = &children[2 * i], *large = small + 1;
            if (small->totals.n_rows > large->totals.n_rows) std::swap(small, large);
            bool is_searched[2];
            for (int k = 0; k < 2; ++k) {
                FixedNode& child = k == 0 ? *small : *large;
                is_searched[k] = can_split(child);
                if (is_searched[k] && is_left_to_floats(child.totals.n_rows)) {
                    leave_to_floats(child);
                    is_searched[k] = false;
                }
                if (is_searched[k]) searched.push_back(&child);
            }
            if (is_searched[1] && parents[i].bins) {
                build(*small);
                large->bins = std::move(parents[i].bins);
                subtractions.push_back({small, large});
                finders_.add(Finder::fixed_difference);
                continue;
            }
            give_back(parents[i]);
            if (is_searched[0]) build(*small);
            if (is_searched[1]) build(*large);
        }
        if (!jobs.empty()) histograms_.build(jobs, buffers_->order.data(), false);
        team_.parallel_for(static_cast<int64_t>(subtractions.size()), [&](int64_t i, int) {
            histograms_.subtract(*subtractions[i].first->bins, *subtractions[i].second->bins);
        });
        for (FixedNode& child : children)
            if (child.bins &&
                std::find(searched.begin(), searched.end(), &child) == searched.end())
                give_back(child);
    }

    void grow_in_waves(std::deque<FixedNode>& open) {
        if (!open.front().split.found()) return;
        const int64_t bytes = histograms_.shape.size() * int64_t{sizeof(int32_t)};
        const size_t most = static_cast<size_t>(std::max<int64_t>(1, kWaveBytes / bytes));
        while (!open.empty()) {
            interrupt_.check();
            std::vector<FixedNode> wave;
            while (!open.empty() && wave.size() < most) {
                wave.push_back(std::move(open.front()));
                open.pop_front();
            }
            split(std::move(wave), open);
            // The deepest nodes lose their sums first: their children have the fewest rows.
            int64_t n_kept = kWaitingBytes / bytes;
            for (FixedNode& node : open)
                if (node.bins && --n_kept < 0) node.bins.reset();
        }
    }

    void grow_best_first(std::deque<FixedNode>& open) {
        // Highest gain first, then the older node. References into a deque stay valid.
        auto later = [&](size_t a, size_t b) {
            const double gain = open[a].split.gain, other = open[b].split.gain;
            return gain != other ? gain < other : a > b;
        };
        std::priority_queue<size_t, std::vector<size_t>, decltype(later)> queue(later);
        const int64_t bytes = histograms_.shape.size() * int64_t{sizeof(int32_t)};
        if (open.front().split.found()) queue.push(0);
        int64_t n_leaves = 1;
        while (n_leaves < params_.max_leaf_nodes && !queue.empty()) {
            interrupt_.check();
            std::vector<FixedNode> one;
            one.push_back(std::move(open[queue.top()]));
            queue.pop();
            ++n_leaves;
            const size_t n_before = open.size();
            split(std::move(one), open);
            for (size_t at = n_before; at < open.size(); ++at) queue.push(at);
            int64_t n_kept = kWaitingBytes / bytes;
            for (FixedNode& node : open)
                if (node.bins && --n_kept < 0) node.bins.reset();
        }
    }

    void finish_in_floats() {
        team_.parallel_for(static_cast<int64_t>(floats_.size()), [&](int64_t at, int) {
            FloatSubtree& subtree = floats_[at];
            GrowParams params = params_;
            params.fixed_sums = false;
            params.n_threads = 1;
            params.seed = subtree.seed;
            if (params.max_depth >= 0) params.max_depth -= subtree.depth;
            const double weight = nodes_[subtree.id].weight;
            // It is meant per unit of the weight of the whole tree.
            if (weight > 0.0) params.min_impurity_decrease *= nodes_[0].weight / weight;
            subtree.tree =
                grow_tree(binned_, channels_, buffers_->order.data() + subtree.range.begin,
                          subtree.range.size(), params, interrupt_);
            std::copy(subtree.tree.rows.begin(), subtree.tree.rows.end(),
                      buffers_->order.begin() + subtree.range.begin);
        });
    }

    GrownTree assemble() {
        GrownTree tree;
        tree.category_words = std::move(words_);
        append_in_preorder(tree, nodes_, 0, [&](int32_t id) { return append_floats(tree, id); });
        tree.rows.assign(buffers_->order.begin(), buffers_->order.end());
        tree.work += histograms_.work;
        tree.finder_counts.add(finders_);
        tree.plan = SearchPlan(
            facts_of(binned_, channels_, static_cast<int64_t>(tree.rows.size()), false), params_);
        return tree;
    }
    bool append_floats(GrownTree& tree, int32_t id) const {
        const auto found = std::find_if(floats_.begin(), floats_.end(),
                                        [&](const FloatSubtree& s) { return s.id == id; });
        if (found == floats_.end()) return false;
        const GrownTree& part = found->tree;
        const int32_t first = static_cast<int32_t>(tree.nodes.size());
        const int64_t n_words = static_cast<int64_t>(tree.category_words.size());
        const int32_t begin = static_cast<int32_t>(found->range.begin);
        tree.category_words.insert(tree.category_words.end(), part.category_words.begin(),
                                   part.category_words.end());
        for (TreeNode node : part.nodes) {
            if (node.left >= 0) node.left += first, node.right += first;
            if (node.category_offset >= 0) node.category_offset += n_words;
            node.begin += begin;
            node.end += begin;
            tree.nodes.push_back(node);
        }
        tree.work += part.work;
        tree.finder_counts.add(part.finder_counts);
        return true;
    }

    const BinnedView& binned_;
    const ChannelsView& channels_;
    const GrowParams params_;
    Interrupt& interrupt_;
    Reducer* const reducer_;
    FixedStore own_store_;
    bool are_all_rows_ = false;  // in their order
    ThreadTeam team_;
    const ByteRows& codes_;
    std::unique_ptr<FixedBuffers> buffers_;
    const FixedRows& rows_;
    FixedHistograms histograms_;
    FixedPartition partition_;
    std::vector<FixedScan> scans_;  // one per thread
    std::vector<TreeNode> nodes_;
    std::vector<uint32_t> words_;
    std::vector<FloatSubtree> floats_;
    StoppingRules rules_;
    FinderCounts finders_;
    const bool draws_, has_categories_;
};

}  // namespace

bool can_sum_fixed(const BinnedView& binned, const ChannelsView& channels) {
    return can_be_bytes(binned) && !channels.is_sparse();
}

GrownTree grow_fixed_tree(const BinnedView& binned, const ChannelsView& channels,
                          const int32_t* rows, int64_t n_rows, const GrowParams& params,
                          Interrupt& interrupt, Reducer* reducer) {
    return FixedGrower(binned, channels, rows, n_rows, params, interrupt, reducer).grow();
}

}  // namespace polyleaf
