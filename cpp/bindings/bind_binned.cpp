// Binned features.
#include "bindings/binned.hpp"

namespace polyleaf::bindings {

void bind_binned(nb::module_& module) {
    nb::class_<Binned>(module, "Binned", "Binned features, checked once for any number of fits.")
        .def(nb::init<int64_t, Vector<uint8_t>, Vector<int64_t>, Vector<double>, Vector<double>,
                      Vector<int32_t>, std::optional<Cube<uint8_t>>, std::optional<Cube<uint32_t>>,
                      Vector<int32_t>, Vector<uint32_t>, Vector<int64_t>, Vector<int32_t>,
                      std::optional<Vector<uint32_t>>>(),
             nb::arg("n_rows"), nb::arg("is_categorical"), nb::arg("bin_offsets"),
             nb::arg("bin_low"), nb::arg("bin_high"), nb::arg("dense_features"),
             nb::arg("codes_u8"), nb::arg("codes_u32"), nb::arg("sparse_features"),
             nb::arg("sparse_default"), nb::arg("sparse_indptr"), nb::arg("sparse_slot"),
             nb::arg("sparse_code"));
}

}  // namespace polyleaf::bindings
