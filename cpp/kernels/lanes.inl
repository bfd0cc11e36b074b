// N floats as a handful of native vectors, so that one source serves every instruction set.
#pragma once

#include <cstdint>
#include <cstring>

namespace ramify::RAMIFY_ISA {

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

// Sums of four vectors at once: cheaper than four sums.
inline float4 fold(float4 v) { return v; }
inline float4 fold(float8 v) {
    return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
}
inline float4 fold(float16 v) {
    return fold(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
}
inline float4 sums_of(float4 a, float4 b, float4 c, float4 d) {
    const float4 ab =
        __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const float4 cd =
        __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
    return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) +
           __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
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
        for (int i = 0; i < M; ++i) r.v[i] = V{} + x;
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
    inline float4 folded() const {
        V s = v[0];
        for (int i = 1; i < M; ++i) s += v[i];
        return fold(s);
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

}  // namespace ramify::RAMIFY_ISA
