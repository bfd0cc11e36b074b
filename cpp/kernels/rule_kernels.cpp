// Inner loops of the rule search; compiled once per instruction set (POLYLEAF_ISA).
#include "kernels/rule_kernels.hpp"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <cmath>
#include <cstring>

namespace polyleaf::POLYLEAF_ISA {

namespace {

// A pivot this small beside its diagonal is what rounding leaves of a singular system.
constexpr double kSingular = 1e-10;

#include "kernels/double8.inl"
#include "kernels/rule_lists.inl"
#include "kernels/rule_row_sums.inl"
// uses add_rows and add_logistic_rows
#include "kernels/rule_gains.inl"
#include "kernels/rule_statistics.inl"
#include "kernels/rule_systems.inl"

}  // namespace

const RuleKernels& rule_kernels() {
    static const RuleKernels table = {add_rows,
                                      add_logistic_rows,
                                      list_drawn,
                                      find_places,
                                      keep_placed,
                                      add_bounded_rows,
                                      share_below,
                                      weigh_row,
                                      add_triangle,
                                      add_products,
                                      diagonal_gains,
                                      any_gain_above,
                                      scan_gains,
                                      enter_system,
                                      solve_batch,
                                      note_residual,
                                      quadratic_forms,
                                      symmetric_product,
                                      set_gradient_system,
                                      left_to_gain,
                                      scaled_square,
                                      masked_dot,
                                      start_gradients,
                                      next_direction,
                                      step_along,
                                      logistic_gradient,
                                      move_logistic,
                                      examplewise_statistics,
                                      solve};
    return table;
}

}  // namespace polyleaf::POLYLEAF_ISA
