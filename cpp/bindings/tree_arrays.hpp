// The arrays of trees as Python gives them.
#pragma once

#include "bindings/common.hpp"
#include "predict/predictor.hpp"

namespace polyleaf::bindings {

struct TreeArguments {
    Vector<int32_t> n_categories;
    Vector<int64_t> tree_offsets;
    Vector<int32_t> feature;
    Vector<double> threshold;
    Vector<int32_t> right;
    Vector<uint8_t> missing_left;
    Vector<int64_t> category_offset;
    Vector<uint32_t> category_words;

    // Lengths are checked here, what the arrays say by a Predictor.
    TreeArrays view() const {
        const int64_t n = length(feature);
        require(n < INT32_MAX && length(n_categories) < INT32_MAX, "the model is too large");
        require_range(n_categories, 0, INT32_MAX - 31, "n_categories");
        require(length(tree_offsets) >= 2, "there must be at least one tree");
        require_offsets(tree_offsets, n, "tree_offsets");
        require_length(threshold, n, "threshold");
        require_length(right, n, "right");
        require_length(missing_left, n, "missing_left");
        require_length(category_offset, n, "category_offset");
        TreeArrays arrays;
        arrays.n_trees = length(tree_offsets) - 1;
        arrays.n_nodes = n;
        arrays.n_words = length(category_words);
        arrays.n_features = static_cast<int32_t>(length(n_categories));
        arrays.n_categories = n_categories.data();
        arrays.tree_offsets = tree_offsets.data();
        arrays.feature = feature.data();
        arrays.threshold = threshold.data();
        arrays.right = right.data();
        arrays.missing_left = missing_left.data();
        arrays.category_offset = category_offset.data();
        arrays.category_words = category_words.data();
        return arrays;
    }
};

}  // namespace polyleaf::bindings
