// Sums over rows: vectors, outer products, and products of Hessians with a vector.

template <int Vectors, bool Drawn>
void add_rows_of(const double* values, int64_t stride, const int32_t* positions, int64_t n,
                 const int32_t* draws, double* sums) {
    double8 sum[Vectors];
    for (int v = 0; v < Vectors; ++v) sum[v] = load8(sums + v * kSystems);
    for (int64_t i = 0; i < n; ++i) {
        const double* row = values + positions[i] * stride;
        const double8 times = all8(Drawn ? draws[positions[i]] : 1.0);
        for (int v = 0; v < Vectors; ++v)
            sum[v] += Drawn ? load8(row + v * kSystems) * times : load8(row + v * kSystems);
    }
    for (int v = 0; v < Vectors; ++v) store8(sums + v * kSystems, sum[v]);
}

// Sums that registers hold, in vectors.
#ifdef __AVX512F__
constexpr int kMostSums = 16;
#else
constexpr int kMostSums = 4;
#endif

// The last vectors of rows, which are at most `Vectors`.
template <int Vectors, bool Drawn>
void add_last_rows(const double* values, int64_t stride, int64_t n_vectors,
                   const int32_t* positions, int64_t n, const int32_t* draws, double* sums) {
    if constexpr (Vectors > 0) {
        if (n_vectors == Vectors)
            add_rows_of<Vectors, Drawn>(values, stride, positions, n, draws, sums);
        else
            add_last_rows<Vectors - 1, Drawn>(values, stride, n_vectors, positions, n, draws,
                                              sums);
    }
}

template <bool Drawn>
void add_all_rows(const double* values, int64_t width, const int32_t* positions, int64_t n,
                  const int32_t* draws, double* sums) {
    constexpr int64_t kMost = kMostSums * kSystems;
    int64_t at = 0;
    for (; at + kMost < width; at += kMost)
        add_rows_of<kMostSums, Drawn>(values + at, width, positions, n, draws, sums + at);
    add_last_rows<kMostSums, Drawn>(values + at, width, (width - at) / kSystems, positions, n,
                                    draws, sums + at);
}

void add_rows(const double* values, int64_t width, const int32_t* positions, int64_t n,
              const int32_t* draws, double* sums) {
    draws == nullptr ? add_all_rows<false>(values, width, positions, n, draws, sums)
                     : add_all_rows<true>(values, width, positions, n, draws, sums);
}

// Second derivatives of the logistic loss, given the first ones.
inline double8 logistic_curvature(double8 g) { return abs8(g) - g * g; }

template <int Vectors, bool Drawn>
void add_logistic_of(const double* values, int64_t block, const int32_t* positions, int64_t n,
                     const int32_t* draws, double* sums) {
    double8 g_sum[Vectors], h_sum[Vectors];
    for (int v = 0; v < Vectors; ++v) {
        g_sum[v] = load8(sums + v * kSystems);
        h_sum[v] = load8(sums + block + v * kSystems);
    }
    for (int64_t i = 0; i < n; ++i) {
        const double* row = values + positions[i] * block;
        const double8 times = all8(Drawn ? draws[positions[i]] : 1.0);
        for (int v = 0; v < Vectors; ++v) {
            const double8 g = load8(row + v * kSystems), h = logistic_curvature(g);
            g_sum[v] += Drawn ? g * times : g;
            h_sum[v] += Drawn ? h * times : h;
        }
    }
    for (int v = 0; v < Vectors; ++v) {
        store8(sums + v * kSystems, g_sum[v]);
        store8(sums + block + v * kSystems, h_sum[v]);
    }
}

// Gradients whose two sums registers hold, in vectors.
#ifdef __AVX512F__
constexpr int kMostLogistic = 8;
#else
constexpr int kMostLogistic = 3;
#endif

template <int Vectors, bool Drawn>
void add_last_logistic(const double* values, int64_t block, int64_t n_vectors,
                       const int32_t* positions, int64_t n, const int32_t* draws, double* sums) {
    if constexpr (Vectors > 0) {
        if (n_vectors == Vectors)
            add_logistic_of<Vectors, Drawn>(values, block, positions, n, draws, sums);
        else
            add_last_logistic<Vectors - 1, Drawn>(values, block, n_vectors, positions, n, draws,
                                                  sums);
    }
}

