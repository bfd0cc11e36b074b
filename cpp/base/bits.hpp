// Sets as the bits of a word.
#pragma once

#include <cstdint>

namespace polyleaf {

// body(bit) for every bit that is set, in ascending order.
template <typename Body>
void for_each_bit(uint64_t bits, Body&& body) {
    for (; bits; bits &= bits - 1) body(__builtin_ctzll(bits));
}

// How many of the lowest eight bits are set. The instruction for it is not on every machine.
inline int count_bits(uint32_t bits) {
    bits -= bits >> 1 & 0x55;
    bits = (bits & 0x33) + (bits >> 2 & 0x33);
    return static_cast<int>((bits + (bits >> 4)) & 0x0f);
}

}  // namespace polyleaf
