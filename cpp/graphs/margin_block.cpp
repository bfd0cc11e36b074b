#include "graphs/margin_block.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "graphs/edge_tables.hpp"
#include "graphs/inference.hpp"
#include "graphs/tree_labelling.hpp"

namespace polyleaf {

namespace {

// A smaller share of the mass is what rounding left of none.
constexpr double kNoMass = 1e-12;

double score_of(const LabelGraph& graph, const double* table, const int32_t* labels) {
    double score = 0.0;
    for (int64_t e = 0; e < graph.n_edges(); ++e) score += table[table_index(graph, e, labels)];
    return score;
}

// In four sums, which are added up side by side.
double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sums[4] = {0.0, 0.0, 0.0, 0.0};
    size_t k = 0;
    for (; k + 4 <= a.size(); k += 4)
        for (size_t lane = 0; lane < 4; ++lane) sums[lane] += a[k + lane] * b[k + lane];
    for (; k < a.size(); ++k) sums[0] += a[k] * b[k];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The state of one visit, in tables of all edge labels.
class Visit {
  public:
    Visit(const LabelGraph& graph, const MarginLoss& loss)
        : graph_(graph),
          loss_(loss),
          search_(graph),
          inference_(graph),
          table_loss_(graph.table_size()),
          marginals_(graph.table_size()),
          gradient_(graph.table_size()),
          reduced_(graph.n_parameters()),
          worst_(graph.n_nodes()),
          least_(graph.n_nodes()),
          move_of_(graph.n_nodes()) {}

    void start(const MarginBlock& block, int64_t row);
    void climb(double self_kernel, const StepRule& rule, MarginSums& sums);
    void write(double* coefficients) const;

  private:
    // A step in one part of a forest.
    struct Move {
        double n_edges = 0.0, slope = 0.0;
        double mass = std::numeric_limits<double>::infinity();  // the most, then what is moved
    };
    struct Change {        // of an edge
        int64_t to, from;  // into the tables
        int32_t move;      // into moves_
    };

    void fill_loss(const double* label_cost);
    template <int kStates>
    void fill_loss_of(const double* label_cost);
    double find_worst(int64_t max_sweeps);
    // How far the block is from its optimum at most: the value of all mass on the worst labelling,
    // with the score `worst`, less that of the mass where it is.
    double gap(double worst) const { return mass_ * worst - dot(marginals_, gradient_); }
    double pairwise_step(double self_kernel);
    double step_to_worst(double self_kernel);

