// Gains of outputs that do not depend on each other (17).

struct DiagonalSums {
    const double* sums;
    const double* total;
    const double* dust;
    int64_t block;
    double8 l2, l1;

    // Excess of |G| over l1, squared, and H + l2 of 8 outputs; (0, 1) where H does not count.
    template <bool Complement>
    inline void at(int64_t k, double8& square, double8& curvature) const {
        double8 g = load8(sums + k), h = load8(sums + block + k);
        if (Complement) {
            g = load8(total + k) - g;
            h = load8(total + block + k) - h;
        }
        const double8 zero = all8(0.0);
        g = larger(choose(g < zero, -g, g) - l1, zero);
        curvature = h + l2;
        const auto counts = (h > load8(dust + k)) & (curvature > zero);
        square = choose(counts, g * g, zero);
        curvature = choose(counts, curvature, all8(1.0));
    }
};

inline DiagonalSums diagonal_sums(const double* sums, const double* total, const double* dust,
                                  int32_t n_outputs, Penalty penalty) {
    return {sums, total, dust, padded(n_outputs), all8(penalty.l2), all8(penalty.l1)};
}

template <bool Complement>
double sum_of_gains(const DiagonalSums& of, double* gains) {
    double8 all = all8(0.0), square, curvature;
    int64_t k = 0;
    // Divisions cost most: one for two fractions, unless curvatures are so small that their
    // product vanishes.
    if (gains == nullptr) {
        const double8 least = all8(1e-140);
        for (; k + 2 * kSystems <= of.block; k += 2 * kSystems) {
            double8 other_square, other;
            of.at<Complement>(k, square, curvature);
            of.at<Complement>(k + kSystems, other_square, other);
            curvature = larger(curvature, least);
            other = larger(other, least);
            all += (square * other + other_square * curvature) / (curvature * other);
        }
    }
    for (; k < of.block; k += kSystems) {
        of.at<Complement>(k, square, curvature);
        const double8 gain = square / curvature;
        if (gains != nullptr) store8(gains + k, gain);
        all += gain;
    }
    return sum_of(all);
}

double diagonal_gains(const double* sums, const double* total, bool complement, const double* dust,
                      int32_t n_outputs, Penalty penalty, double* gains) {
    const DiagonalSums of = diagonal_sums(sums, total, dust, n_outputs, penalty);
    return complement ? sum_of_gains<true>(of, gains) : sum_of_gains<false>(of, gains);
}

// 1 / x with an error of at most kNearGain of it.
inline double8 near_inverse(double8 x) {
#ifdef __AVX512F__
    return (double8)_mm512_rcp14_pd((__m512d)x);
#else
    return all8(1.0) / x;
#endif
}

inline double largest_of(double8 v) {
    double largest = v[0];
    for (int i = 1; i < kSystems; ++i) largest = v[i] > largest ? v[i] : largest;
    return largest;
}

// Gains of sums (G, H) of 8 outputs, up to kNearGain. The least H that counts is no tiny one.
template <bool HasL1>
inline double8 near_gains(double8 g, double8 h, double8 dust, double8 l2, double8 l1) {
    const double8 zero = all8(0.0);
    if (HasL1) g = soft8(g, l1);
    const double8 gain = g * g * near_inverse(h + l2);
    return choose(h > dust, gain, zero);
}

typedef double double2 __attribute__((vector_size(16)));

// The sums of two vectors, or their largest numbers, side by side.
template <bool Largest>
inline double2 both_of(double8 a, double8 b) {
    const double8 x = evens_of(a, b), y = odds_of(a, b);
    const double8 pairs = Largest ? larger(x, y) : x + y;
    double4 halves[2];
    std::memcpy(halves, &pairs, sizeof halves);
    const double4 half = !Largest                ? halves[0] + halves[1]
                         : halves[0] > halves[1] ? halves[0]
                                                 : halves[1];
    double2 quarters[2];
    std::memcpy(quarters, &half, sizeof quarters);
    return !Largest                    ? quarters[0] + quarters[1]
           : quarters[0] > quarters[1] ? quarters[0]
                                       : quarters[1];
}

