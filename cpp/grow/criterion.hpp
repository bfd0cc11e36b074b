// The criterion, and the gain of a split. Kernels repeat parts of these formulas in vectors and
// cite this file.
//
// A set of rows has sums G_k of its channels and H_k of their weights. Its score is
//     sum over channels k of G_k^2 / (H_k + lambda),
// and the gain of parting rows A from the others, B, is
//     score(A) + score(B) - score(A and B).
// Three forms of it are in use:
// - One weight per row, so that H_k = w for all k: |A|^2 / (a + lambda) + |B|^2 / (b + lambda) -
//   base, where |B|^2 = |G - A|^2 = |G|^2 - 2 G.A + |A|^2. Only A is added up.
// - The same without lambda, of channels that are centred (G = 0, B = -A): |A|^2 (1/a + 1/b).
// - One weight per row and channel: the sum over channels as it stands.
// A side of next to no weight has no gain: it would be rounding errors, magnified.
#pragma once

#include <algorithm>
#include <limits>

namespace polyleaf {

// Of rows with one weight each. norm: |G|^2.
inline double score(double norm, double weight, double l2_regularization) {
    return norm / (weight + l2_regularization);
}

// Of one channel with a weight of its own; 0 if that is no more than `least_weight`.
inline double channel_score(double gradient, double weight, double l2_regularization,
                            double least_weight) {
    if (!(weight > least_weight)) return 0.0;
    return score(gradient * gradient, weight, l2_regularization);
}

inline double gain_of_scores(double side, double other, double both) {
    return side + other - both;
}

// What |A|^2 of centred channels is multiplied by. Two ways to round the same number: with the
// inverses of both weights (Number is float where they come from a table), or with one division.
template <typename Number>
Number factor_of_inverses(Number inverse, Number other_inverse) {
    return inverse + other_inverse;
}
inline double factor_of_total(double total, double weight, double other) {
    return total / (weight * other);
}

// The first form, of one node.
struct NodeCriterion {
    double l2_regularization = 0.0;
    double weight = 0.0;      // of the node
    double norm = 0.0;        // |G|^2
    double base_score = 0.0;  // of the node, before it is split
    double dust_share = 0.0;  // of the node's weight: no more than this is nothing

    bool is_dust(double side_weight, double other) const {
        return std::min(side_weight, other) <= dust_share * weight;
    }
    // side_norm: |A|^2; product: G.A. NaN, which beats nothing, if a side has no weight.
    double gain(double side_norm, double product, double side_weight) const {
        const double other = weight - side_weight;
        if (is_dust(side_weight, other)) return std::numeric_limits<double>::quiet_NaN();
        return gain_of_scores(score(side_norm, side_weight, l2_regularization),
                              score(norm - 2.0 * product + side_norm, other, l2_regularization),
                              base_score);
    }
};

}  // namespace polyleaf
