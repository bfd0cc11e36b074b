// The number of lanes of a block as a constant.
#pragma once

#include <type_traits>

namespace polyleaf {

// body(constant) with the number of lanes as a constant, so that loops over lanes are unrolled.
template <typename Body>
void with_lanes(int lanes, Body&& body) {
    if (lanes == 4)
        body(std::integral_constant<int, 4>{});
    else if (lanes == 8)
        body(std::integral_constant<int, 8>{});
    else
        body(std::integral_constant<int, 16>{});
}

}  // namespace polyleaf
