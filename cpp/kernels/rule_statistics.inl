// Derivatives of the logistic losses.

#ifdef __AVX512F__
// 2^(i / 16), and the polynomial of e^r for |r| <= ln 2 / 32.
alignas(64) constexpr double kPowersOf2[16] = {
    1.0,
    1.0442737824274138,
    1.0905077326652577,
    1.1387886347566916,
    1.189207115002721,
    1.241857812073484,
    1.2968395546510096,
    1.3542555469368927,
    1.4142135623730951,
    1.476826145939499,
    1.5422108254079407,
    1.6104903319492543,
    1.681792830507429,
    1.7562521603732995,
    1.8340080864093424,
    1.9152065613971472,
};
constexpr int kPartBits = 4, kTerms = 7;
#else
// The polynomial of e^r for |r| <= ln 2 / 2.
constexpr int kPartBits = 0, kTerms = 13;
#endif
constexpr int kParts = 1 << kPartBits;
constexpr double kInverseFactorials[] = {1.0,
                                         1.0,
                                         1.0 / 2,
                                         1.0 / 6,
                                         1.0 / 24,
                                         1.0 / 120,
                                         1.0 / 720,
                                         1.0 / 5040,
                                         1.0 / 40320,
                                         1.0 / 362880,
                                         1.0 / 3628800,
                                         1.0 / 39916800,
                                         1.0 / 479001600,
                                         1.0 / 6227020800};

// e^x to the last bit or two, for |x| <= 700: x = (n + i / kParts) ln 2 + r, and the series of
// e^r. Vectors go side by side from step to step: each step waits for the one before, and a
// processor does not look far enough ahead to find the next vector by itself.
template <int Vectors>
inline void exp_of(double8 (&x)[Vectors]) {
    const double8 shift = all8(6755399441055744.0);  // 1.5 * 2^52: its last bits count in ones
    double8 turned[Vectors], series[Vectors];
    for (int v = 0; v < Vectors; ++v) turned[v] = x[v] * all8(kParts * 1.4426950408889634) + shift;
    for (int v = 0; v < Vectors; ++v) {
        const double8 n = turned[v] - shift;
        x[v] -= n * all8(0.6931471803691238 / kParts);
        x[v] -= n * all8(1.9082149292705877e-10 / kParts);
    }
    for (int v = 0; v < Vectors; ++v) series[v] = all8(kInverseFactorials[kTerms]);
    for (int i = kTerms - 1; i >= 0; --i)
        for (int v = 0; v < Vectors; ++v)
            series[v] = series[v] * x[v] + all8(kInverseFactorials[i]);
    for (int v = 0; v < Vectors; ++v) {
#ifdef __AVX512F__
        const __m512i exponent = (__m512i)turned[v];
        series[v] *= (double8)_mm512_permutex2var_pd(_mm512_load_pd(kPowersOf2), exponent,
                                                     _mm512_load_pd(kPowersOf2 + kSystems));
        x[v] = (double8)((long8)series[v] + ((long8)exponent >> kPartBits << 52));
#else
        x[v].low = (double4)((long4)series[v].low + ((long4)turned[v].low << 52));
        x[v].high = (double4)((long4)series[v].high + ((long4)turned[v].high << 52));
#endif
    }
}

inline double8 exp8(double8 x) {
    double8 one[1] = {x};
    exp_of(one);
    return one[0];
}

inline double8 clamp8(double8 x, double low, double high) {
#ifdef __AVX512F__
    const __m512d raised = _mm512_max_pd((__m512d)x, (__m512d)all8(low));
    return (double8)_mm512_min_pd(raised, (__m512d)all8(high));
#else
    x = choose(x < all8(low), all8(low), x);
    return choose(x > all8(high), all8(high), x);
#endif
}

// The first `n` of 8 numbers; the others are 0.
inline double8 load_some(const double* from, int64_t n) {
#ifdef __AVX512F__
    return (double8)_mm512_maskz_loadu_pd(static_cast<__mmask8>((1 << n) - 1), from);
#else
    if (n == kSystems) return load8(from);
    double numbers[kSystems] = {};
    std::memcpy(numbers, from, n * sizeof(double));
    return load8(numbers);
#endif
}
inline void store_some(double* to, double8 v, int64_t n) {
#ifdef __AVX512F__
    _mm512_mask_storeu_pd(to, static_cast<__mmask8>((1 << n) - 1), (__m512d)v);
#else
    if (n == kSystems) return store8(to, v);
    double numbers[kSystems];
    store8(numbers, v);
    std::memcpy(to, numbers, n * sizeof(double));
#endif
}

inline double8 first_of(double8 v, int64_t n) {
#ifdef __AVX512F__
    return (double8)_mm512_maskz_mov_pd(static_cast<__mmask8>((1 << n) - 1), (__m512d)v);
#else
    double numbers[kSystems];
    store8(numbers, v);
    return load_some(numbers, n);
#endif
}

// The first `n` of 8 labels as numbers; the others are 0.
inline double8 load_labels(const int8_t* from, int64_t n) {
#ifdef __AVX512F__
    const __m128i bytes = _mm_maskz_loadu_epi8(static_cast<__mmask16>((1 << n) - 1), from);
    return (double8)_mm512_cvtepi32_pd(_mm256_cvtepi8_epi32(bytes));
#else
    double numbers[kSystems] = {};
    for (int64_t i = 0; i < n; ++i) numbers[i] = from[i];
    return load8(numbers);
#endif
}

// Scores of at most 8 labels after what is added to them.
inline double8 add_some(double* scores, const double* added, int64_t n) {
    double8 p = load_some(scores, n);
    if (added == nullptr) return p;
    p += load_some(added, n);
    store_some(scores, p, n);
    return p;
}

