// Inner loops of the rule search; compiled once per instruction set (RAMIFY_ISA).
#include "ramify/rule_kernels.hpp"

#include <cmath>
#include <cstring>

namespace ramify::RAMIFY_ISA {

namespace {

typedef double double4 __attribute__((vector_size(32)));
typedef double double8 __attribute__((vector_size(64)));

inline double4 load4(const double* from) {
    double4 v;
    std::memcpy(&v, from, sizeof v);
    return v;
}
inline void store4(double* to, double4 v) { std::memcpy(to, &v, sizeof v); }
inline double sum_of(double4 v) { return (v[0] + v[2]) + (v[1] + v[3]); }

void add_rows(const double* values, int64_t width, const int32_t* positions, int64_t n,
              double* sums) {
    for (int64_t i = 0; i < n; ++i) {
        const double* row = values + positions[i] * width;
        int64_t k = 0;
        for (; k + 4 <= width; k += 4) store4(sums + k, load4(sums + k) + load4(row + k));
        for (; k < width; ++k) sums[k] += row[k];
    }
}

// target[0, padded length) += factor * values.
inline void add_scaled(double* target, const double* values, int64_t length, double factor) {
    const double4 f = {factor, factor, factor, factor};
    for (int64_t j = 0; j < length; j += 4)
        store4(target + j, load4(target + j) + f * load4(values + j));
}

void add_coupled(const CoupledRows& rows, const int32_t* positions, int64_t n,
                 const CoupledSums& sums) {
    const int64_t block = padded(rows.n_outputs), width = rows.vectors * block;
    for (int64_t r = 0; r < n; ++r) {
        const double* row = rows.values + positions[r] * width;
        for (int64_t k = 0; k < width; k += 4)
            store4(sums.vectors + k, load4(sums.vectors + k) + load4(row + k));
        const double scale = rows.scale[positions[r]];
        double* line = sums.triangle;
        for (int32_t i = 0; i < rows.n_outputs; ++i) {
            const int64_t length = padded(i + 1);
            add_scaled(line, row, length, scale * row[i]);
            line += length;
        }
    }
}

void add_triangle(const CoupledRows& rows, int64_t n, int64_t begin, int64_t end,
                  double* triangle) {
    const int64_t width = rows.vectors * padded(rows.n_outputs);
    for (int64_t r = 0; r < n; ++r) {
        const double* row = rows.values + r * width;
        double* line = triangle + triangle_offset(begin);
        for (int64_t i = begin; i < end; ++i) {
            const int64_t length = padded(i + 1);
            add_scaled(line, row, length, rows.scale[r] * row[i]);
            line += length;
        }
    }
}

template <bool Complement>
double diagonal_gains_of(const double* sums, const double* total, const double* dust, int32_t n,
                         Penalty penalty, double* gains) {
    double4 all = {0, 0, 0, 0};
    const double4 l2 = {penalty.l2, penalty.l2, penalty.l2, penalty.l2};
    const double4 l1 = {penalty.l1, penalty.l1, penalty.l1, penalty.l1};
    const double4 zero = {0, 0, 0, 0}, one = {1, 1, 1, 1};
    auto gain_of = [&](double4 g, double4 h, double4 least) {
        g = (g < zero ? -g : g) - l1;
        g = g > zero ? g : zero;
        const double4 denominator = h + l2;
        const auto counts = (h > least) & (denominator > zero);
        return counts ? g * g / (counts ? denominator : one) : zero;
    };
    int32_t k = 0;
    for (; k + 4 <= n; k += 4) {
        double4 g = load4(sums + k), h = load4(sums + n + k);
        if (Complement) {
            g = load4(total + k) - g;
            h = load4(total + n + k) - h;
        }
        const double4 gain = gain_of(g, h, load4(dust + k));
        if (gains != nullptr) store4(gains + k, gain);
        all += gain;
    }
    double rest = 0.0;
    for (; k < n; ++k) {
        double g = sums[k], h = sums[n + k];
        if (Complement) {
            g = total[k] - g;
            h = total[n + k] - h;
        }
        const double excess = std::fmax(std::fabs(g) - penalty.l1, 0.0);
        const bool counts = h > dust[k] && h + penalty.l2 > 0.0;
        const double gain = counts ? excess * excess / (h + penalty.l2) : 0.0;
        if (gains != nullptr) gains[k] = gain;
        rest += gain;
    }
    return sum_of(all) + rest;
}

double diagonal_gains(const double* sums, const double* total, bool complement, const double* dust,
                      int32_t n, Penalty penalty, double* gains) {
    return complement ? diagonal_gains_of<true>(sums, total, dust, n, penalty, gains)
                      : diagonal_gains_of<false>(sums, total, dust, n, penalty, gains);
}

// A pivot this small beside its diagonal is what rounding leaves of a singular system.
constexpr double kSingular = 1e-10;

// L D L' with M = L D kept in `matrix` and L in `scratch`; the gradient is one more row.
void direct_gains(int32_t n, double* matrix, double* gradient, double* scratch, double* gains) {
    double8* m = reinterpret_cast<double8*>(matrix);
    double8* l = reinterpret_cast<double8*>(scratch);
    double8* b = reinterpret_cast<double8*>(gradient);
    const double8 zero = {0, 0, 0, 0, 0, 0, 0, 0}, one = zero + 1.0;
    double8 gain = zero;
    for (int32_t j = 0; j < n; ++j) {
        const double8* lj = l + int64_t{j} * (j + 1) / 2;
        double8* mj = m + int64_t{j} * (j + 1) / 2;
        double8 pivot = mj[j], rhs = b[j];
        for (int32_t k = 0; k < j; ++k) {
            pivot -= mj[k] * lj[k];
            rhs -= b[k] * lj[k];
        }
        const auto is_regular = (pivot > kSingular * mj[j]) & (pivot > zero);
        const double8 inverse = is_regular ? one / (is_regular ? pivot : one) : zero;
        b[j] = rhs;
        gain += rhs * rhs * inverse;
        for (int32_t i = j + 1; i < n; ++i) {
            double8* mi = m + int64_t{i} * (i + 1) / 2;
            double8 s = mi[j];
            for (int32_t k = 0; k < j; ++k) s -= mi[k] * lj[k];
            mi[j] = s;
            l[int64_t{i} * (i + 1) / 2 + j] = s * inverse;
        }
    }
    std::memcpy(gains, &gain, sizeof gain);
}

void symmetric_product(const double* triangle, int32_t n, const double* x, double* y) {
    std::memset(y, 0, n * sizeof(double));
    const double* line = triangle;
    for (int32_t i = 0; i < n; ++i) {
        const double4 xi = {x[i], x[i], x[i], x[i]};
        double4 sum = {0, 0, 0, 0};
        int32_t j = 0;
        for (; j + 4 <= i; j += 4) {
            const double4 a = load4(line + j);
            sum += a * load4(x + j);
            store4(y + j, load4(y + j) + a * xi);
        }
        double rest = 0.0;
        for (; j < i; ++j) {
            rest += line[j] * x[j];
            y[j] += line[j] * x[i];
        }
        y[i] += sum_of(sum) + rest + line[i] * x[i];
        line += padded(i + 1);
    }
}

inline double dot(const double* a, const double* b, int64_t n) {
    double4 s = {0, 0, 0, 0}, t = s;
    int64_t k = 0;
    for (; k + 8 <= n; k += 8) {
        s += load4(a + k) * load4(b + k);
        t += load4(a + k + 4) * load4(b + k + 4);
    }
    double rest = 0.0;
    for (; k < n; ++k) rest += a[k] * b[k];
    return sum_of(s + t) + rest;
}

// Cholesky, row by row: all inner products run over consecutive numbers.
void solve(double* triangle, int32_t n, double* x) {
    for (int32_t i = 0; i < n; ++i) {
        double* li = triangle + triangle_offset(i);
        for (int32_t j = 0; j < i; ++j) {
            const double* lj = triangle + triangle_offset(j);
            li[j] = lj[j] > 0.0 ? (li[j] - dot(li, lj, j)) / lj[j] : 0.0;
        }
        const double pivot = li[i] - dot(li, li, i);
        li[i] = pivot > kSingular * li[i] && pivot > 0.0 ? std::sqrt(pivot) : 0.0;
        x[i] = li[i] > 0.0 ? (x[i] - dot(li, x, i)) / li[i] : 0.0;
    }
    for (int32_t i = n - 1; i >= 0; --i) {
        const double* li = triangle + triangle_offset(i);
        x[i] = li[i] > 0.0 ? x[i] / li[i] : 0.0;
        for (int32_t j = 0; j < i; ++j) x[j] -= li[j] * x[i];
    }
}

}  // namespace

const RuleKernels& rule_kernels() {
    static const RuleKernels table = {add_rows,       add_coupled,  add_triangle,
                                      diagonal_gains, direct_gains, symmetric_product,
                                      solve};
    return table;
}

}  // namespace ramify::RAMIFY_ISA
