// Derivatives of the logistic losses.

typedef int64_t long8 __attribute__((vector_size(64)));

// e^x to the last bit or two, for |x| <= 700: x = n ln 2 + r, and the series of e^r.
inline double8 exp8(double8 x) {
    const double8 shift = all8(6755399441055744.0);  // 1.5 * 2^52: its last bits count in ones
    const double8 turned = x * all8(1.4426950408889634) + shift;
    const double8 n = turned - shift;
    const double8 r = (x - n * all8(0.6931471803691238)) - n * all8(1.9082149292705877e-10);
    static const double inverse_factorials[] = {1.0 / 6227020800,
                                                1.0 / 479001600,
                                                1.0 / 39916800,
                                                1.0 / 3628800,
                                                1.0 / 362880,
                                                1.0 / 40320,
                                                1.0 / 5040,
                                                1.0 / 720,
                                                1.0 / 120,
                                                1.0 / 24,
                                                1.0 / 6,
                                                1.0 / 2,
                                                1.0,
                                                1.0};
    double8 series = all8(inverse_factorials[0]);
    for (int i = 1; i < 14; ++i) series = series * r + all8(inverse_factorials[i]);
    long8 bits, exponent;
    std::memcpy(&bits, &series, sizeof bits);
    std::memcpy(&exponent, &turned, sizeof exponent);
    bits += exponent << 52;
    double8 result;
    std::memcpy(&result, &bits, sizeof result);
    return result;
}

inline double8 clamp8(double8 x, double low, double high) {
    x = x < all8(low) ? all8(low) : x;
    return x > all8(high) ? all8(high) : x;
}

// The first `n` of 8 numbers; the others are 0.
inline double8 load_some(const double* from, int64_t n) {
    double numbers[kSystems] = {};
    std::memcpy(numbers, from, n * sizeof(double));
    return load8(numbers);
}
inline void store_some(double* to, double8 v, int64_t n) {
    double numbers[kSystems];
    store8(numbers, v);
    std::memcpy(to, numbers, n * sizeof(double));
}

// -y s and s (1 - s), with s the probability of the other label.
void logistic_statistics(const double* labels, const double* scores, int64_t n, double* gradient,
                         double* diagonal) {
    for (int64_t k = 0; k < n; k += kSystems) {
        const int64_t count = n - k < kSystems ? n - k : kSystems;
        const bool is_whole = count == kSystems;
        const double8 y = is_whole ? load8(labels + k) : load_some(labels + k, count);
        const double8 p = is_whole ? load8(scores + k) : load_some(scores + k, count);
        const double8 share = all8(1.0) / (all8(1.0) + exp8(clamp8(y * p, -700.0, 700.0)));
        const double8 g = -y * share, d = share * (all8(1.0) - share);
        if (is_whole) {
            store8(gradient + k, g);
            store8(diagonal + k, d);
        } else {
            store_some(gradient + k, g, count);
            store_some(diagonal + k, d, count);
        }
    }
}

// -y s and s, with s the share of each label in 1 + sum exp(-y p).
void examplewise_statistics(const double* labels, const double* scores, int64_t n,
                            double* gradient, double* diagonal) {
    const int64_t whole = n / kSystems * kSystems, rest = n - whole;
    double8 most = all8(0.0);
    auto note_margins = [&](double8 y, double8 p) {
        const double8 margins = -y * p;
        most = margins > most ? margins : most;
        return margins;
    };
    double8 last = all8(0.0), last_labels = last;
    for (int64_t k = 0; k < whole; k += kSystems)
        store8(diagonal + k, note_margins(load8(labels + k), load8(scores + k)));
    if (rest > 0) {
        last_labels = load_some(labels + whole, rest);
        last = note_margins(last_labels, load_some(scores + whole, rest));
    }
    const double largest = largest_of(most);
    double8 sums = all8(0.0);
    auto raise = [&](double8 margins) {
        return exp8(clamp8(margins - all8(largest), -700.0, 0.0));
    };
    for (int64_t k = 0; k < whole; k += kSystems) {
        const double8 raised = raise(load8(diagonal + k));
        sums += raised;
        store8(diagonal + k, raised);
    }
    if (rest > 0) {
        last = last_labels == all8(0.0) ? all8(0.0) : raise(last);  // there is no label beyond
        sums += last;
    }
    const double8 inverse = all8(1.0 / (std::exp(-largest) + sum_of(sums)));
    for (int64_t k = 0; k < whole; k += kSystems) {
        const double8 share = load8(diagonal + k) * inverse;
        store8(diagonal + k, share);
        store8(gradient + k, -load8(labels + k) * share);
    }
    if (rest > 0) {
        store_some(diagonal + whole, last * inverse, rest);
        store_some(gradient + whole, -last_labels * last * inverse, rest);
    }
}
