// The best labelling of each row, all its max-marginals, and a proof where there is one.
//
//     forest               message passing, exact
//     few labellings       all of them, exact
//     other graphs         tree-reweighted message passing with a local search from every
//     labelling
//                          it reads off, until the bound is reached; then, without a proof, local
//                          searches from what loopy max-product finds. Max-marginals are found by
//                          a local search with each state held.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/parallel.hpp"
#include "graphs/all_labellings.hpp"
#include "graphs/label_graph.hpp"
#include "graphs/local_search.hpp"
#include "graphs/max_product.hpp"
#include "graphs/tree_reweighted.hpp"

namespace polyleaf {

// Whether inference on the graph is exact.
bool is_exact(const LabelGraph& graph);

// Inference of one row at a time.
class Inference {
  public:
    explicit Inference(const LabelGraph& graph);

    // Without bounds and max-marginals, as training takes it: OUT labels.
    void find(const double* potentials, int64_t max_sweeps, int32_t* labels);
    // OUT labels, marginals; returns the score. OUT bound: no labelling scores more; equal to the
    // score where that is proven to be the best, up to rounding.
    double solve(const double* potentials, int64_t max_sweeps, int32_t* labels, double* marginals,
                 double& bound);
    // As files of the first format were labelled in graphs with cycles: messages start at 0
    // relative to the first states, and max-marginals are beliefs. Proves nothing there.
    double solve_loopy(const double* potentials, int64_t max_sweeps, int32_t* labels,
                       double* marginals, double& bound);
    // Goes on from labels, IN and OUT, with a bound that is known.
    double improve(const double* potentials, int32_t* labels, double* marginals, double& bound);

  private:
    bool reaches(double bound) const;
    void reset(const double* potentials);
    void pass_messages(const double* potentials, int64_t max_sweeps, bool is_centred);
    double finish(int32_t* labels, double* marginals, double& bound);

    const LabelGraph& graph_;
    MaxProduct max_product_;
    std::unique_ptr<AllLabellings> all_;
    std::unique_ptr<TreeReweighted> reweighted_;
    std::unique_ptr<LocalSearch> search_;
    std::vector<int32_t> start_;
    double rounding_ = 0.0;
};

// How rows are labelled; see Inference.
enum class LabelWay { kSolve, kImprove, kLoopy };

// Where the results of rows go.
struct LabelledRows {
    int32_t* labels = nullptr;        // (n_rows, n_nodes)
    double* max_marginals = nullptr;  // (n_rows, n_node_parameters)
    double* scores = nullptr;         // (n_rows,)
    double* bounds = nullptr;         // (n_rows,)
};

// Labels every row; labels and bounds are IN, too, where they are improved. potentials: (n_rows,
// n_parameters).
void infer_rows(const LabelGraph& graph, const double* potentials, int64_t n_rows,
                int64_t max_sweeps, LabelWay way, const LabelledRows& rows, ThreadTeam& team);

}  // namespace polyleaf