// Sums in registers, or in memory where Blocks is 0.
template <int Blocks, bool Logistic, bool Largest, bool HasL1>
double scan_gains_of(const GainScan& scan, const int32_t* positions, const int64_t* offsets,
                     int64_t n, int64_t step, double* gains) {
    const int64_t block = padded(scan.n_outputs), width = Logistic ? block : 2 * block;
    constexpr int kKept = Blocks > 0 ? 2 * Blocks : 1;
    const int blocks = Blocks > 0 ? Blocks : static_cast<int>(block / kSystems);
    const bool drawn = scan.draws != nullptr;
    double8 kept[kKept] = {};
    double2 most = {};
    if (Blocks == 0) std::memset(scan.sums, 0, 2 * block * sizeof(double));
    const double8 l2 = all8(scan.penalty.l2), l1 = all8(scan.penalty.l1);
    for (int64_t i = 0; i < n; ++i, offsets += step) {
        const int64_t begin = offsets[0], end = offsets[1];
        if (Blocks == 0) {
            (Logistic ? add_logistic_rows : add_rows)(scan.values, width, positions + begin,
                                                      end - begin, scan.draws, scan.sums);
        } else {
            for (int64_t r = begin; r < end; ++r) {
                const double* row = scan.values + positions[r] * width;
                const double8 times = all8(drawn ? scan.draws[positions[r]] : 1.0);
                for (int v = 0; Logistic && v < Blocks; ++v) {
                    const double8 g = load8(row + v * kSystems);
                    kept[v] += g * times;
                    kept[v + Blocks] += logistic_curvature(g) * times;
                }
                for (int v = 0; !Logistic && v < kKept; ++v)
                    kept[v] += load8(row + v * kSystems) * times;
            }
        }
        double8 here = all8(0.0), there = here;
        for (int b = 0; b < blocks; ++b) {
            const int64_t k = b * kSystems;
            const double8 g = Blocks > 0 ? kept[b] : load8(scan.sums + k);
            const double8 h = Blocks > 0 ? kept[b + Blocks] : load8(scan.sums + block + k);
            const double8 dust = load8(scan.dust + k);
            const double8 gain = near_gains<HasL1>(g, h, dust, l2, l1);
            const double8 other = near_gains<HasL1>(
                load8(scan.total + k) - g, load8(scan.total + block + k) - h, dust, l2, l1);
            here = Largest ? larger(gain, here) : here + gain;
            there = Largest ? larger(other, there) : there + other;
        }
        const double2 both = both_of<Largest>(here, there);
        std::memcpy(gains + 2 * i, &both, sizeof both);
        most = both > most ? both : most;
    }
    for (int v = 0; Blocks > 0 && v < kKept; ++v) store8(scan.sums + v * kSystems, kept[v]);
    return most[0] > most[1] ? most[0] : most[1];
}

template <bool Logistic, bool Largest, bool HasL1>
double scan_gains_by(const GainScan& scan, const int32_t* positions, const int64_t* offsets,
                     int64_t n, int64_t step, double* gains) {
    switch (padded(scan.n_outputs) / kSystems) {
        case 1:
            return scan_gains_of<1, Logistic, Largest, HasL1>(scan, positions, offsets, n, step,
                                                              gains);
        case 2:
            return scan_gains_of<2, Logistic, Largest, HasL1>(scan, positions, offsets, n, step,
                                                              gains);
        case 3:
            return scan_gains_of<3, Logistic, Largest, HasL1>(scan, positions, offsets, n, step,
                                                              gains);
        default:
            return scan_gains_of<0, Logistic, Largest, HasL1>(scan, positions, offsets, n, step,
                                                              gains);
    }
}

template <bool Logistic>
double scan_gains_with(const GainScan& scan, const int32_t* positions, const int64_t* offsets,
                       int64_t n, int64_t step, bool largest, double* gains) {
    const bool has_l1 = scan.penalty.l1 > 0.0;
    auto* const by = largest  ? (has_l1 ? &scan_gains_by<Logistic, true, true>
                                        : &scan_gains_by<Logistic, true, false>)
                     : has_l1 ? &scan_gains_by<Logistic, false, true>
                              : &scan_gains_by<Logistic, false, false>;
    return by(scan, positions, offsets, n, step, gains);
}

double scan_gains(const GainScan& scan, const int32_t* positions, const int64_t* offsets,
                  int64_t n, int64_t step, bool largest, double* gains) {
    return scan.is_logistic
               ? scan_gains_with<true>(scan, positions, offsets, n, step, largest, gains)
               : scan_gains_with<false>(scan, positions, offsets, n, step, largest, gains);
}

template <bool Complement>
bool any_above(const DiagonalSums& of, double factor, double least) {
    double8 most = all8(-1.0), square, curvature;
    for (int64_t k = 0; k < of.block; k += kSystems) {
        of.at<Complement>(k, square, curvature);
        const double8 excess = square * all8(factor) - curvature * all8(least);
        most = larger(excess, most);
    }
    return largest_of(most) > 0.0;
}

bool any_gain_above(const double* sums, const double* total, bool complement, const double* dust,
                    int32_t n_outputs, Penalty penalty, double factor, double least) {
    const DiagonalSums of = diagonal_sums(sums, total, dust, n_outputs, penalty);
    return complement ? any_above<true>(of, factor, least) : any_above<false>(of, factor, least);
}
