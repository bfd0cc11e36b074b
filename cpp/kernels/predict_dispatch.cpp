// Chooses the kernels of prediction of the instruction set that is in use.
#include <cstring>

#include "kernels/kernels.hpp"
#include "kernels/predict_kernels.hpp"

namespace polyleaf {

namespace baseline {
const PredictKernels& predict_kernels();
}
#ifdef POLYLEAF_X86
namespace avx2 {
const PredictKernels& predict_kernels();
}
namespace avx512 {
const PredictKernels& predict_kernels();
}
#endif

const PredictKernels& predict_kernels() {
#ifdef POLYLEAF_X86
    if (std::strcmp(instruction_set(), "avx512") == 0) return avx512::predict_kernels();
    if (std::strcmp(instruction_set(), "avx2") == 0) return avx2::predict_kernels();
#endif
    return baseline::predict_kernels();
}

}  // namespace polyleaf
