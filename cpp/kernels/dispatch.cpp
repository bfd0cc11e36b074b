// Chooses the kernels of the best instruction set that this machine has.
#include <atomic>
#include <string>

#include "kernels/kernels.hpp"

namespace polyleaf {

namespace baseline {
const Kernels& kernels(int lanes);
}
#ifdef POLYLEAF_X86
namespace avx2 {
const Kernels& kernels(int lanes);
}
namespace avx512 {
const Kernels& kernels(int lanes);
}
#endif

namespace {

int best_level() {
#ifdef POLYLEAF_X86
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("bmi2"))
        return 2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 1;
#endif
    return 0;
}

std::atomic<int>& level() {
    static std::atomic<int> value{best_level()};
    return value;
}

constexpr const char* kNames[] = {"baseline", "avx2", "avx512"};

}  // namespace

const char* instruction_set() { return kNames[level().load()]; }

bool use_instruction_set(const std::string& name) {
    for (int candidate = 0; candidate <= best_level(); ++candidate) {
        if (name == kNames[candidate]) {
            level().store(candidate);
            return true;
        }
    }
    return false;
}

const Kernels& kernels_for(int lanes) {
#ifdef POLYLEAF_X86
    if (level().load() == 2) return avx512::kernels(lanes);
    if (level().load() == 1) return avx2::kernels(lanes);
#endif
    return baseline::kernels(lanes);
}

}  // namespace polyleaf