// 1 / x to the last bit or two, for x that is neither tiny nor huge.
template <int Vectors>
inline void invert(double8 (&x)[Vectors]) {
#ifdef __AVX512F__
    // Two steps of Newton's method take 14 bits to 56, in a third of the time of a division.
    const double8 two = all8(2.0);
    double8 y[Vectors];
    for (int v = 0; v < Vectors; ++v) y[v] = (double8)_mm512_rcp14_pd((__m512d)x[v]);
    for (int v = 0; v < Vectors; ++v) y[v] *= two - x[v] * y[v];
    for (int v = 0; v < Vectors; ++v) x[v] = y[v] * (two - x[v] * y[v]);
#else
    for (int v = 0; v < Vectors; ++v) x[v] = all8(1.0) / x[v];
#endif
}

// The first n labels, in so many vectors.
template <int Vectors>
inline void logistic_of(const int8_t* labels, double* scores, const double* added, int64_t n,
                        double* gradient) {
    auto count = [n](int v) { return v + 1 < Vectors ? kSystems : n - v * kSystems; };
    double8 y[Vectors], share[Vectors];
    for (int v = 0; v < Vectors; ++v) {
        const int64_t k = v * kSystems;
        y[v] = load_labels(labels + k, count(v));
        const double8 p = add_some(scores + k, added == nullptr ? nullptr : added + k, count(v));
        share[v] = clamp8(y[v] * p, -700.0, 700.0);
    }
    exp_of(share);
    for (int v = 0; v < Vectors; ++v) share[v] += all8(1.0);
    invert(share);
    for (int v = 0; v < Vectors; ++v) {
        const int64_t k = v * kSystems;
        store_some(gradient + k, -y[v] * share[v], count(v));
    }
}

// -y s, with s the probability of the other label.
void logistic_gradient(const int8_t* labels, double* scores, const double* added, int64_t n,
                       double* gradient) {
    constexpr int kTogether = 4;
    for (; n > kTogether * kSystems; n -= kTogether * kSystems) {
        logistic_of<kTogether>(labels, scores, added, kTogether * kSystems, gradient);
        labels += kTogether * kSystems;
        scores += kTogether * kSystems;
        if (added != nullptr) added += kTogether * kSystems;
        gradient += kTogether * kSystems;
    }
    auto* const last = n > 3 * kSystems   ? &logistic_of<4>
                       : n > 2 * kSystems ? &logistic_of<3>
                       : n > kSystems     ? &logistic_of<2>
                                          : &logistic_of<1>;
    if (n > 0) last(labels, scores, added, n, gradient);
}

// Where |g| is nearly 1, before or after, little is left of 1 - |g|, and where it is tiny the next
// might vanish: such derivatives are computed from the scores. Others are off by the last bits
// each time, as the scores are, too.
constexpr double kMostShare = 15.0 / 16, kLeastShare = 1e-100;

void move_logistic(const LogisticMove& move, int64_t n, double* scores, double* gradient) {
    const double8 one = all8(1.0), zero = all8(0.0);
    for (int64_t k = 0; k < n; k += kSystems) {
        const int64_t count = n - k < kSystems ? n - k : kSystems;
        const double8 g = load8(gradient + k), share = abs8(g);
        add_some(scores + k, move.added + k, count);
        // The label is 1 where g is negative. The padding is 0 and stays so.
        const double8 factor = choose(g < zero, load8(move.raised + k), load8(move.lowered + k));
        double8 next[1] = {share + (one - share) * factor};
        invert(next);
        next[0] = next[0] * g;
        const auto is_rough = (larger(share, abs8(next[0])) > all8(kMostShare)) |
                              ((share < all8(kLeastShare)) & (share > zero));
        if (is_any(is_rough)) {
            int8_t labels[kSystems];
            double exact[kSystems] = {};
            for (int i = 0; i < kSystems; ++i) labels[i] = gradient[k + i] < 0.0 ? 1 : -1;
            logistic_of<1>(labels, scores + k, nullptr, count, exact);
            next[0] = choose(is_rough, load8(exact), next[0]);
        }
        store8(gradient + k, next[0]);
    }
}

// -y s and s, with s the share of each label in 1 + sum exp(-y p).
void examplewise_statistics(const int8_t* labels, double* scores, const double* added, int64_t n,
                            double* gradient, double* diagonal) {
    double8 most = all8(0.0);
    for (int64_t k = 0; k < n; k += kSystems) {
        const int64_t count = n - k < kSystems ? n - k : kSystems;
        const double8 p = add_some(scores + k, added == nullptr ? nullptr : added + k, count);
        const double8 margins = -load_labels(labels + k, count) * p;
        most = larger(margins, most);
        store_some(diagonal + k, margins, count);
    }
    const double largest = largest_of(most);
    double8 sums = all8(0.0);
    for (int64_t k = 0; k < n; k += kSystems) {
        const int64_t count = n - k < kSystems ? n - k : kSystems;
        const double8 margins = load_some(diagonal + k, count) - all8(largest);
        const double8 raised = exp8(clamp8(margins, -700.0, 0.0));
        store_some(diagonal + k, raised, count);
        sums += first_of(raised, count);
    }
    const double8 inverse = all8(1.0 / (std::exp(-largest) + sum_of(sums)));
    for (int64_t k = 0; k < n; k += kSystems) {
        const int64_t count = n - k < kSystems ? n - k : kSystems;
        const double8 share = load_some(diagonal + k, count) * inverse;
        store_some(diagonal + k, share, count);
        store_some(gradient + k, -load_labels(labels + k, count) * share, count);
    }
}
