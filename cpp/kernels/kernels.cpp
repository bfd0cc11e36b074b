// Compiled once per instruction set (RAMIFY_ISA); see dispatch.cpp for the choice.
#include "ramify/kernels.hpp"

#include "kernels/find_bins.inl"
#include "kernels/flags.inl"
#include "kernels/histogram.inl"
#include "kernels/lanes.inl"
#include "kernels/list.inl"
#include "kernels/walk.inl"

#define RAMIFY_STRING_(x) #x
#define RAMIFY_STRING(x) RAMIFY_STRING_(x)

namespace ramify::RAMIFY_ISA {

template <int N>
constexpr Kernels table() {
    return {RAMIFY_STRING(RAMIFY_ISA), walk<N>,          walk_double<N>, walk_weighted<N, float>,
            walk_weighted<N, double>,  walk_list<N>,     best_of_list,   split_list,
            subset_norms<N>,           flagged_norms<N>, find_bins,      build_histogram<N>,
            scan_histogram<N>,         scan_weighted<N>};
}

const Kernels& kernels(int lanes) {
    static const Kernels four = table<4>(), eight = table<8>(), sixteen = table<16>();
    return lanes == 4 ? four : lanes == 8 ? eight : sixteen;
}

}  // namespace ramify::RAMIFY_ISA
