// Systems (16): several small ones side by side, products with a large one, and single ones.

template <bool Complement>
void enter_system_of(const SystemTerms& terms, const double* sums, const double* total,
                     SystemBatch& batch, int s) {
    const int32_t n = terms.n_outputs;
    const int64_t block = padded(n);
    double* matrix = batch.matrix + s;
    for (int32_t i = 0; i < n; ++i) {
        const int64_t line = 2 * block + tile_offset(i / kSystems, 0) + i % kSystems * kSystems;
        for (int32_t first = 0; first <= i; first += kSystems) {
            const int64_t at = line + first * kSystems;
            double8 entries = load8(sums + at);
            if (Complement) entries = load8(total + at) - entries;
            const int32_t end = i + 1 - first < kSystems ? i + 1 - first : kSystems;
            for (int32_t j = 0; j < end; ++j) matrix[(first + j) * kSystems] = -entries[j];
        }
        matrix += (i + 1) * kSystems;
    }
    for (int64_t first = 0; first < block; first += kSystems) {
        double8 g = load8(sums + first), d = load8(sums + block + first);
        if (Complement) {
            g = load8(total + first) - g;
            d = load8(total + block + first) - d;
        }
        g = soft8(g, load8(terms.l1 + first));
        for (int32_t i = 0; i < kSystems && first + i < n; ++i) {
            const int64_t k = first + i;
            double& diagonal = batch.matrix[(packed_size(k) + k) * kSystems + s];
            const double curvature = d[i] + diagonal;
            const bool counts = curvature > terms.dust[k] && curvature + terms.l2[k] > 0.0;
            diagonal = (counts ? curvature : 0.0) + terms.l2[k];
            batch.gradient[k * kSystems + s] = counts ? g[i] : 0.0;
        }
    }
}

void enter_system(const SystemTerms& terms, const double* sums, const double* total,
                  SystemBatch& batch, int s) {
    total == nullptr ? enter_system_of<false>(terms, sums, total, batch, s)
                     : enter_system_of<true>(terms, sums, total, batch, s);
}

double note_residual(const SystemTerms& terms, const double* x, const double* gradient,
                     const double* product, int c, double* residuals) {
    double8 bound = all8(0.0);
    for (int64_t k = 0; k < padded(terms.n_outputs); k += kSystems) {
        const double8 g = soft8(load8(gradient + k), load8(terms.l1 + k));
        const double8 r = g + load8(product + k);
        bound -= load8(x + k) * (g + r);
        for (int i = 0; i < kSystems; ++i) residuals[(k + i) * kSystems + c] = r[i];
    }
    return sum_of(bound);
}

// L D L' with M = L D kept in `matrix`; the gradient is one more row.
void solve_batch(int32_t n, SystemBatch& batch) {
    double8* m = reinterpret_cast<double8*>(batch.matrix);
    double8* l = reinterpret_cast<double8*>(batch.factor);
    double8* b = reinterpret_cast<double8*>(batch.gradient);
    double8* inverses = reinterpret_cast<double8*>(batch.inverse);
    double8* x = reinterpret_cast<double8*>(batch.solution);
    const double8 zero = all8(0.0), one = all8(1.0), singular = all8(kSingular);
    double8 gain = zero, least = one;
    for (int32_t j = 0; j < n; ++j) {
        const double8* lj = l + packed_size(j);
        double8* mj = m + packed_size(j);
        double8 pivot = mj[j], rhs = b[j];
        for (int32_t k = 0; k < j; ++k) {
            pivot -= mj[k] * lj[k];
            rhs -= b[k] * lj[k];
        }
        const auto is_regular = (pivot > singular * mj[j]) & (pivot > zero);
        const double8 inverse = choose(is_regular, one / choose(is_regular, pivot, one), zero);
        const double8 share = choose(is_regular, pivot / choose(is_regular, mj[j], one), zero);
        least = choose(share < least, share, least);
        inverses[j] = inverse;
        b[j] = rhs;
        gain += rhs * rhs * inverse;
        for (int32_t i = j + 1; i < n; ++i) {
            double8* mi = m + packed_size(i);
            double8 s = mi[j];
            for (int32_t k = 0; k < j; ++k) s -= mi[k] * lj[k];
            mi[j] = s;
            l[packed_size(i) + j] = s * inverse;
        }
    }
    for (int32_t i = 0; i < n; ++i) x[i] = -b[i] * inverses[i];
    for (int32_t i = n - 1; i > 0; --i) {
        const double8* li = l + packed_size(i);
        for (int32_t j = 0; j < i; ++j) x[j] -= li[j] * x[i];
    }
    std::memcpy(batch.gains, &gain, sizeof gain);
    std::memcpy(batch.least_pivot, &least, sizeof least);
}

