// N floats as a handful of native vectors, so that one source serves every instruction set.
#pragma once

#include <cstdint>
#include <cstring>

namespace polyleaf::POLYLEAF_ISA {

#if defined(__AVX512F__)
constexpr int kWidth = 16;
#elif defined(__AVX2__)
constexpr int kWidth = 8;
#else
constexpr int kWidth = 4;
#endif

template <int Value>
struct Constant {
    static constexpr int value = Value;
};

typedef float float4 __attribute__((vector_size(16)));
typedef float float8 __attribute__((vector_size(32)));
typedef float float16 __attribute__((vector_size(64)));

template <int W>
struct Native;
template <>
struct Native<4> {
    using type = float4;
};
template <>
struct Native<8> {
    using type = float8;
};
template <>
struct Native<16> {
    using type = float16;
};

inline float sum_of(float4 v) { return (v[0] + v[2]) + (v[1] + v[3]); }
inline float sum_of(float8 v) {
    return sum_of(__builtin_shufflevector(v, v, 0, 1, 2, 3) +
                  __builtin_shufflevector(v, v, 4, 5, 6, 7));
}
inline float sum_of(float16 v) {
    return sum_of(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                  __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
}

// Sums of four vectors at once, {sum a, sum b, sum c, sum d}: pairs are interleaved within 128-bit
// lanes first, so that the lanes are folded once for all four.
inline float4 sums_of(float4 a, float4 b, float4 c, float4 d) {
    const float4 ab =
        __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const float4 cd =
        __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
    return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) +
           __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}
inline float4 fold(float8 v) {
    return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
}
inline float8 interleaved_sum(float8 a, float8 b) {
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13) +
           __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
}
inline float4 sums_of(float8 a, float8 b, float8 c, float8 d) {
    const float8 ab = interleaved_sum(a, b), cd = interleaved_sum(c, d);
    return fold(__builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) +
                __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15));
}
inline float16 interleaved_sum(float16 a, float16 b) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13,
                                   29) +
           __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15,
                                   31);
}
inline float4 sums_of(float16 a, float16 b, float16 c, float16 d) {
    const float16 ab = interleaved_sum(a, b), cd = interleaved_sum(c, d);
    const float16 all =
        __builtin_shufflevector(ab, cd, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) +
        __builtin_shufflevector(ab, cd, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30,
                                31);
    return fold(__builtin_shufflevector(all, all, 0, 1, 2, 3, 4, 5, 6, 7) +
                __builtin_shufflevector(all, all, 8, 9, 10, 11, 12, 13, 14, 15));
}

template <int N>
struct Lanes {
    static constexpr int W = N < kWidth ? N : kWidth;
    static constexpr int M = N / W;
    using V = typename Native<W>::type;
    V v[M];

    static inline Lanes load(const float* p) {
        Lanes r;
        for (int i = 0; i < M; ++i) std::memcpy(&r.v[i], p + i * W, sizeof(V));
        return r;
    }
    static inline Lanes zero() { return fill(0.0f); }
    static inline Lanes fill(float x) {
        Lanes r;
        for (int i = 0; i < M; ++i)
            r.v[i] = x - V{};  // plus would turn -0 into 0, which takes time
        return r;
    }
    inline void store(float* p) const {
        for (int i = 0; i < M; ++i) std::memcpy(p + i * W, &v[i], sizeof(V));
    }
    inline float sum() const {
        V s = v[0];
        for (int i = 1; i < M; ++i) s += v[i];
        return sum_of(s);
    }
    // One native vector with the same sum.
    inline V folded() const {
        V s = v[0];
        for (int i = 1; i < M; ++i) s += v[i];
        return s;
    }
    friend inline Lanes operator+(Lanes a, const Lanes& b) {
        for (int i = 0; i < M; ++i) a.v[i] += b.v[i];
        return a;
    }
    friend inline Lanes operator-(Lanes a, const Lanes& b) {
        for (int i = 0; i < M; ++i) a.v[i] -= b.v[i];
        return a;
    }
    friend inline Lanes operator*(Lanes a, const Lanes& b) {
        for (int i = 0; i < M; ++i) a.v[i] *= b.v[i];
        return a;
    }
    // a / b where b > 0, else 0.
    friend inline Lanes divide_positive(const Lanes& a, const Lanes& b) {
        Lanes r;
        for (int i = 0; i < M; ++i) {
            const V safe = b.v[i] > 0.0f ? b.v[i] : V{} + 1.0f;
            r.v[i] = b.v[i] > 0.0f ? a.v[i] / safe : V{};
        }
        return r;
    }
};

}  // namespace polyleaf::POLYLEAF_ISA
