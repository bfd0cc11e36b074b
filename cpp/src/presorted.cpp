#include "presorted.hpp"

#include "ramify/random.hpp"

namespace ramify {

namespace {

constexpr size_t kMaxListBytes = size_t{4} << 20;

}  // namespace

PresortedLists::PresortedLists(Workspace& workspace, const std::vector<int32_t>& features)
    : workspace_(workspace), kernels_(kernels_for(workspace.lanes)), features_(features) {}

bool PresortedLists::is_worthwhile(int64_t n_rows, size_t n_features) {
    return n_rows <= kMaxListRows && n_rows * n_features * sizeof(uint32_t) <= kMaxListBytes;
}

void PresortedLists::start(const NodeRange& subtree) {
    subtree_ = subtree;
    is_active_ = true;
    stride_ = static_cast<size_t>(subtree.size());
    entries_.resize(features_.size() * stride_ + kListReadAhead);
    spill_.resize(stride_ + kListReadAhead);
    moves_.resize(stride_ + 1);
    for (size_t f = 0; f < features_.size(); ++f)
        sort_entries(workspace_, kernels_, subtree, features_[f], entries_.data() + f * stride_);
}

void PresortedLists::search(const SearchNode& node, ListSearch& lists, Split& best) {
    lists.start(node, features_.size());
    ranks_.resize(features_.size());
    for (size_t f = 0; f < features_.size(); ++f)
        ranks_[f] = feature_rank(node.seed, features_[f]);
    lists.search_all(node, features_, ranks_, list(0, node.range), stride_, best);
}

void PresortedLists::split(const NodeRange& range, const std::vector<uint8_t>& left) {
    const int64_t n = range.size();
    uint16_t places[2] = {0, 0};
    for (int64_t i = 0; i < n; ++i) {
        const int side = left[i] ? 0 : 1;
        moves_[i] = static_cast<uint16_t>(places[side]++ | (side ? kRightChild : 0));
    }
    ListSplitTask task;
    task.n_entries = n;
    task.moves = moves_.data();
    task.spill = spill_.data();
    for (size_t f = 0; f < features_.size(); ++f) {
        task.entries = list(f, range);
        kernels_.split_list(task);
    }
}

}  // namespace ramify
