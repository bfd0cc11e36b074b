// The compiled core of polyleaf.
#include "bindings/common.hpp"
#include "kernels/kernels.hpp"

NB_MODULE(_core, module) {
    module.doc() = "The compiled core of polyleaf: growing, leaf values, prediction and binning.";
    polyleaf::bindings::init_grower(module);
    polyleaf::bindings::init_predictor(module);
    polyleaf::bindings::init_binning(module);
    polyleaf::bindings::init_rows(module);
    polyleaf::bindings::init_leaf_rows(module);
    polyleaf::bindings::init_graph(module);
    polyleaf::bindings::init_boosting(module);
    polyleaf::bindings::init_rules(module);
    polyleaf::bindings::init_rule_learner(module);
    module.def("instruction_set", &polyleaf::instruction_set,
               "Name of the instruction set whose kernels are in use.");
    module.def("use_instruction_set", &polyleaf::use_instruction_set, nb::arg("name"),
               "Switch to another instruction set; False if this machine does not have it.");
}
