#include "graphs/inference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graphs/pair_scores.hpp"

namespace polyleaf {

namespace {

constexpr int64_t kRowsPerBlock = 64;
// A bound is reached if no more than this share of the sum of all numbers is left.
constexpr double kProven = 1e-10;
// Rounds of tree-reweighted message passing: so many that this many messages are sent, within
// limits.
constexpr int64_t kMessages = 200000, kLeastRounds = 4, kMostRounds = 60;
// Rounds end when this many in turn have lowered the bound by less than a share of what is left.
constexpr int kPatience = 3;
constexpr double kStalled = 0.01;

}  // namespace

bool is_exact(const LabelGraph& graph) {
    return graph.is_forest || AllLabellings::is_possible(graph);
}

Inference::Inference(const LabelGraph& graph)
    : graph_(graph), max_product_(graph), start_(graph.n_nodes()) {
    if (graph.is_forest) return;
    search_ = std::make_unique<LocalSearch>(graph);
    if (AllLabellings::is_possible(graph))
        all_ = std::make_unique<AllLabellings>(graph);
    else
        reweighted_ = std::make_unique<TreeReweighted>(graph);
}

void Inference::find(const double* potentials, int64_t max_sweeps, int32_t* labels) {
    if (all_) {
        all_->solve(potentials, labels);
        return;
    }
    if (graph_.is_forest) {
        max_product_.solve(potentials, max_sweeps, labels);
        return;
    }
    reset(potentials);
    pass_messages(potentials, max_sweeps, true);
    std::copy_n(search_->labels().begin(), graph_.n_nodes(), labels);
}

double Inference::solve(const double* potentials, int64_t max_sweeps, int32_t* labels,
                        double* marginals, double& bound) {
    if (all_) {
        bound = all_->solve(potentials, labels);
        all_->max_marginals(labels, marginals);
        return bound;
    }
    if (graph_.is_forest) {
        max_product_.solve(potentials, max_sweeps, labels);
        std::copy_n(max_product_.max_marginals(), graph_.n_node_parameters(), marginals);
        bound = labelling_score(graph_, potentials, labels);
        return bound;
    }
    reset(potentials);
    reweighted_->reset(potentials);
    bound = std::numeric_limits<double>::infinity();
    const int64_t n_rounds =
        std::clamp(kMessages / (2 * graph_.n_edges()), kLeastRounds, kMostRounds);
    int stalled = 0;
    for (int64_t round = 0; round < n_rounds && stalled < kPatience; ++round) {
        reweighted_->forward(start_.data());
        search_->try_from(start_.data());
        const double found = reweighted_->backward();
        const bool is_slow = bound - found < kStalled * (bound - search_->score());
        stalled = is_slow ? stalled + 1 : 0;
        bound = std::min(bound, found);
        if (reaches(bound)) break;
    }
    if (!reaches(bound)) pass_messages(potentials, max_sweeps, true);
    return finish(labels, marginals, bound);
}

double Inference::solve_loopy(const double* potentials, int64_t max_sweeps, int32_t* labels,
                              double* marginals, double& bound) {
    if (graph_.is_forest) return solve(potentials, max_sweeps, labels, marginals, bound);
    reset(potentials);
    pass_messages(potentials, max_sweeps, false);
    std::copy_n(search_->labels().begin(), graph_.n_nodes(), labels);
    std::copy_n(max_product_.max_marginals(), graph_.n_node_parameters(), marginals);
    // Where beliefs speak against the labelling, they give way to the scores around it.
    max_product_.believed(start_.data());
    for (int32_t node = 0; node < graph_.n_nodes(); ++node)
        if (start_[node] != labels[node])
            search_->scores_around(labels, node, marginals + graph_.node_offset[node]);
    bound = std::numeric_limits<double>::infinity();
    return search_->score();
}

double Inference::improve(const double* potentials, int32_t* labels, double* marginals,
                          double& bound) {
    if (!reweighted_) return solve(potentials, 1, labels, marginals, bound);
    reset(potentials);
    search_->try_from(labels);
    return finish(labels, marginals, bound);
}

void Inference::reset(const double* potentials) {
    search_->reset(potentials);
    rounding_ = 0.0;
    for (int64_t k = 0; k < graph_.n_parameters(); ++k) rounding_ += std::abs(potentials[k]);
    rounding_ *= kProven;
}

bool Inference::reaches(double bound) const { return bound - search_->score() <= rounding_; }

// Local searches from what loopy max-product finds: each node given those before it, and each by
// its belief alone.
void Inference::pass_messages(const double* potentials, int64_t max_sweeps, bool is_centred) {
    max_product_.solve(potentials, max_sweeps, start_.data(), is_centred);
    search_->try_from(start_.data());
    max_product_.believed(start_.data());
    search_->try_from(start_.data());
}

double Inference::finish(int32_t* labels, double* marginals, double& bound) {
    search_->max_marginals(marginals);
    std::copy_n(search_->labels().begin(), graph_.n_nodes(), labels);
    if (reaches(bound)) bound = search_->score();
    return search_->score();
}

void infer_rows(const LabelGraph& graph, const double* potentials, int64_t n_rows,
                int64_t max_sweeps, LabelWay way, const LabelledRows& rows, ThreadTeam& team) {
    std::vector<std::unique_ptr<Inference>> workers(team.size());
    for (auto& worker : workers) worker = std::make_unique<Inference>(graph);
    const int64_t n_blocks = (n_rows + kRowsPerBlock - 1) / kRowsPerBlock;
    const int64_t n_marginals = graph.n_node_parameters();
    team.parallel_for(n_blocks, [&](int64_t block, int thread) {
        Inference& worker = *workers[thread];
        const int64_t end = std::min(n_rows, (block + 1) * kRowsPerBlock);
        for (int64_t row = block * kRowsPerBlock; row < end; ++row) {
            team.interrupt().check();
            const double* own = potentials + row * graph.n_parameters();
            int32_t* labels = rows.labels + row * graph.n_nodes();
            double* marginals = rows.max_marginals + row * n_marginals;
            double& bound = rows.bounds[row];
            rows.scores[row] = way == LabelWay::kSolve
                                   ? worker.solve(own, max_sweeps, labels, marginals, bound)
                               : way == LabelWay::kImprove
                                   ? worker.improve(own, labels, marginals, bound)
                                   : worker.solve_loopy(own, max_sweeps, labels, marginals, bound);
        }
    });
}

}  // namespace polyleaf
