#include "explain/tables.hpp"

#include <algorithm>

namespace polyleaf {

namespace {

constexpr int32_t kMostPatternBits = 12;
constexpr int64_t kMostTableFloats = int64_t{1} << 19;

PatternTables make_room(const PathTree& tree, const uint8_t* is_wanted) {
    PatternTables tables;
    tables.offsets.resize(tree.n_leaves);
    int64_t total = 0;
    for (int64_t leaf = 0; leaf < tree.n_leaves; ++leaf) {
        tables.offsets[leaf] = total;
        const int64_t m = tree.n_features_of(leaf);
        if (is_wanted[tree.leaf_nodes[leaf]]) total += (int64_t{1} << m) * m;
    }
    tables.weights.resize(total);
    return tables;
}

// The factor of each feature at each point, and its inverse, for a row that fails or passes.
struct Factors {
    std::vector<double> factor, inverse;  // [feature][0 or 1][point]
    Factors(const std::vector<double>& shares, const Quadrature& quadrature) {
        for (double share : shares)
            for (int passes = 0; passes < 2; ++passes)
                for (double t : quadrature.points) {
                    factor.push_back(t * passes + (1.0 - t) * share);
                    inverse.push_back(factor.back() > 0.0 ? 1.0 / factor.back() : 0.0);
                }
    }
};

void fill_leaf(const std::vector<double>& shares, const Quadrature& quadrature,
               std::vector<double>& products, float* weights) {
    const int64_t m = static_cast<int64_t>(shares.size());
    const int64_t n = static_cast<int64_t>(quadrature.points.size());
    const Factors factors(shares, quadrature);
    products.resize(n << m);
    std::copy(quadrature.weights.begin(), quadrature.weights.end(), products.begin());
    for (int64_t j = 0; j < m; ++j) {  // patterns of the first j features are there
        const double* const fails = factors.factor.data() + 2 * j * n;
        const double* const passes = fails + n;
        for (int64_t s = int64_t{1} << j; s-- > 0;)
            for (int64_t k = 0; k < n; ++k) {
                const double product = products[s * n + k];
                products[(s | int64_t{1} << j) * n + k] = product * passes[k];
                products[s * n + k] = product * fails[k];
            }
    }
    for (int64_t s = 0; s < int64_t{1} << m; ++s)
        for (int64_t j = 0; j < m; ++j) {
            const int64_t passes = s >> j & 1;
            const double* const inverse = factors.inverse.data() + (2 * j + passes) * n;
            double sum = 0.0;
            for (int64_t k = 0; k < n; ++k) sum += products[s * n + k] * inverse[k];
            weights[s * m + j] = static_cast<float>((passes - shares[j]) * sum);
        }
}

// Orders in which a feature joins after exactly a of A others that help it, and before the rest:
// a! b! / (a + b + 1)!, a others having joined and b not.
std::vector<double> order_shares(int64_t m) {
    std::vector<double> shares(m * m, 0.0);
    for (int64_t a = 0; a < m; ++a)
        for (int64_t b = 0; a + b < m; ++b)
            shares[a * m + b] =
                std::exp(std::lgamma(a + 1.0) + std::lgamma(b + 1.0) - std::lgamma(a + b + 2.0));
    return shares;
}

// v(S) of one background row is 1 if S holds every feature that only the row passes (A) and none
// that only the background passes (B), and if each feature is passed by one of the two.
void fill_background_leaf(const std::vector<int64_t>& counts, int64_t m, int64_t n_background,
                          float* weights) {
    const std::vector<double> shares = order_shares(m);
    const uint32_t all = (uint32_t{1} << m) - 1;
    std::vector<double> sums(m);
    for (uint32_t x = 0; x <= all; ++x) {
        std::fill(sums.begin(), sums.end(), 0.0);
        const uint32_t only_background = all & ~x;
        const int64_t n_against = __builtin_popcount(only_background);
        uint32_t both = x;  // every subset of x: what the background row passes, too
        while (true) {
            const double count = static_cast<double>(counts[only_background | both]);
            const int64_t n_for = __builtin_popcount(x & ~both);
            if (count > 0.0) {
                for (int64_t j = 0; j < m; ++j) {
                    const uint32_t bit = uint32_t{1} << j;
                    if (only_background & bit)
                        sums[j] -= count * shares[n_for * m + n_against - 1];
                    else if (!(both & bit))
                        sums[j] += count * shares[(n_for - 1) * m + n_against];
                }
            }
            if (both == 0) break;
            both = (both - 1) & x;
        }
        for (int64_t j = 0; j < m; ++j)
            weights[x * m + j] = static_cast<float>(sums[j] / static_cast<double>(n_background));
    }
}

}  // namespace

bool has_tables(const PathTree& tree) {
    if (tree.most_features > kMostPatternBits) return false;
    int64_t total = 0;
    for (int64_t leaf = 0; leaf < tree.n_leaves; ++leaf)
        total += tree.n_features_of(leaf) << tree.n_features_of(leaf);
    return total <= kMostTableFloats;
}

PatternTables path_tables(const PathTree& tree, const uint8_t* is_wanted) {
    PatternTables tables = make_room(tree, is_wanted);
    std::vector<Quadrature> quadratures;
    for (int m = 0; m <= tree.most_features; ++m)
        quadratures.push_back(gauss_points(std::max(1, (m + 1) / 2)));
    std::vector<double> shares, products;
    for (int64_t leaf = 0; leaf < tree.n_leaves; ++leaf) {
        const int64_t m = tree.n_features_of(leaf);
        if (!is_wanted[tree.leaf_nodes[leaf]] || m == 0) continue;
        shares.assign(m, 0.0);
        for (int32_t node = tree.leaf_nodes[leaf]; node > 0; node = tree.parent[node])
            if (tree.depth[node] == tree.path_depths[tree.path_offsets[leaf] + tree.slot[node]])
                shares[tree.slot[node]] = tree.share[node];
        fill_leaf(shares, quadratures[m], products, tables.weights.data() + tables.offsets[leaf]);
    }
    return tables;
}

PatternTables background_tables(const PathTree& tree, const uint8_t* is_wanted,
                                const std::vector<std::vector<int64_t>>& counts,
                                int64_t n_background) {
    PatternTables tables = make_room(tree, is_wanted);
    for (int64_t leaf = 0; leaf < tree.n_leaves; ++leaf) {
        const int64_t m = tree.n_features_of(leaf);
        if (!is_wanted[tree.leaf_nodes[leaf]] || m == 0) continue;
        fill_background_leaf(counts[leaf], m, n_background,
                             tables.weights.data() + tables.offsets[leaf]);
    }
    return tables;
}

}  // namespace polyleaf
