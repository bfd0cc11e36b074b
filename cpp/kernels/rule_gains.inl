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
        g = (g < zero ? -g : g) - l1;
        g = g > zero ? g : zero;
        curvature = h + l2;
        const auto counts = (h > load8(dust + k)) & (curvature > zero);
        square = counts ? g * g : zero;
        curvature = counts ? curvature : all8(1.0);
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
            curvature = curvature > least ? curvature : least;
            other = other > least ? other : least;
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

template <bool Complement>
bool any_above(const DiagonalSums& of, double factor, double least) {
    double8 most = all8(-1.0), square, curvature;
    for (int64_t k = 0; k < of.block; k += kSystems) {
        of.at<Complement>(k, square, curvature);
        const double8 excess = square * all8(factor) - curvature * all8(least);
        most = excess > most ? excess : most;
    }
    double largest = most[0];
    for (int i = 1; i < kSystems; ++i) largest = most[i] > largest ? most[i] : largest;
    return largest > 0.0;
}

bool any_gain_above(const double* sums, const double* total, bool complement, const double* dust,
                    int32_t n_outputs, Penalty penalty, double factor, double least) {
    const DiagonalSums of = diagonal_sums(sums, total, dust, n_outputs, penalty);
    return complement ? any_above<true>(of, factor, least) : any_above<false>(of, factor, least);
}
