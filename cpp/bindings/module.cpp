// The compiled core of polyleaf.
#include "bindings/common.hpp"
#include "kernels/kernels.hpp"

NB_MODULE(_core, module) {
    module.doc() = "The compiled core of polyleaf: growing, leaf values, prediction and binning.";
    // What Python holds to its end, as daemon threads do, is no leak; see decision 96.
    nb::set_leak_warnings(false);
    module.def("warn_of_leaks", &nb::set_leak_warnings, nb::arg("on"),
               "Whether to list objects of the core that are alive after the interpreter's end.");
    polyleaf::bindings::bind_binned(module);
    polyleaf::bindings::bind_channels(module);
    polyleaf::bindings::bind_grower(module);
    polyleaf::bindings::bind_histograms(module);
    polyleaf::bindings::bind_leaves(module);
    polyleaf::bindings::bind_plan(module);
    polyleaf::bindings::bind_predictor(module);
    polyleaf::bindings::bind_explain(module);
    polyleaf::bindings::bind_dependence(module);
    polyleaf::bindings::bind_binning(module);
    polyleaf::bindings::bind_rows(module);
    polyleaf::bindings::bind_leaf_rows(module);
    polyleaf::bindings::bind_graph(module);
    polyleaf::bindings::bind_boosting(module);
    polyleaf::bindings::bind_rules(module);
    polyleaf::bindings::bind_rule_learner(module);
    module.def("instruction_set", &polyleaf::instruction_set,
               "Name of the instruction set whose kernels are in use.");
    module.def("use_instruction_set", &polyleaf::use_instruction_set, nb::arg("name"),
               "Switch to another instruction set; False if this machine does not have it.");
}