template <bool Drawn>
void add_all_logistic(const double* values, int64_t block, const int32_t* positions, int64_t n,
                      const int32_t* draws, double* sums) {
    constexpr int64_t kMost = kMostLogistic * kSystems;
    int64_t at = 0;
    for (; at + kMost < block; at += kMost)
        add_logistic_of<kMostLogistic, Drawn>(values + at, block, positions, n, draws, sums + at);
    add_last_logistic<kMostLogistic, Drawn>(values + at, block, (block - at) / kSystems, positions,
                                            n, draws, sums + at);
}

void add_logistic_rows(const double* values, int64_t block, const int32_t* positions, int64_t n,
                       const int32_t* draws, double* sums) {
    draws == nullptr ? add_all_logistic<false>(values, block, positions, n, draws, sums)
                     : add_all_logistic<true>(values, block, positions, n, draws, sums);
}

// Lines of tiles side by side whose sums are as many as registers hold.
#ifdef __AVX512F__
constexpr int kTileLines = 8, kMostTiles = 2;
#else
constexpr int kTileLines = 4, kMostTiles = 1;
#endif

template <int Tiles>
void add_tiles(const CoupledRows& rows, const int32_t* positions, int64_t n, int64_t line,
               int64_t column, double sign, double* tile) {
    constexpr int64_t kTile = kSystems * kSystems;
    const int64_t width = 2 * padded(rows.n_outputs);
    double8 sum[kTileLines][Tiles];
    for (int i = 0; i < kTileLines; ++i)
        for (int t = 0; t < Tiles; ++t) sum[i][t] = load8(tile + t * kTile + i * kSystems);
    for (int64_t r = 0; r < n; ++r) {
        const double* row = rows.values + positions[r] * width;
        const double8 scale = all8(sign * rows.scale[positions[r]]);
        double8 right[Tiles];
        for (int t = 0; t < Tiles; ++t) right[t] = load8(row + column + t * kSystems) * scale;
        for (int i = 0; i < kTileLines; ++i) {
            const double8 left = all8(row[line + i]);
            for (int t = 0; t < Tiles; ++t) sum[i][t] += left * right[t];
        }
    }
    for (int i = 0; i < kTileLines; ++i)
        for (int t = 0; t < Tiles; ++t) store8(tile + t * kTile + i * kSystems, sum[i][t]);
}

void add_triangle(const CoupledRows& rows, const int32_t* positions, int64_t n, int64_t begin,
                  int64_t end, double sign, double* triangle) {
    constexpr int64_t kRows = 64;  // that stay in the nearest cache from tile to tile
    for (int64_t first = 0; first < n; first += kRows) {
        const int64_t count = n - first < kRows ? n - first : kRows;
        for (int64_t i = begin; i < end; ++i)
            for (int part = 0; part < kSystems; part += kTileLines) {
                const int64_t line = i * kSystems + part;
                double* tiles = triangle + tile_offset(i, 0) + part * kSystems;
                int64_t j = 0;
                for (; j + kMostTiles <= i + 1; j += kMostTiles)
                    add_tiles<kMostTiles>(rows, positions + first, count, line, j * kSystems, sign,
                                          tiles + j * kSystems * kSystems);
                for (; j <= i; ++j)
                    add_tiles<1>(rows, positions + first, count, line, j * kSystems, sign,
                                 tiles + j * kSystems * kSystems);
            }
    }
}

inline double times_of(const CoupledRows& rows, int32_t position) {
    return rows.draws == nullptr ? 1.0 : rows.draws[position];
}

template <int Vectors>
void add_bounded_of(const CoupledRows& rows, const int32_t* positions, int64_t n, int64_t first,
                    double* sums) {
    const int64_t block = padded(rows.n_outputs);
    double8 sum[4][Vectors];
    for (int s = 0; s < 4; ++s)
        for (int v = 0; v < Vectors; ++v)
            sum[s][v] = load8(sums + s * block + first + v * kSystems);
    for (int64_t r = 0; r < n; ++r) {
        const double* row = rows.values + positions[r] * 2 * block + first;
        const double8 times = all8(times_of(rows, positions[r]));
        const double8 left = all8(rows.left[positions[r]]), scale = all8(rows.scale[positions[r]]);
        for (int v = 0; v < Vectors; ++v) {
            const double8 g = load8(row + v * kSystems);
            const double8 d = load8(row + block + v * kSystems) * times;
            sum[0][v] += g * times;
            sum[1][v] += d;
            sum[2][v] += d * left;
            sum[3][v] += d - scale * g * g;
        }
    }
    for (int s = 0; s < 4; ++s)
        for (int v = 0; v < Vectors; ++v)
            store8(sums + s * block + first + v * kSystems, sum[s][v]);
}

