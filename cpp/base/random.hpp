// Random numbers as functions of a node's seed, so that a draw never depends on the order of work.
#pragma once

#include <cstdint>

namespace polyleaf {

inline uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

// side: 0 = left, 1 = right.
inline uint64_t child_seed(uint64_t seed, int side) {
    return mix(seed + 0x9e3779b97f4a7c15ULL * static_cast<uint64_t>(side + 1));
}

// A stateless draw: the same (seed, key) always gives the same 64 bits.
inline uint64_t draw_bits(uint64_t seed, uint64_t key) {
    return mix(mix(seed ^ 0xd1b54a32d192ed03ULL) + 0x9e3779b97f4a7c15ULL * (key + 1));
}

// Random order of the features at a node, by which ties are broken. Cheaper than draw_bits: every
// node ranks every feature, and its seed is well mixed already.
inline uint64_t feature_rank(uint64_t seed, int32_t feature) {
    const uint64_t z = (seed + static_cast<uint64_t>(feature) + 1) * 0x9e3779b97f4a7c15ULL;
    return (z ^ (z >> 32)) * 0xd6e8feb86659fd93ULL;
}

// Uniform in [0, 1): where a random cut falls. As cheap as a rank, since every node draws it for
// every feature it looks at; the two must not meet.
constexpr uint64_t kCutSalt = 0x05ca1ab1e0ddba11ULL;
inline double cut_uniform(uint64_t seed, int32_t feature) {
    return static_cast<double>(feature_rank(seed ^ kCutSalt, feature) >> 11) * 0x1.0p-53;
}

// Uniform in [0, 1).
inline double draw_uniform(uint64_t seed, uint64_t key) {
    return static_cast<double>(draw_bits(seed, key) >> 11) * 0x1.0p-53;
}

// Uniform integer in [0, bound), bound >= 1.
inline uint64_t draw_below(uint64_t seed, uint64_t key, uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(draw_bits(seed, key)) * bound) >>
                                 64);
}

}  // namespace polyleaf
