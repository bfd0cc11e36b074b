// How kernels see the channels of a node, and what they take for nothing.
#pragma once

#include <cstdint>

namespace polyleaf {

// A side with no more than this share of its node's weight is what rounding leaves of nothing, in
// sums of either precision. The gain of a lighter side would be rounding errors, magnified.
constexpr double kDustDouble = 1e-12, kDustFloat = 1e-6;

// One block column of a node's channels, repeated every `block_stride` floats.
struct Blocks {
    float* data = nullptr;
    int64_t block_stride = 0;  // floats between consecutive blocks
    int32_t n_blocks = 0;
};

}  // namespace polyleaf