    const LabelGraph& graph_;
    const MarginLoss loss_;
    TreeLabelling search_;
    Inference inference_;
    std::vector<double> table_loss_, marginals_, gradient_, reduced_;
    std::vector<int32_t> worst_, least_;
    std::vector<Move> moves_;
    std::vector<Change> changes_;
    std::vector<int32_t> move_of_;  // per node where the two labellings differ
    const int32_t* labels_ = nullptr;
    double mass_ = 0.0, quadratic_ = 0.0;
};

void Visit::start(const MarginBlock& block, int64_t row) {
    const int64_t n_nodes = graph_.n_nodes(), n_parameters = graph_.n_parameters();
    labels_ = block.labels + row * n_nodes;
    mass_ = block.mass[row];
    fill_loss(block.label_cost ? block.label_cost + row * n_nodes : nullptr);
    expand_tables(graph_, block.coefficients + row * n_parameters, marginals_.data());
    expand_tables(graph_, block.scores + row * n_parameters, gradient_.data());
    quadratic_ = dot(marginals_, gradient_);
    for (size_t k = 0; k < gradient_.size(); ++k) {
        gradient_[k] += table_loss_[k];
        marginals_[k] = -marginals_[k];
    }
    for (int64_t e = 0; e < graph_.n_edges(); ++e)
        marginals_[table_index(graph_, e, labels_)] += mass_;
}

void Visit::fill_loss(const double* label_cost) {
    if (graph_.is_binary)
        fill_loss_of<2>(label_cost);
    else
        fill_loss_of<0>(label_cost);
}

// kStates: of all nodes, or 0 for any.
template <int kStates>
void Visit::fill_loss_of(const double* label_cost) {
    double* table = table_loss_.data();
    for (int64_t e = 0; e < graph_.n_edges(); ++e) {
        const int32_t a = graph_.first[e], b = graph_.second[e];
        const int32_t n_a = kStates ? kStates : graph_.n_states[a];
        const int32_t n_b = kStates ? kStates : graph_.n_states[b];
        const double cost_a = label_cost ? label_cost[a] : 1.0;
        const double cost_b = label_cost ? label_cost[b] : 1.0;
        for (int32_t u = 0; u < n_a; ++u)
            for (int32_t v = 0; v < n_b; ++v) {
                const double wrong_a = u == labels_[a] ? 0.0 : cost_a;
                const double wrong_b = v == labels_[b] ? 0.0 : cost_b;
                *table++ = loss_.edge_cost * std::max(wrong_a, wrong_b) +
                           loss_.node_cost[a] * wrong_a + loss_.node_cost[b] * wrong_b;
            }
    }
}

// Finds the labelling that violates the margin most, and returns its score.
double Visit::find_worst(int64_t max_sweeps) {
    if (graph_.is_forest) return search_.best(gradient_.data(), labels_, worst_.data());
    reduce_tables(graph_, gradient_.data(), reduced_.data());
    inference_.find(reduced_.data(), max_sweeps, worst_.data());
    const double found = score_of(graph_, gradient_.data(), worst_.data());
    const double given = score_of(graph_, gradient_.data(), labels_);
    // Approximate, so that the true labelling can be the better one.
    if (found >= given) return found;
    std::copy_n(labels_, worst_.size(), worst_.begin());
    return given;
}

void Visit::climb(double self_kernel, const StepRule& rule, MarginSums& sums) {
    const double worst = find_worst(rule.max_sweeps);
    const double start_gap = gap(worst);
    sums.quadratic += quadratic_;
    sums.slack += mass_ * (worst - score_of(graph_, gradient_.data(), labels_));
    sums.loss += dot(marginals_, table_loss_);
    double left = start_gap;
    for (int step = 0; step < rule.max_steps; ++step) {
        if (left <= std::max(rule.enough_gap, rule.gap_share * start_gap)) break;
        const double gained =
            graph_.is_forest ? pairwise_step(self_kernel) : step_to_worst(self_kernel);
        if (!(gained > 0.0)) break;
        sums.ascent += gained;
        if (step + 1 == rule.max_steps) break;
        left = gap(find_worst(rule.max_sweeps));
    }
}

// Moves mass from the least violating labelling that holds some to the worst one. Where both give
// the same label, a forest falls apart: each part in which they differ has marginals and a line
// search of its own.
double Visit::pairwise_step(double self_kernel) {
    search_.least_in_support(gradient_.data(), marginals_.data(), kNoMass * mass_, labels_,
                             least_.data());
    moves_.clear();
    for (int32_t node : graph_.order) {
        if (worst_[node] == least_[node]) continue;
        const int32_t parent = graph_.parent[node];
        const bool is_joined = parent >= 0 && worst_[parent] != least_[parent];
        move_of_[node] = is_joined ? move_of_[parent] : static_cast<int32_t>(moves_.size());
        if (!is_joined) moves_.push_back(Move());
    }
    if (moves_.empty()) return 0.0;
    changes_.clear();
    for (int64_t e = 0; e < graph_.n_edges(); ++e) {
        const int32_t a = graph_.first[e], b = graph_.second[e];
        if (worst_[a] == least_[a] && worst_[b] == least_[b]) continue;
        changes_.push_back({table_index(graph_, e, worst_.data()),
                            table_index(graph_, e, least_.data()),
                            move_of_[worst_[a] == least_[a] ? b : a]});
    }
    for (const Change& change : changes_) {
        Move& move = moves_[change.move];
        move.n_edges += 1.0;
        move.slope += gradient_[change.to] - gradient_[change.from];
        move.mass = std::min(move.mass, marginals_[change.from]);
    }
    double gained = 0.0;
    for (Move& move : moves_) {
        const double curvature = 2.0 * move.n_edges * self_kernel;
        if (!(move.slope > 0.0)) move.mass = 0.0;
        if (move.slope < move.mass * curvature) move.mass = move.slope / curvature;
        gained += move.mass * (move.slope - 0.5 * move.mass * curvature);
    }
    for (const Change& change : changes_) {
        const double moved = moves_[change.move].mass;
        marginals_[change.to] += moved;
        marginals_[change.from] -= moved;
        gradient_[change.to] -= moved * self_kernel;
        gradient_[change.from] += moved * self_kernel;
    }
    return gained;
}

// Moves a share of all mass to the worst labelling.
double Visit::step_to_worst(double self_kernel) {
    double slope = 0.0, square = 0.0;
    std::vector<double>& direction = table_loss_;  // no longer needed once the sums are taken
    for (size_t k = 0; k < direction.size(); ++k) direction[k] = -marginals_[k];
    for (int64_t e = 0; e < graph_.n_edges(); ++e)
        direction[table_index(graph_, e, worst_.data())] += mass_;
    for (size_t k = 0; k < direction.size(); ++k) {
        slope += direction[k] * gradient_[k];
        square += direction[k] * direction[k];
    }
    if (!(slope > 0.0)) return 0.0;
    const double curvature = square * self_kernel;
    const double share = slope < curvature ? slope / curvature : 1.0;
    for (size_t k = 0; k < direction.size(); ++k) {
        marginals_[k] += share * direction[k];
        gradient_[k] -= share * self_kernel * direction[k];
    }
    return share * (slope - 0.5 * share * curvature);
}

void Visit::write(double* coefficients) const {
    marginal_parameters(graph_, marginals_.data(), coefficients);
    for (int64_t k = 0; k < graph_.n_parameters(); ++k) coefficients[k] = -coefficients[k];
    for (int64_t j = 0; j < graph_.n_nodes(); ++j)
        if (labels_[j] > 0) coefficients[graph_.node_offset[j] + labels_[j] - 1] += mass_;
    for (int64_t e = 0; e < graph_.n_edges(); ++e) {
        const int32_t u = labels_[graph_.first[e]], v = labels_[graph_.second[e]];
        const int64_t width = graph_.n_states[graph_.second[e]] - 1;
        if (u > 0 && v > 0) coefficients[graph_.edge_offset[e] + (u - 1) * width + v - 1] += mass_;
    }
}

}  // namespace

MarginSums visit_block(const LabelGraph& graph, const MarginLoss& loss, const MarginBlock& block,
                       const StepRule& rule, Interrupt& interrupt) {
    MarginSums sums;
    Visit visit(graph, loss);
    const int64_t n_parameters = graph.n_parameters();
    std::vector<double> change(n_parameters);
    for (int64_t row = 0; row < block.n_rows; ++row) {
        interrupt.check();
        if (!(block.mass[row] > 0.0)) continue;
        visit.start(block, row);
        const double* kernel = block.gram + row * block.n_rows;
        const double before = sums.ascent;
        visit.climb(kernel[row], rule, sums);
        if (sums.ascent == before) continue;
        double* own = block.coefficients + row * n_parameters;
        std::copy_n(own, n_parameters, change.begin());
        visit.write(own);
        for (int64_t k = 0; k < n_parameters; ++k) change[k] = own[k] - change[k];
        for (int64_t later = row + 1; later < block.n_rows; ++later) {
            double* scores = block.scores + later * n_parameters;
            const double weight = kernel[later];
            for (int64_t k = 0; k < n_parameters; ++k) scores[k] += weight * change[k];
        }
    }
    return sums;
}

}  // namespace polyleaf