void quadratic_forms(int32_t n, const SystemBatch& batch, int s, double* residuals,
                     double* forms) {
    double8* r = reinterpret_cast<double8*>(residuals);
    double8 form = all8(0.0);
    for (int32_t i = 0; i < n; ++i) {
        const double* li = batch.factor + packed_size(i) * kSystems + s;
        double8 even = r[i], odd = all8(0.0);
        int32_t k = 0;
        for (; k + 2 <= i; k += 2) {
            even -= all8(li[k * kSystems]) * r[k];
            odd -= all8(li[(k + 1) * kSystems]) * r[k + 1];
        }
        if (k < i) even -= all8(li[k * kSystems]) * r[k];
        r[i] = even + odd;
        form += r[i] * r[i] * all8(batch.inverse[i * kSystems + s]);
    }
    std::memcpy(forms, &form, sizeof form);
}

// The sums of 8 vectors, side by side.
inline double8 sums_of(const double8* v) {
    double8 two[4], four[2];
    for (int i = 0; i < 4; ++i)
        two[i] = evens_of(v[2 * i], v[2 * i + 1]) + odds_of(v[2 * i], v[2 * i + 1]);
    for (int i = 0; i < 2; ++i)
        four[i] =
            pairs_of(two[2 * i], two[2 * i + 1]) + other_pairs_of(two[2 * i], two[2 * i + 1]);
    return lows_of(four[0], four[1]) + highs_of(four[0], four[1]);
}

void symmetric_product(const double* triangle, int32_t n, const double* x, double* y) {
    const int64_t n_tiles = padded(n) / kSystems;
    std::memset(y, 0, n_tiles * kSystems * sizeof(double));
    const double* tile = triangle;
    for (int64_t i = 0; i < n_tiles; ++i) {
        const double* xi = x + i * kSystems;
        double8 lines[kSystems] = {};
        for (int64_t j = 0; j < i; ++j, tile += kSystems * kSystems) {
            const double8 xj = load8(x + j * kSystems);
            double8 columns = load8(y + j * kSystems), odd_columns = all8(0.0);
            for (int line = 0; line < kSystems; line += 2) {
                const double8 a = load8(tile + line * kSystems);
                const double8 b = load8(tile + (line + 1) * kSystems);
                lines[line] += a * xj;
                lines[line + 1] += b * xj;
                columns += a * all8(xi[line]);
                odd_columns += b * all8(xi[line + 1]);
            }
            store8(y + j * kSystems, columns + odd_columns);
        }
        double8 own = load8(y + i * kSystems) + sums_of(lines), odd_own = all8(0.0);
        for (int line = 0; line < kSystems; line += 2) {
            own += load8(tile + line * kSystems) * all8(xi[line]);
            odd_own += load8(tile + (line + 1) * kSystems) * all8(xi[line + 1]);
        }
        store8(y + i * kSystems, own + odd_own);
        tile += kSystems * kSystems;
    }
}

inline double dot(const double* a, const double* b, int64_t n) {
    double8 s = all8(0.0), t = s;
    int64_t k = 0;
    for (; k + 2 * kSystems <= n; k += 2 * kSystems) {
        s += load8(a + k) * load8(b + k);
        t += load8(a + k + kSystems) * load8(b + k + kSystems);
    }
    double rest = 0.0;
    for (; k < n; ++k) rest += a[k] * b[k];
    return sum_of(s + t) + rest;
}

// Cholesky, line by line: all inner products run over consecutive numbers.
void solve(double* matrix, int32_t n, double* x) {
    const int64_t width = padded(n);
    for (int32_t i = 0; i < n; ++i) {
        double* li = matrix + i * width;
        for (int32_t j = 0; j < i; ++j) {
            const double* lj = matrix + j * width;
            li[j] = lj[j] > 0.0 ? (li[j] - dot(li, lj, j)) / lj[j] : 0.0;
        }
        const double pivot = li[i] - dot(li, li, i);
        li[i] = pivot > kSingular * li[i] && pivot > 0.0 ? std::sqrt(pivot) : 0.0;
        x[i] = li[i] > 0.0 ? (x[i] - dot(li, x, i)) / li[i] : 0.0;
    }
    for (int32_t i = n - 1; i >= 0; --i) {
        const double* li = matrix + i * width;
        x[i] = li[i] > 0.0 ? x[i] / li[i] : 0.0;
        for (int32_t j = 0; j < i; ++j) x[j] -= li[j] * x[i];
    }
}

