// Compiled once per instruction set (POLYLEAF_ISA); see dispatch.cpp for the choice.
#include "kernels/kernels.hpp"

#include "kernels/boosting.inl"
#include "kernels/boosting_exact.inl"
#include "kernels/columns.inl"
#include "kernels/cuts.inl"
#include "kernels/explain.inl"
#include "kernels/find_bins.inl"
#include "kernels/fixed.inl"
#include "kernels/histogram.inl"
#include "kernels/lanes.inl"
#include "kernels/list.inl"
#include "kernels/pairs.inl"
#include "kernels/parting.inl"
#include "kernels/rows.inl"
#include "kernels/sides.inl"
#include "kernels/sizes.inl"
#include "kernels/walk.inl"

#define POLYLEAF_STRING_(x) #x
#define POLYLEAF_STRING(x) POLYLEAF_STRING_(x)

namespace polyleaf::POLYLEAF_ISA {

template <int N>
constexpr Kernels table() {
    Kernels kernels{};
    kernels.isa = POLYLEAF_STRING(POLYLEAF_ISA);
    kernels.walk = walk<N>;
    kernels.walk_double = walk_double<N>;
    kernels.walk_weighted = walk_weighted<N, float>;
    kernels.walk_weighted_double = walk_weighted<N, double>;
    kernels.sort_list = sort_list;
    kernels.list_factors = list_factors;
    kernels.walk_list = walk_list<N>;
    kernels.walk_groups = walk_groups<N>;
    kernels.walk_pairs = walk_pairs<N>;
    kernels.best_of_list = best_of_list;
    kernels.best_of_groups = best_of_groups;
    kernels.split_list = split_list;
    kernels.subset_norms = subset_norms<N>;
    kernels.row_products = row_products<N>;
    kernels.norms_of_products = norms_of_products;
    kernels.sum_columns = sum_columns<N>;
    kernels.sum_entries = sum_entries<N>;
    kernels.norms_of_sums = norms_of_sums<N>;
    kernels.code_ranges = code_ranges;
    kernels.draw_cuts = draw_cuts;
    kernels.cut_few_rows = cut_few_rows;
    kernels.code_masks = code_masks;
    kernels.side_norms = side_norms<N>;
    kernels.centre = centre<N>;
    kernels.part_rows = part_rows<N>;
    kernels.part_items = part_items;
    kernels.part_centred = part_centred<N>;
    kernels.find_bins = find_bins;
    kernels.encode_floats = encode_floats;
    kernels.build_histogram = build_histogram<N>;
    kernels.scan_histogram = scan_histogram<N>;
    kernels.scan_weighted = scan_weighted<N>;
    kernels.build_fixed = build_fixed;
    kernels.build_fixed_lists = build_fixed_lists;
    kernels.scan_fixed = scan_fixed;
    kernels.scan_fixed_weighted = scan_fixed_weighted;
    kernels.measure_sizes = measure_sizes;
    kernels.quantise = quantise;
    kernels.sum_leaf = sum_leaf;
    kernels.add_to_leaf = add_to_leaf;
    kernels.take_from_leaf = take_from_leaf;
    kernels.sum_logistic_leaf = sum_logistic_leaf;
    kernels.move_logistic_leaf = move_logistic_leaf;
    kernels.sum_leaf_exactly = sum_leaf_exactly;
    kernels.weigh_leaf_exactly = weigh_leaf_exactly;
    kernels.sum_logistic_leaf_exactly = sum_logistic_leaf_exactly;
    kernels.move_logistic_leaf_exactly = move_logistic_leaf_exactly;
    kernels.project_rows = project_rows;
    kernels.walk_shap = walk_shap_of;
    kernels.add_shap = add_shap;
    return kernels;
}

const Kernels& kernels(int lanes) {
    static const Kernels four = table<4>(), eight = table<8>(), sixteen = table<16>();
    return lanes == 4 ? four : lanes == 8 ? eight : sixteen;
}

}  // namespace polyleaf::POLYLEAF_ISA
