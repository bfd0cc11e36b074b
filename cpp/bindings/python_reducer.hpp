// A Reducer that is a function of Python.
#pragma once

#include "bindings/common.hpp"
#include "grow/reducer.hpp"

namespace polyleaf::bindings {

inline const char* name_of(SumOf what) {
    switch (what) {
        case SumOf::node_rows:
            return "node_rows";
        case SumOf::node_sums:
            return "node_sums";
        case SumOf::bin_rows:
            return "bin_rows";
        case SumOf::bin_weights:
            return "bin_weights";
        case SumOf::bin_gradients:
            return "bin_gradients";
        case SumOf::bin_hessians:
            return "bin_hessians";
        case SumOf::tree_rows:
            return "tree_rows";
        case SumOf::largest:
            return "largest";
        case SumOf::sizes:
            return "sizes";
        case SumOf::bin_sums:
            return "bin_sums";
        case SumOf::leaf_sums:
            return "leaf_sums";
        default:
            return "loss";
    }
}

inline const char* name_of(ReduceBy by) { return by == ReduceBy::sum ? "sum" : "max"; }

template <typename T>
nb::object view_of(const SumBlock& block) {
    const size_t shape[] = {static_cast<size_t>(block.n_rows), static_cast<size_t>(block.width)};
    const int64_t strides[] = {block.stride, 1};
    return nb::cast(
        nb::ndarray<nb::numpy, T>(static_cast<T*>(block.data), 2, shape, nb::handle(), strides),
        nb::rv_policy::reference);
}

// The sums as a NumPy array, which must not outlive the call that gets it.
inline nb::object view_of_block(const SumBlock& block) {
    switch (block.type) {
        case SumType::uint32:
            return view_of<uint32_t>(block);
        case SumType::int32:
            return view_of<int32_t>(block);
        case SumType::int64:
            return view_of<int64_t>(block);
        case SumType::float32:
            return view_of<float>(block);
        default:
            return view_of<double>(block);
    }
}

// function(numbers, by) replaces the numbers in place by those of all workers; `by` is "sum" or
// "max". It is called with the GIL, on the thread that called the core.
using AllReduce = nb::typed<nb::callable, void(nb::any, std::string)>;

class CollectiveReducer : public Reducer {
  public:
    explicit CollectiveReducer(const AllReduce& function) : function_(function) {}

    void reduce(const SumBlock& block) override {
        nb::gil_scoped_acquire gil;
        function_(view_of_block(block), name_of(block.by));
    }

  private:
    const AllReduce& function_;
};

}  // namespace polyleaf::bindings