// Conjugate gradients ----------------------------------------------------------------------------

template <bool Complement>
bool set_gradient_system_of(const GradientSystem& system, const SystemTerms& terms,
                            const double* sums, const double* total) {
    const int64_t block = padded(terms.n_outputs);
    const double8 zero = all8(0.0), one = all8(1.0);
    bool has_gradient = false;
    for (int64_t k = 0; k < block; k += kSystems) {
        double8 of[4];
        for (int v = 0; v < 4; ++v) {
            of[v] = load8(sums + v * block + k);
            if (Complement) of[v] = load8(total + v * block + k) - of[v];
        }
        const double8 l2 = load8(terms.l2 + k), curvature = of[3] + l2;
        const auto counts = (of[3] > load8(terms.dust + k)) & (curvature > zero);
        store8(system.diagonal + k, of[1] + l2);
        store8(system.bound + k, larger(of[2], zero) + l2);
        store8(system.inverse + k, choose(counts, one / choose(counts, curvature, one), zero));
        const double8 g = choose(counts, soft8(of[0], load8(terms.l1 + k)), zero);
        store8(system.gradient + k, g);
        for (int i = 0; i < kSystems; ++i) has_gradient |= g[i] != 0.0;
    }
    return has_gradient;
}

bool set_gradient_system(const GradientSystem& system, const SystemTerms& terms,
                         const double* sums, const double* total) {
    return total == nullptr ? set_gradient_system_of<false>(system, terms, sums, total)
                            : set_gradient_system_of<true>(system, terms, sums, total);
}

// The bound is 0 only where nothing of the residual is left, or nothing bounds it.
double left_to_gain(const double* residual, const double* bound, int64_t block) {
    double8 most = all8(0.0);
    for (int64_t k = 0; k < block; k += kSystems) {
        const double8 r = load8(residual + k);
        const auto counts = r != all8(0.0);
        most += choose(counts, r * r / choose(counts, load8(bound + k), all8(1.0)), all8(0.0));
    }
    return sum_of(most);
}

double scaled_square(const double* residual, const double* inverse, int64_t block) {
    double8 sum = all8(0.0);
    for (int64_t k = 0; k < block; k += kSystems) {
        const double8 r = load8(residual + k);
        sum += r * r * load8(inverse + k);
    }
    return sum_of(sum);
}

double masked_dot(const double* direction, const double* inverse, double* product, int64_t block) {
    double8 sum = all8(0.0);
    for (int64_t k = 0; k < block; k += kSystems) {
        const double8 p = choose(load8(inverse + k) == all8(0.0), all8(0.0), load8(product + k));
        store8(product + k, p);
        sum += load8(direction + k) * p;
    }
    return sum_of(sum);
}

// r = -g - A x where an output counts; returns the gain of x.
double start_gradients(const GradientSystem& system, const double* product, int64_t block,
                       const double* x, double* residual) {
    double8 gain = all8(0.0);
    const double8 zero = all8(0.0);
    for (int64_t k = 0; k < block; k += kSystems) {
        const auto counts = load8(system.inverse + k) > zero;
        const double8 g = load8(system.gradient + k);
        const double8 r = choose(counts, -g - load8(product + k), zero);
        store8(residual + k, r);
        gain += load8(x + k) * (r - g);
    }
    return sum_of(gain);
}

void next_direction(const double* residual, const double* inverse, double beta, int64_t block,
                    double* direction) {
    for (int64_t k = 0; k < block; k += kSystems)
        store8(direction + k,
               load8(inverse + k) * load8(residual + k) + all8(beta) * load8(direction + k));
}

void step_along(const double* direction, const double* product, double length, int64_t block,
                double* x, double* residual) {
    for (int64_t k = 0; k < block; k += kSystems) {
        store8(x + k, load8(x + k) + all8(length) * load8(direction + k));
        store8(residual + k, load8(residual + k) - all8(length) * load8(product + k));
    }
}
