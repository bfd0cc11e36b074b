// NumPy arrays as arguments: C-contiguous, of one dtype, never copied.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace nb = nanobind;

namespace polyleaf::bindings {

// Packed buffers may start anywhere; reading them as T is undefined.
[[noreturn]] inline void refuse_misaligned(size_t alignment) {
    throw std::invalid_argument(
        "arrays must be aligned, but one with elements of " + std::to_string(alignment) +
        " bytes starts between two of them, as views of packed buffers do; "
        "np.require(array, requirements='A') makes an aligned copy");
}

// Arrays of const T are read, others are written to. Python knows them as Vector[np.float64] and
// the like (see tools/make_stub.py).
template <typename T, int N>
class Array : public nb::ndarray<T, nb::numpy, nb::ndim<N>, nb::c_contig, nb::device::cpu> {
  public:
    using Base = nb::ndarray<T, nb::numpy, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
    Array() = default;
    explicit Array(Base&& base) : Base(std::move(base)) {}

    T* data() const {
        T* first = Base::data();
        if (reinterpret_cast<std::uintptr_t>(first) % alignof(T) != 0 && Base::size() > 0)
            refuse_misaligned(alignof(T));
        return first;
    }
};

template <typename T>
using Vector = Array<const T, 1>;
template <typename T>
using Matrix = Array<const T, 2>;
template <typename T>
using Cube = Array<const T, 3>;
template <typename T>
using OutVector = Array<T, 1>;
template <typename T>
using OutMatrix = Array<T, 2>;
template <typename T>
using OutCube = Array<T, 3>;

template <typename T>
int64_t length(const T& array) {
    return static_cast<int64_t>(array.shape(0));
}

}  // namespace polyleaf::bindings

namespace nanobind::detail {

template <typename T, int N>
struct type_caster<polyleaf::bindings::Array<T, N>> {
    using Array = polyleaf::bindings::Array<T, N>;
    NB_TYPE_CASTER(Array, const_name<N == 1>("Vector", "") + const_name<N == 2>("Matrix", "") +
                              const_name<N == 3>("Cube", "") + const_name("[numpy.") +
                              dtype_traits<T>::name + const_name("]"))

    template <typename Flags>
    bool from_python(handle source, Flags flags, cleanup_list* cleanup) noexcept {
        make_caster<typename Array::Base> base;
        const Flags no_copy = flags & ~static_cast<Flags>(cast_flags::convert);
        if (!base.from_python(source, no_copy, cleanup)) return false;
        value = Array(std::move(base.value));
        return true;
    }
};

}  // namespace nanobind::detail
