// The compiled core of ramify.
#include "bindings/common.hpp"
#include "ramify/kernels.hpp"

NB_MODULE(_core, module) {
    module.doc() = "The compiled core of ramify: growing, leaf values, prediction and binning.";
    ramify::bindings::init_grower(module);
    ramify::bindings::init_predictor(module);
    ramify::bindings::init_binning(module);
    ramify::bindings::init_rows(module);
    ramify::bindings::init_leaf_rows(module);
    ramify::bindings::init_graph(module);
    ramify::bindings::init_boosting(module);
    ramify::bindings::init_rules(module);
    ramify::bindings::init_rule_learner(module);
    module.def("instruction_set", &ramify::instruction_set,
               "Name of the instruction set whose kernels are in use.");
    module.def("use_instruction_set", &ramify::use_instruction_set, nb::arg("name"),
               "Switch to another instruction set; False if this machine does not have it.");
}
