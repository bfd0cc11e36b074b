// Codes of dense feature columns.
#include <vector>

#include "base/data.hpp"
#include "bin/binning.hpp"
#include "bindings/common.hpp"

namespace polyleaf::bindings {

namespace {

template <typename T, typename Code>
void encode(const Matrix<T>& values, const Vector<int32_t>& features,
            const Vector<int64_t>& bin_offsets, const Vector<double>& bin_high,
            OutCube<Code> codes, int n_threads) {
    const int64_t n = length(values), p = values.shape(1), n_features = length(features);
    require_threads(n_threads);
    require_range(features, 0, p, "features");
    require_length(bin_offsets, p + 1, "bin_offsets");
    require_offsets(bin_offsets, length(bin_high), "bin_offsets");
    require(length(codes) == (n_features + kTileFeatures - 1) / kTileFeatures &&
                static_cast<int64_t>(codes.shape(1)) == n && codes.shape(2) == kTileFeatures,
            "codes must have shape (ceil(n_features / 4), n_rows, 4)");
    require(length(bin_high) < INT32_MAX, "there are too many bins");
    const int64_t most = sizeof(Code) == 1 ? kMissingU8 : kMissingU32;
    for (int64_t i = 0; i < n_features; ++i) {
        const int64_t* offset = bin_offsets.data() + features.data()[i];
        require(offset[1] - offset[0] <= most, "a feature has more bins than there are codes");
    }
    EncodeTask<T, Code> task;
    task.n_rows = n;
    task.n_columns = p;
    task.values = values.data();
    task.features = features.data();
    task.n_features = n_features;
    task.bin_offsets = bin_offsets.data();
    task.bin_high = bin_high.data();
    task.missing = static_cast<Code>(sizeof(Code) == 1 ? kMissingU8 : kMissingU32);
    task.codes = codes.data();
    without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_threads, interrupt);
        encode_columns(task, team);
    });
}

template <typename T, typename Code>
void def_encode(nb::module_& module) {
    module.def("encode_columns", &encode<T, Code>, nb::arg("values"), nb::arg("features"),
               nb::arg("bin_offsets"), nb::arg("bin_high"), nb::arg("codes"), nb::arg("n_threads"),
               "Codes of the listed columns of values (n, p), in tiles of four.");
}

template <typename T>
void gather(const Matrix<T>& values, const Vector<int32_t>& features, OutMatrix<T> block,
            int n_threads) {
    const int64_t n = length(values), p = static_cast<int64_t>(values.shape(1));
    require_threads(n_threads);
    require_range(features, 0, p, "features");
    require(length(block) == length(features) && static_cast<int64_t>(block.shape(1)) == n,
            "block must have shape (n_features, n_rows)");
    without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_threads, interrupt);
        gather_columns(values.data(), n, p, features.data(), length(features), block.data(), team);
    });
}

template <typename T>
void cut(const Matrix<T>& ordered, OutMatrix<double> low, OutMatrix<double> high,
         OutVector<int64_t> n_bins, OutVector<int64_t> commonest, OutVector<int64_t> n_commonest,
         int n_threads) {
    QuantileTask<T> task;
    task.n_columns = length(ordered);
    task.n_rows = static_cast<int64_t>(ordered.shape(1));
    task.max_bins = static_cast<int64_t>(low.shape(1));
    require_threads(n_threads);
    require(task.n_rows < INT32_MAX, "there are too many rows");
    require(length(low) == task.n_columns && length(high) == task.n_columns &&
                task.max_bins >= 1 && static_cast<int64_t>(high.shape(1)) == task.max_bins,
            "low and high must have shape (n_columns, max_bins)");
    require_length(n_bins, task.n_columns, "n_bins");
    require_length(commonest, task.n_columns, "commonest");
    require_length(n_commonest, task.n_columns, "n_commonest");
    task.ordered = ordered.data();
    task.low = low.data();
    task.high = high.data();
    task.n_bins = n_bins.data();
    task.commonest = commonest.data();
    task.n_commonest = n_commonest.data();
    without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_threads, interrupt);
        cut_columns(task, team);
    });
}

template <typename T>
void def_cut(nb::module_& module) {
    module.def("gather_columns", &gather<T>, nb::arg("values"), nb::arg("features"),
               nb::arg("block"), nb::arg("n_threads"),
               "Write the listed columns of values (n, p) one by one.");
    module.def("cut_columns", &cut<T>, nb::arg("ordered"), nb::arg("low"), nb::arg("high"),
               nb::arg("n_bins"), nb::arg("commonest"), nb::arg("n_commonest"),
               nb::arg("n_threads"), "Cut sorted columns, NaN last, into bins.");
}

void cut_values(const Vector<int64_t>& counts, OutVector<int64_t> ends) {
    const int64_t n = length(counts), n_bins = length(ends);
    require_range(counts, 1, INT32_MAX, "counts");
    int64_t total = 0;
    for (int64_t i = 0; i < n; ++i) total += counts.data()[i];
    require(total < INT32_MAX, "counts must add up to less than 2**31 - 1");
    require(n_bins <= n && (n_bins >= 1 || n == 0), "there must be at most a bin for each value");
    cut_into_bins(counts.data(), n, n_bins, ends.data());
}

template <typename T>
void find_flags_in(const Matrix<T>& values, OutVector<double> low, OutVector<double> high,
                   OutVector<int64_t> n_high, int n_threads) {
    FlagTask<T> task;
    task.n_rows = length(values);
    task.n_columns = static_cast<int64_t>(values.shape(1));
    require_threads(n_threads);
    require(task.n_rows >= 1, "there must be at least one row");
    require_length(low, task.n_columns, "low");
    require_length(high, task.n_columns, "high");
    require_length(n_high, task.n_columns, "n_high");
    task.values = values.data();
    task.low = low.data();
    task.high = high.data();
    task.n_high = n_high.data();
    without_gil([&](Interrupt& interrupt) {
        ThreadTeam team(n_threads, interrupt);
        find_flags(task, team);
    });
}

