#include "graphs/local_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graphs/pair_scores.hpp"

namespace polyleaf {

namespace {

// A search that has not ended by then goes on with what it has.
constexpr int kMostRounds = 100;
// Most searches from a better labelling that holding a state has found.
constexpr int kMostRestarts = 10;
// A gain below this share of the sum of all numbers is rounding.
constexpr double kRounding = 1e-13;

}  // namespace

LocalSearch::LocalSearch(const LabelGraph& graph)
    : graph_(graph), labels_(graph.n_nodes()), kept_(graph.n_nodes()) {
    state_offset_.assign(1, 0);
    for (int32_t n : graph.n_states) state_offset_.push_back(state_offset_.back() + n);
    scores_.resize(state_offset_.back());
    start_scores_.resize(state_offset_.back());
    gains_.resize(state_offset_.back());
}

void LocalSearch::reset(const double* potentials) {
    potentials_ = potentials;
    has_kept_ = false;
    double size = 0.0;
    for (int64_t k = 0; k < graph_.n_parameters(); ++k) size += std::abs(potentials[k]);
    least_gain_ = kRounding * size;
}

void LocalSearch::try_from(const int32_t* labels) {
    start(labels);
    climb(-1);
    const double score = labelling_score(graph_, potentials_, labels_.data());
    if (has_kept_ && !(score > kept_score_ + least_gain_)) return;
    kept_ = labels_;
    kept_score_ = score;
    has_kept_ = true;
}

void LocalSearch::start(const int32_t* labels) {
    std::copy_n(labels, labels_.size(), labels_.begin());
    for (int32_t node = 0; node < graph_.n_nodes(); ++node) {
        double* own = scores_.data() + state_offset_[node];
        const double* unary = potentials_ + graph_.node_offset[node];
        own[0] = 0.0;
        for (int32_t u = 1; u < graph_.n_states[node]; ++u) own[u] = unary[u - 1];
        for (int64_t k = graph_.neighbour_offset[node]; k < graph_.neighbour_offset[node + 1];
             ++k) {
            const LabelGraph::Neighbour& other = graph_.neighbours[k];
            if (labels[other.node] == 0) continue;
            const EdgeView pair(graph_, potentials_, node, other.edge);
            for (int32_t u = 1; u < graph_.n_states[node]; ++u)
                own[u] += pair(u, labels[other.node]);
        }
    }
}

void LocalSearch::scores_around(const int32_t* labels, int32_t node, double* scores) {
    start(labels);
    std::copy_n(scores_.data() + state_offset_[node] + 1, graph_.n_states[node] - 1, scores);
}

void LocalSearch::change(int32_t node, int32_t state) {
    const int32_t before = labels_[node];
    labels_[node] = state;
    for (int64_t k = graph_.neighbour_offset[node]; k < graph_.neighbour_offset[node + 1]; ++k) {
        const LabelGraph::Neighbour& other = graph_.neighbours[k];
        const EdgeView pair(graph_, potentials_, node, other.edge);
        double* scores = scores_.data() + state_offset_[other.node];
        for (int32_t v = 1; v < graph_.n_states[other.node]; ++v)
            scores[v] += pair(state, v) - pair(before, v);
    }
}

// Changes one label at a time, but for the held one, while that raises the score; returns by how
// much.
double LocalSearch::climb(int32_t held) {
    double gained = 0.0;
    bool is_better = true;
    for (int round = 0; is_better && round < kMostRounds; ++round) {
        is_better = false;
        for (int32_t node : graph_.order) {
            if (node == held) continue;
            const double* own = scores_.data() + state_offset_[node];
            int32_t best = labels_[node];
            for (int32_t u = 0; u < graph_.n_states[node]; ++u)
                if (own[u] > own[best]) best = u;
            const double gain = own[best] - own[labels_[node]];
            if (!(gain > least_gain_)) continue;
            gained += gain;
            change(node, best);
            is_better = true;
        }
    }
    return gained;
}

void LocalSearch::max_marginals(double* marginals) {
    for (int restart = 0; !hold_each(gains_.data()) && restart < kMostRestarts; ++restart) {
    }
    for (int64_t node = 0; node < graph_.n_nodes(); ++node) {
        const double* gains = gains_.data() + state_offset_[node];
        double* own = marginals + graph_.node_offset[node];
        // The kept state is ahead of the first one, if only just: scores never contradict labels.
        const double first =
            kept_[node] > 0 ? std::min(gains[0], -std::numeric_limits<double>::min()) : 0.0;
        for (int32_t u = 1; u < graph_.n_states[node]; ++u)
            own[u - 1] = u == kept_[node] ? -first : std::min(gains[u], 0.0) - first;
    }
}

// Returns false if a better labelling was found, which is then kept.
bool LocalSearch::hold_each(double* gains) {
    start(kept_.data());
    start_scores_ = scores_;
    std::fill(gains_.begin(), gains_.end(), -std::numeric_limits<double>::infinity());
    for (int32_t node = 0; node < graph_.n_nodes(); ++node) {
        gains[state_offset_[node] + kept_[node]] = 0.0;
        for (int32_t u = 0; u < graph_.n_states[node]; ++u) {
            if (u == kept_[node]) continue;
            const double* own = start_scores_.data() + state_offset_[node];
            double gain = own[u] - own[kept_[node]];
            change(node, u);
            gain += climb(node);
            if (gain > 2.0 * least_gain_) {
                const double before = kept_score_;
                const std::vector<int32_t> found = labels_;
                try_from(found.data());
                if (kept_score_ > before) return false;
                labels_ = found;
                gain = 0.0;
            }
            // What was found holds for every label that it changes.
            for (int32_t other = 0; other < graph_.n_nodes(); ++other) {
                double& known = gains[state_offset_[other] + labels_[other]];
                known = std::max(known, gain);
            }
            std::copy(start_scores_.begin(), start_scores_.end(), scores_.begin());
            labels_ = kept_;
        }
    }
    return true;
}

}  // namespace polyleaf
