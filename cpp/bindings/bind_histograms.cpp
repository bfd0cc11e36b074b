// The three steps of a search by histograms, one by one: tests watch what passes between them.
#include <nanobind/stl/tuple.h>

#include <tuple>
#include <vector>

#include "base/random.hpp"
#include "bindings/binned.hpp"
#include "bindings/channels.hpp"
#include "bindings/python_reducer.hpp"
#include "grow/histogram_team.hpp"

namespace polyleaf::bindings {

namespace {

// Calls a function of Python with the sums, which it changes in place.
class PythonReducer : public Reducer {
  public:
    explicit PythonReducer(const nb::callable& function) : function_(function) {}

    void reduce(const SumBlock& block) override {
        nb::gil_scoped_acquire gil;
        function_(name_of(block.what), block.channel_block, view_of_block(block));
    }

  private:
    const nb::callable& function_;
};

struct FoundSplits {
    Split root, children[2];
};

// A node of all rows of this worker, and the two sides of its split, of which the larger one's
// histograms are a difference.
FoundSplits search_node(Workspace& workspace, ThreadTeam& team,
                        const std::vector<int32_t>& features) {
    HistogramTeam histograms(workspace, team);
    ChannelStore store;
    workspace.load({0, workspace.n_rows}, store);
    auto summarise = [&](const NodeRange& range) {
        return workspace.summarise(range, &store, false, true, false, &team);
    };
    const uint64_t seed = workspace.params.seed;
    const NodeRange range{0, workspace.n_rows};
    const NodeTotals totals = summarise(range);
    const std::vector<FeatureTile> tiles = tiles_of(features);
    std::vector<FeatureTile> ranked = tiles;
    for (FeatureTile& tile : ranked)
        for (int lane = 0; lane < tile.n_features; ++lane)
            tile.ranks[lane] = feature_rank(seed, tile.features[lane]);
    NodeHistograms kept(workspace, tiles.size(), workspace.n_blocks);
    FoundSplits found;
    histograms.search({range, &totals, seed, &store}, ranked, &kept, found.root);
    if (!found.root.found()) return found;

    PartitionScratch scratch;
    const int64_t middle = workspace.partition(range, found.root, &store, scratch);
    const NodeRange sides[2] = {{0, middle}, {middle, range.end}};
    const NodeTotals sums[2] = {summarise(sides[0]), summarise(sides[1])};
    SearchNode nodes[2];
    for (int side = 0; side < 2; ++side)
        nodes[side] = {sides[side], &sums[side], child_seed(seed, side), &store};
    const int small = sums[0].n_rows <= sums[1].n_rows ? 0 : 1;
    histograms.search_siblings(nodes[small], nodes[1 - small], tiles, nullptr, kept,
                               found.children[small], found.children[1 - small]);
    return found;
}

// Feature, threshold, missing_left, n_left, gain.
using SplitTuple = std::tuple<int32_t, double, bool, int64_t, double>;
using ReduceFunction = nb::typed<nb::callable, void(std::string, int32_t, nb::any)>;

SplitTuple as_tuple(const Split& split) {
    return {split.feature, split.threshold, split.missing_left, split.n_left, split.gain};
}

std::tuple<SplitTuple, SplitTuple, SplitTuple> search_histograms(
    const Binned& binned, const Channels& channels, const Vector<int32_t>& rows,
    const GrowParams& params, const std::optional<ReduceFunction>& reduce) {
    const BinnedView& view = binned.view();
    require(channels.n_rows() == view.n_rows && !channels.view().is_sparse(),
            "channels must be dense and have a row for each binned row");
    require(view.codes_u8 && view.n_sparse == 0, "codes must be uint8, and all features dense");
    require_range(rows, 0, view.n_rows, "rows");
    channels.require_weight(rows);
    require_threads(params.n_threads);
    const std::vector<int32_t> features(view.dense_features, view.dense_features + view.n_dense);
    for (int32_t feature : features)
        require(!view.is_categorical[feature], "all features must be numeric");
    std::optional<PythonReducer> reducer;
    if (reduce) reducer.emplace(*reduce);
    const FoundSplits found = without_gil([&](Interrupt& interrupt) {
        Workspace workspace(view, channels.view(), rows.data(), length(rows), params, interrupt,
                            reducer ? &*reducer : nullptr);
        ThreadTeam team(params.n_threads, interrupt);
        return search_node(workspace, team, features);
    });
    return {as_tuple(found.root), as_tuple(found.children[0]), as_tuple(found.children[1])};
}

}  // namespace

void bind_histograms(nb::module_& module) {
    module.def("search_histograms", &search_histograms, nb::arg("binned"), nb::arg("channels"),
               nb::arg("rows"), nb::arg("params"), nb::arg("reduce") = nb::none(),
               "Splits (feature, threshold, missing_left, n_left, gain) of the node that holds "
               "`rows`, of its left and of its right child, from histograms. "
               "reduce(what, channel_block, sums): what a Reducer does, in place.");
}

}  // namespace polyleaf::bindings