void add_bounded_rows(const CoupledRows& rows, const int32_t* positions, int64_t n, double* sums) {
    const int64_t block = padded(rows.n_outputs);
    int64_t first = 0;
#ifdef __AVX512F__
    for (; first + 4 * kSystems <= block; first += 4 * kSystems)
        add_bounded_of<4>(rows, positions, n, first, sums);
#endif
    if (first + 3 * kSystems == block) return add_bounded_of<3>(rows, positions, n, first, sums);
    for (; first + 2 * kSystems <= block; first += 2 * kSystems)
        add_bounded_of<2>(rows, positions, n, first, sums);
    if (first < block) add_bounded_of<1>(rows, positions, n, first, sums);
}

// coupling g g' <= share * diag(d), so that (1 - share) diag(d) bounds the Hessian below.
double share_below(const double* statistics, int64_t block, double coupling) {
    const double8 zero = all8(0.0), one = all8(1.0);
    double8 shares = zero;
    for (int64_t k = 0; k < block; k += kSystems) {
        const double8 g = load8(statistics + k), d = load8(statistics + block + k);
        const auto counts = d > zero;
        shares += choose(counts, g * g / choose(counts, d, one), zero);
    }
    const double share = sum_of(shares) * coupling;
    return share < 1.0 ? 1.0 - share : 0.0;
}

template <int Vectors>
void add_products_of(const CoupledRows& rows, const int32_t* positions, int64_t n, const double* x,
                     double* gradient, double* product) {
    constexpr int64_t kRow = 2 * Vectors * kSystems;
    double8 g_sum[Vectors], p_sum[Vectors], xs[Vectors];
    for (int v = 0; v < Vectors; ++v) {
        g_sum[v] = load8(gradient + v * kSystems);
        p_sum[v] = load8(product + v * kSystems);
        xs[v] = load8(x + v * kSystems);
    }
    for (int64_t r = 0; r < n; ++r) {
        const double* row = rows.values + positions[r] * kRow;
        const double8 times = all8(times_of(rows, positions[r]));
        double8 dot = load8(row) * xs[0];
        for (int v = 1; v < Vectors; ++v) dot += load8(row + v * kSystems) * xs[v];
        const double8 along = all8(rows.scale[positions[r]] * sum_of(dot));
        for (int v = 0; v < Vectors; ++v) {
            const double8 g = load8(row + v * kSystems);
            g_sum[v] += times * g;
            p_sum[v] += times * load8(row + (Vectors + v) * kSystems) * xs[v] - along * g;
        }
    }
    for (int v = 0; v < Vectors; ++v) {
        store8(gradient + v * kSystems, g_sum[v]);
        store8(product + v * kSystems, p_sum[v]);
    }
}

void add_products_of_many(const CoupledRows& rows, const int32_t* positions, int64_t n,
                          const double* x, double* gradient, double* product) {
    const int64_t block = padded(rows.n_outputs);
    for (int64_t r = 0; r < n; ++r) {
        const double* row = rows.values + positions[r] * 2 * block;
        const double8 times = all8(times_of(rows, positions[r]));
        double8 dot = all8(0.0);
        for (int64_t k = 0; k < block; k += kSystems) dot += load8(row + k) * load8(x + k);
        const double8 along = all8(rows.scale[positions[r]] * sum_of(dot));
        for (int64_t k = 0; k < block; k += kSystems) {
            const double8 g = load8(row + k);
            if (gradient != nullptr) store8(gradient + k, load8(gradient + k) + times * g);
            const double8 scaled = times * load8(row + block + k) * load8(x + k);
            store8(product + k, load8(product + k) + scaled - along * g);
        }
    }
}

void add_products(const CoupledRows& rows, const int32_t* positions, int64_t n, const double* x,
                  double* gradient, double* product) {
    switch (gradient == nullptr ? 0 : padded(rows.n_outputs) / kSystems) {
        case 1:
            return add_products_of<1>(rows, positions, n, x, gradient, product);
        case 2:
            return add_products_of<2>(rows, positions, n, x, gradient, product);
        case 3:
            return add_products_of<3>(rows, positions, n, x, gradient, product);
        default:
            return add_products_of_many(rows, positions, n, x, gradient, product);
    }
}

void weigh_row(const double* statistics, int64_t block, double times, double* row) {
    for (int64_t k = 0; k < 2 * block; k += kSystems)
        store8(row + k, load8(statistics + k) * all8(times));
}