template <typename T>
int64_t uncommon(const Matrix<T>& values, const Vector<int32_t>& features,
                 const Vector<double>& common, OutVector<int32_t> rows, OutVector<int32_t> slots) {
    ListTask<T> task;
    task.n_rows = length(values);
    task.n_columns = static_cast<int64_t>(values.shape(1));
    require_range(features, 0, task.n_columns, "features");
    require_length(common, length(features), "common");
    require_length(slots, length(rows), "slots");
    task.values = values.data();
    task.features = features.data();
    task.common = common.data();
    task.n_features = length(features);
    task.n_listed = length(rows);
    task.rows = rows.data();
    task.slots = slots.data();
    task.n_listed = length(slots);
    return without_gil([&](Interrupt&) { return list_uncommon(task); });
}

template <typename T>
void def_find_flags(nb::module_& module) {
    module.def(
        "find_flags", &find_flags_in<T>, nb::arg("values"), nb::arg("low"), nb::arg("high"),
        nb::arg("n_high"), nb::arg("n_threads"),
        "Find the columns of at most two values: these, and how many rows have the larger one.");
    module.def("list_uncommon", &uncommon<T>, nb::arg("values"), nb::arg("features"),
               nb::arg("common"), nb::arg("rows"), nb::arg("slots"),
               "List the rows that do not have the common value of a feature; count them.");
}

void count(const Vector<int32_t>& indices, OutVector<int64_t> counts) {
    require_range(indices, 0, length(counts), "indices");
    count_entries(indices.data(), length(indices), length(counts), counts.data());
}

template <typename Code>
void split(const Vector<int64_t>& indptr, const Vector<int32_t>& indices,
           const Vector<int32_t>& place, const Vector<uint32_t>& code,
           const Vector<int32_t>& inverted, OutVector<int64_t> list_indptr,
           OutVector<int32_t> slots, OutCube<Code> tiles) {
    SplitTask<Code> task;
    task.n_rows = length(indptr) - 1;
    const int64_t n_features = length(place);
    require_offsets(indptr, length(indices), "indptr");
    require_range(indices, 0, n_features, "indices");
    require(rise_within_rows(indptr.data(), task.n_rows, indices.data()),
            "indices must rise within a row");
    require_length(code, n_features, "code");
    require_length(list_indptr, task.n_rows + 1, "list_indptr");
    require(static_cast<int64_t>(tiles.shape(1)) == task.n_rows && tiles.shape(2) == kTileFeatures,
            "tiles must have shape (n_tiles, n_rows, 4)");
    require_range(place, -length(tiles) * kTileFeatures, n_features, "place");
    require_range(inverted, 0, n_features, "inverted");
    for (int64_t i = 0; i < length(inverted); ++i) {
        require(i == 0 || inverted.data()[i] > inverted.data()[i - 1], "inverted must rise");
        require(place.data()[inverted.data()[i]] >= 0, "inverted features must have a slot");
    }
    task.indptr = indptr.data();
    task.indices = indices.data();
    task.place = place.data();
    task.code = code.data();
    task.inverted = inverted.data();
    task.n_inverted = length(inverted);
    task.list_indptr = list_indptr.data();
    task.slots = slots.data();
    task.n_listed = length(slots);
    task.tiles = tiles.data();
    const bool fits = without_gil([&](Interrupt&) { return split_entries(task); });
    require(fits, "slots must have the length of what is listed");
}

template <typename Index>
bool is_csr_canonical(const Vector<Index>& indptr, const Vector<Index>& indices,
                      int64_t n_columns) {
    require(length(indptr) >= 1, "indptr must not be empty");
    return is_canonical(indptr.data(), length(indptr) - 1, indices.data(), length(indices),
                        n_columns);
}

template <typename Index>
void def_canonical(nb::module_& module) {
    module.def("is_canonical", &is_csr_canonical<Index>, nb::arg("indptr"), nb::arg("indices"),
               nb::arg("n_columns"),
               "Tell whether indices of a CSR matrix are in range and rise within rows.");
}

template <typename Code>
void def_split(nb::module_& module) {
    module.def("split_entries", &split<Code>, nb::arg("indptr"), nb::arg("indices"),
               nb::arg("place"), nb::arg("code"), nb::arg("inverted"), nb::arg("list_indptr"),
               nb::arg("slots"), nb::arg("tiles"),
               "Split entries by row into lists and tiles of four features.");
}

}  // namespace

void bind_binning(nb::module_& module) {
    module.def("count_entries", &count, nb::arg("indices"), nb::arg("counts"),
               "Count how often each number is among the indices.");
    def_canonical<int32_t>(module);
    def_canonical<int64_t>(module);
    def_split<uint8_t>(module);
    def_split<uint32_t>(module);
    def_find_flags<float>(module);
    def_find_flags<double>(module);
    module.def("cut_into_bins", &cut_values, nb::arg("counts"), nb::arg("ends"),
               "Cut values that occur so often into bins of about equal counts.");
    def_cut<float>(module);
    def_cut<double>(module);
    def_encode<float, uint8_t>(module);
    def_encode<double, uint8_t>(module);
    def_encode<float, uint32_t>(module);
    def_encode<double, uint32_t>(module);
}

}  // namespace polyleaf::bindings
