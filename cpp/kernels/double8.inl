// Eight numbers in double precision. The compiler takes vectors that are wider than the
// processor's apart through memory, which takes five times as long as two that it has.

typedef double double4 __attribute__((vector_size(32)));
typedef int64_t long4 __attribute__((vector_size(32)));

#ifdef __AVX512F__

typedef double double8 __attribute__((vector_size(64)));
typedef int64_t long8 __attribute__((vector_size(64)));

inline double8 all8(double value) { return double8{} + value; }
inline double8 load8(const double* from) {
    double8 v;
    std::memcpy(&v, from, sizeof v);
    return v;
}
inline void store8(double* to, double8 v) { std::memcpy(to, &v, sizeof v); }
inline double8 choose(long8 mask, double8 yes, double8 no) { return mask ? yes : no; }
inline double8 abs8(double8 v) { return (double8)((long8)v & INT64_MAX); }
inline bool is_any(long8 mask) { return _mm512_movepi64_mask((__m512i)mask) != 0; }

// Numbers of two vectors: those at even or odd places in turns, ...
inline double8 evens_of(double8 a, double8 b) {
    return __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
}
inline double8 odds_of(double8 a, double8 b) {
    return __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
}
// ... the first or second pairs of each half in turns, ...
inline double8 pairs_of(double8 a, double8 b) {
    return __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
}
inline double8 other_pairs_of(double8 a, double8 b) {
    return __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
}
// ... and the first or second halves.
inline double8 lows_of(double8 a, double8 b) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
}
inline double8 highs_of(double8 a, double8 b) {
    return __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
}

#else

struct Mask8 {
    long4 low, high;
    friend inline Mask8 operator&(Mask8 a, Mask8 b) { return {a.low & b.low, a.high & b.high}; }
    friend inline Mask8 operator|(Mask8 a, Mask8 b) { return {a.low | b.low, a.high | b.high}; }
};

struct double8 {
    double4 low, high;

    inline double operator[](int i) const { return i < 4 ? low[i] : high[i - 4]; }
    inline double8 operator-() const { return {-low, -high}; }
    inline void operator+=(double8 b) { low += b.low, high += b.high; }
    inline void operator-=(double8 b) { low -= b.low, high -= b.high; }
    inline void operator*=(double8 b) { low *= b.low, high *= b.high; }
    friend inline double8 operator+(double8 a, double8 b) {
        return {a.low + b.low, a.high + b.high};
    }
    friend inline double8 operator-(double8 a, double8 b) {
        return {a.low - b.low, a.high - b.high};
    }
    friend inline double8 operator*(double8 a, double8 b) {
        return {a.low * b.low, a.high * b.high};
    }
    friend inline double8 operator/(double8 a, double8 b) {
        return {a.low / b.low, a.high / b.high};
    }
    friend inline Mask8 operator<(double8 a, double8 b) {
        return {a.low < b.low, a.high < b.high};
    }
    friend inline Mask8 operator>(double8 a, double8 b) {
        return {a.low > b.low, a.high > b.high};
    }
    friend inline Mask8 operator==(double8 a, double8 b) {
        return {a.low == b.low, a.high == b.high};
    }
    friend inline Mask8 operator!=(double8 a, double8 b) {
        return {a.low != b.low, a.high != b.high};
    }
};

inline double8 all8(double value) {
    const double4 four = {value, value, value, value};
    return {four, four};
}
inline double8 load8(const double* from) {
    double8 v;
    std::memcpy(&v.low, from, sizeof v.low);
    std::memcpy(&v.high, from + 4, sizeof v.high);
    return v;
}
inline void store8(double* to, double8 v) {
    std::memcpy(to, &v.low, sizeof v.low);
    std::memcpy(to + 4, &v.high, sizeof v.high);
}
inline double8 abs8(double8 v) {
    return {(double4)((long4)v.low & INT64_MAX), (double4)((long4)v.high & INT64_MAX)};
}
inline bool is_any(Mask8 mask) {
    const long4 some = mask.low | mask.high;
    return (some[0] | some[1] | some[2] | some[3]) != 0;
}
inline double8 choose(Mask8 mask, double8 yes, double8 no) {
    return {mask.low ? yes.low : no.low, mask.high ? yes.high : no.high};
}

inline double8 evens_of(double8 a, double8 b) {
    return {__builtin_shufflevector(a.low, b.low, 0, 4, 2, 6),
            __builtin_shufflevector(a.high, b.high, 0, 4, 2, 6)};
}
inline double8 odds_of(double8 a, double8 b) {
    return {__builtin_shufflevector(a.low, b.low, 1, 5, 3, 7),
            __builtin_shufflevector(a.high, b.high, 1, 5, 3, 7)};
}
inline double8 pairs_of(double8 a, double8 b) {
    return {__builtin_shufflevector(a.low, b.low, 0, 1, 4, 5),
            __builtin_shufflevector(a.high, b.high, 0, 1, 4, 5)};
}
inline double8 other_pairs_of(double8 a, double8 b) {
    return {__builtin_shufflevector(a.low, b.low, 2, 3, 6, 7),
            __builtin_shufflevector(a.high, b.high, 2, 3, 6, 7)};
}
inline double8 lows_of(double8 a, double8 b) { return {a.low, b.low}; }
inline double8 highs_of(double8 a, double8 b) { return {a.high, b.high}; }

#endif

inline double8 larger(double8 a, double8 b) { return choose(a > b, a, b); }
// Towards zero by the penalty (L1).
inline double8 soft8(double8 gradient, double8 l1) {
    return choose(gradient > l1, gradient - l1, choose(gradient < -l1, gradient + l1, all8(0.0)));
}
inline double sum_of(double8 v) {
#ifdef __AVX512F__
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
#else
    const double4 s = v.low + v.high;
    return (s[0] + s[2]) + (s[1] + s[3]);
#endif
}
