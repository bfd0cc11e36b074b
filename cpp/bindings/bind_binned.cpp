// Binned features.
#include "bindings/binned.hpp"

namespace polyleaf::bindings {

void bind_binned(nb::module_& module) {
    nb::class_<Binned>(module, "Binned", "Binned features, checked once for any number of fits.")
        .def(nb::init<int64_t, Vector<uint8_t>, Vector<int64_t>, Vector<double>, Vector<double>,
                      Vector<int32_t>, std::optional<Cube<uint8_t>>, std::optional<Cube<uint32_t>>,
                      Vector<int32_t>, Vector<uint32_t>, Vector<int64_t>, Vector<int32_t>,
                      std::optional<Vector<uint32_t>>>(),
             nb::arg("n_rows"), nb::arg("is_categorical").noconvert(),
             nb::arg("bin_offsets").noconvert(), nb::arg("bin_low").noconvert(),
             nb::arg("bin_high").noconvert(), nb::arg("dense_features").noconvert(),
             nb::arg("codes_u8").noconvert().none(), nb::arg("codes_u32").noconvert().none(),
             nb::arg("sparse_features").noconvert(), nb::arg("sparse_default").noconvert(),
             nb::arg("sparse_indptr").noconvert(), nb::arg("sparse_slot").noconvert(),
             nb::arg("sparse_code").noconvert().none());
}

}  // namespace polyleaf::bindings
