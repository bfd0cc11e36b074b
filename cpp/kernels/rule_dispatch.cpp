// Chooses the rule kernels of the instruction set that is in use.
#include <cstring>

#include "kernels/kernels.hpp"
#include "kernels/rule_kernels.hpp"

namespace polyleaf {

namespace baseline {
const RuleKernels& rule_kernels();
}
#ifdef POLYLEAF_X86
namespace avx2 {
const RuleKernels& rule_kernels();
}
namespace avx512 {
const RuleKernels& rule_kernels();
}
#endif

const RuleKernels& rule_kernels() {
#ifdef POLYLEAF_X86
    if (std::strcmp(instruction_set(), "avx512") == 0) return avx512::rule_kernels();
    if (std::strcmp(instruction_set(), "avx2") == 0) return avx2::rule_kernels();
#endif
    return baseline::rule_kernels();
}

}  // namespace polyleaf
