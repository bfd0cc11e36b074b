#include "predict/leaf_rows.hpp"

#include <algorithm>
#include <vector>

namespace polyleaf {

namespace {

// Query rows that a thread takes at a time.
constexpr int64_t kQueriesPerBlock = 16;

// The weights of the training rows behind one query. Trees agree on many of its neighbours: their
// weights are added up first, so that the outputs of each are visited once.
class Neighbours {
  public:
    explicit Neighbours(int64_t n_train) : weight_(n_train, 0.0), is_listed_(n_train, 0) {}

    // visit(training row, weight) for each neighbour, in the order in which trees name them.
    template <typename Visit>
    void visit(const LeafRowsView& view, const int32_t* leaves, int64_t n_trees, Visit&& visit) {
        for (int64_t tree = 0; tree < n_trees; ++tree) {
            const int64_t end = view.leaf_offsets[leaves[tree] + 1];
            for (int64_t e = view.leaf_offsets[leaves[tree]]; e < end; ++e) {
                const int32_t row = view.leaf_rows[e];
                weight_[row] += view.entry_weights[e];
                if (is_listed_[row]) continue;
                is_listed_[row] = 1;
                listed_.push_back(row);
            }
        }
        for (int32_t row : listed_) {
            visit(row, weight_[row]);
            weight_[row] = 0.0;
            is_listed_[row] = 0;
        }
        listed_.clear();
    }

  private:
    std::vector<double> weight_;
    std::vector<uint8_t> is_listed_;
    std::vector<int32_t> listed_;
};

// body(query, scratch) for every query; a thread makes its scratch when it takes its first block.
template <typename Scratch, typename Body>
void for_each_query(const LeafRowsView& view, int64_t n_rows, ThreadTeam& team, Body&& body) {
    std::vector<std::vector<Scratch>> scratch(team.size());
    const int64_t n_blocks = (n_rows + kQueriesPerBlock - 1) / kQueriesPerBlock;
    team.parallel_for(n_blocks, [&](int64_t block, int thread) {
        if (scratch[thread].empty()) scratch[thread].emplace_back(view);
        const int64_t begin = block * kQueriesPerBlock;
        const int64_t end = std::min(n_rows, begin + kQueriesPerBlock);
        for (int64_t query = begin; query < end; ++query) body(query, scratch[thread][0]);
    });
}

struct DenseScratch {
    explicit DenseScratch(const LeafRowsView& view) : neighbours(view.n_train) {}
    Neighbours neighbours;
};

struct TopScratch {
    explicit TopScratch(const LeafRowsView& view)
        : neighbours(view.n_train), sums(view.n_outputs, 0.0), is_listed(view.n_outputs, 0) {}
    Neighbours neighbours;
    std::vector<double> sums;
    std::vector<uint8_t> is_listed;
    std::vector<int32_t> listed;
};

// Adds up the outputs of one query into `sums` and lists those that were touched.
void add_outputs(const LeafRowsView& view, const int32_t* leaves, int64_t n_trees,
                 TopScratch& scratch) {
    scratch.listed.clear();
    scratch.neighbours.visit(view, leaves, n_trees, [&](int32_t row, double weight) {
        for (int64_t e = view.target_indptr[row]; e < view.target_indptr[row + 1]; ++e) {
            const int32_t output = view.target_indices[e];
            scratch.sums[output] += weight * view.target_data[e];
            if (scratch.is_listed[output]) continue;
            scratch.is_listed[output] = 1;
            scratch.listed.push_back(output);
        }
    });
}

}  // namespace

template <typename T>
void predict_rows_dense(const LeafRowsView& view, const QueryLeaves& queries, T* sums,
                        ThreadTeam& team) {
    for_each_query<DenseScratch>(
        view, queries.n_rows, team, [&](int64_t query, DenseScratch& scratch) {
            T* const out = sums + query * view.n_outputs;
            std::fill_n(out, view.n_outputs, T(0));
            scratch.neighbours.visit(view, queries.leaves + query * queries.n_trees,
                                     queries.n_trees, [&](int32_t row, double weight) {
                                         for (int64_t e = view.target_indptr[row];
                                              e < view.target_indptr[row + 1]; ++e)
                                             out[view.target_indices[e]] +=
                                                 static_cast<T>(weight * view.target_data[e]);
                                     });
        });
}

template void predict_rows_dense(const LeafRowsView&, const QueryLeaves&, float*, ThreadTeam&);
template void predict_rows_dense(const LeafRowsView&, const QueryLeaves&, double*, ThreadTeam&);

void predict_rows_topk(const LeafRowsView& view, const QueryLeaves& queries, int64_t k,
                       int32_t* outputs, double* sums, ThreadTeam& team) {
    for_each_query<TopScratch>(
        view, queries.n_rows, team, [&](int64_t query, TopScratch& scratch) {
            add_outputs(view, queries.leaves + query * queries.n_trees, queries.n_trees, scratch);
            std::vector<int32_t>& listed = scratch.listed;
            auto is_positive = [&](int32_t output) { return scratch.sums[output] > 0.0; };
            auto is_before = [&](int32_t a, int32_t b) {
                return scratch.sums[a] != scratch.sums[b] ? scratch.sums[a] > scratch.sums[b]
                                                          : a < b;
            };
            const auto end = std::partition(listed.begin(), listed.end(), is_positive);
            const int64_t n_best = std::min<int64_t>(k, end - listed.begin());
            std::partial_sort(listed.begin(), listed.begin() + n_best, end, is_before);
            for (int64_t i = 0; i < k; ++i) {
                outputs[query * k + i] = i < n_best ? listed[i] : -1;
                sums[query * k + i] = i < n_best ? scratch.sums[listed[i]] : 0.0;
            }
            for (int32_t output : listed) scratch.sums[output] = scratch.is_listed[output] = 0;
        });
}

}  // namespace polyleaf
