// What all bindings share: checks and Ctrl-C.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/checks.hpp"
#include "base/parallel.hpp"
#include "bindings/arrays.hpp"

namespace polyleaf::bindings {

// For checks outside of loops: the message is built either way.
inline void require(bool condition, const std::string& message) {
    if (!condition) throw std::invalid_argument(message);
}
inline void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

template <typename T>
void require_length(const T& array, int64_t expected, const char* name) {
    require(length(array) == expected, std::string(name) + " must have length " +
                                           std::to_string(expected) + "; got " +
                                           std::to_string(length(array)));
}

template <typename T>
void require_range(const Vector<T>& array, int64_t low, int64_t high, const char* name) {
    const T* values = array.data();
    if (are_in_range(values, length(array), low, high)) return;
    for (int64_t i = 0; i < length(array); ++i) {
        const int64_t value = static_cast<int64_t>(values[i]);
        if (value >= low && value < high) continue;
        throw std::invalid_argument(std::string(name) + "[" + std::to_string(i) +
                                    "] = " + std::to_string(value) + " is not in [" +
                                    std::to_string(low) + ", " + std::to_string(high) + ")");
    }
}

// Offsets as in CSR: they start at 0, never fall and end at `total`.
inline void require_offsets(const Vector<int64_t>& offsets, int64_t total, const char* name) {
    const int64_t* values = offsets.data();
    const int64_t n = length(offsets);
    require(n >= 1 && values[0] == 0 && values[n - 1] == total,
            std::string(name) + " must start at 0 and end at " + std::to_string(total));
    for (int64_t i = 1; i < n; ++i)
        if (values[i] < values[i - 1])
            throw std::invalid_argument(std::string(name) + " must not fall");
}

inline void require_threads(int n_threads) {
    require(n_threads >= 1 && n_threads <= 1024, "n_threads must be between 1 and 1024");
}

// Runs `body(interrupt)` without the GIL; Ctrl-C surfaces as the Python exception it is. Python
// tells only its main thread of Ctrl-C; the others stop as soon as `stop` is set.
template <typename Body>
auto without_gil(Body&& body, const std::atomic<bool>* stop = nullptr) {
    Interrupt interrupt([stop] {
        nb::gil_scoped_acquire gil;
        if (stop != nullptr && stop->load()) {
            PyErr_SetNone(PyExc_KeyboardInterrupt);
            return true;
        }
        return PyErr_CheckSignals() != 0;
    });
    try {
        nb::gil_scoped_release release;
        return body(interrupt);
    } catch (const Interrupted&) {
        throw nb::python_error();
    }
}

void bind_binned(nb::module_& module);
void bind_channels(nb::module_& module);
void bind_grower(nb::module_& module);
void bind_histograms(nb::module_& module);
void bind_leaves(nb::module_& module);
void bind_plan(nb::module_& module);
void bind_predictor(nb::module_& module);
void bind_explain(nb::module_& module);
void bind_dependence(nb::module_& module);
void bind_binning(nb::module_& module);
void bind_rows(nb::module_& module);
void bind_leaf_rows(nb::module_& module);
void bind_graph(nb::module_& module);
void bind_boosting(nb::module_& module);
void bind_rules(nb::module_& module);
void bind_rule_learner(nb::module_& module);

}  // namespace polyleaf::bindings
