// N numbers in double precision as a handful of native vectors.
#pragma once

#if defined(__AVX__)
#include <immintrin.h>
#endif

#include <cstring>

#include "kernels/lanes.inl"

namespace polyleaf::POLYLEAF_ISA {

typedef double double2 __attribute__((vector_size(16)));
typedef double double4 __attribute__((vector_size(32)));
typedef double double8 __attribute__((vector_size(64)));
typedef float float2 __attribute__((vector_size(8)));

inline double sum_of(double2 v) { return v[0] + v[1]; }
inline double sum_of(double4 v) {
    return sum_of(__builtin_shufflevector(v, v, 0, 1) + __builtin_shufflevector(v, v, 2, 3));
}
inline double sum_of(double8 v) {
    return sum_of(__builtin_shufflevector(v, v, 0, 1, 2, 3) +
                  __builtin_shufflevector(v, v, 4, 5, 6, 7));
}

// W doubles and W floats. The compiler's own conversions take wide vectors apart.
template <int W>
struct NativePair;
template <>
struct NativePair<2> {
    using doubles = double2;
    using floats = float2;
    static inline doubles widen(floats v) { return __builtin_convertvector(v, doubles); }
    static inline floats narrow(doubles v) { return __builtin_convertvector(v, floats); }
};
template <>
struct NativePair<4> {
    using doubles = double4;
    using floats = float4;
#if defined(__AVX__)
    static inline doubles widen(floats v) { return _mm256_cvtps_pd(v); }
    static inline floats narrow(doubles v) { return _mm256_cvtpd_ps(v); }
#else
    static inline doubles widen(floats v) { return __builtin_convertvector(v, doubles); }
    static inline floats narrow(doubles v) { return __builtin_convertvector(v, floats); }
#endif
};
#if defined(__AVX512F__)
template <>
struct NativePair<8> {
    using doubles = double8;
    using floats = float8;
    static inline doubles widen(floats v) { return _mm512_cvtps_pd(v); }
    static inline floats narrow(doubles v) { return _mm512_cvtpd_ps(v); }
};
#endif

// N doubles; half a vector of floats fills a vector of doubles.
template <int N>
struct Doubles {
    static constexpr int W = N < kWidth / 2 ? N : kWidth / 2;
    static constexpr int M = N / W;
    using Pair = NativePair<W>;
    using V = typename Pair::doubles;
    using F = typename Pair::floats;
    V v[M];

    static inline Doubles zero() {
        Doubles r;
        for (int i = 0; i < M; ++i) r.v[i] = V{};
        return r;
    }
    static inline Doubles load(const float* p) {
        Doubles r;
        for (int i = 0; i < M; ++i) {
            F part;
            std::memcpy(&part, p + i * W, sizeof(F));
            r.v[i] = Pair::widen(part);
        }
        return r;
    }
    static inline Doubles load(const double* p) {
        Doubles r;
        std::memcpy(r.v, p, sizeof(r.v));
        return r;
    }
    inline void store(double* p) const { std::memcpy(p, v, sizeof(v)); }
    inline Lanes<N> narrowed() const {
        float values[N];
        for (int i = 0; i < M; ++i) {
            const F part = Pair::narrow(v[i]);
            std::memcpy(values + i * W, &part, sizeof(F));
        }
        return Lanes<N>::load(values);
    }
    inline void add(const Doubles& other) {
        for (int i = 0; i < M; ++i) v[i] += other.v[i];
    }
    inline void multiply(double factor) {
        for (int i = 0; i < M; ++i) v[i] *= factor;
    }
    inline double dot(const Doubles& other) const {
        V s{};
        for (int i = 0; i < M; ++i) s += v[i] * other.v[i];
        return sum_of(s);
    }
    // The sum of the numbers above factor * other^2.
    inline double sum_above(const Doubles& other, double factor) const {
        V s{};
        for (int i = 0; i < M; ++i) s += v[i] > other.v[i] * other.v[i] * factor ? v[i] : V{};
        return sum_of(s);
    }
};

}  // namespace polyleaf::POLYLEAF_ISA
