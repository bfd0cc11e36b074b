#include "bin/byte_rows.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace polyleaf {

namespace {

// Rows whose codes are turned together stay in the first-level cache.
constexpr int64_t kRowsAtOnce = 256;
// Up to here, a row lies within half a cache line; longer ones start at a multiple of 16 bytes.
constexpr int64_t kShortRow = 32, kLongRowUnit = 16;
// A feature is listed if its commonest code has such a share of about so many rows.
constexpr double kLeastUsualShare = 0.7;
constexpr int64_t kSampleRows = 65536;
// Fewer listed features beside others are not worth a pass of their own over the rows.
constexpr int64_t kFewestListed = 12;

int64_t stride_of(int64_t n_features) {
    if (n_features <= kShortRow) {
        int64_t stride = 4;
        while (stride < n_features) stride *= 2;
        return stride;
    }
    return (n_features + kLongRowUnit - 1) / kLongRowUnit * kLongRowUnit;
}

// Codes of a dense feature, kTileFeatures apart.
const uint8_t* tile_of(const BinnedView& binned, int32_t home) {
    return binned.codes_u8 + home / kTileFeatures * binned.n_rows * kTileFeatures +
           home % kTileFeatures;
}

uint8_t byte_of(const BinnedView& binned, int32_t feature, uint32_t code) {
    return static_cast<uint8_t>(code == kMissingU32 ? binned.n_bins(feature) : code);
}

// Writes four features of some rows to places behind each other. Missing values, 255 in a tile,
// get the codes `missing` (4,).
void copy_tile(const uint8_t* tile, const uint8_t* missing, int64_t n_rows, int64_t stride,
               uint8_t* out) {
    constexpr int kUnrolled = 16;
    uint8_t codes[kRowsAtOnce * kTileFeatures], of_missing[kUnrolled];
    for (int k = 0; k < kUnrolled; ++k) of_missing[k] = missing[k % kTileFeatures];
    const int64_t n = n_rows * kTileFeatures, whole = n / kUnrolled * kUnrolled;
    for (int64_t i = 0; i < whole; i += kUnrolled)
        for (int k = 0; k < kUnrolled; ++k)
            codes[i + k] = tile[i + k] == kMissingU8 ? of_missing[k] : tile[i + k];
    for (int64_t i = whole; i < n; ++i)
        codes[i] = tile[i] == kMissingU8 ? of_missing[i - whole] : tile[i];
    for (int64_t row = 0; row < n_rows; ++row)
        std::memcpy(out + row * stride, codes + row * kTileFeatures, kTileFeatures);
}

template <typename Body>
void for_row_blocks(int64_t n_rows, ThreadTeam& team, Body&& body) {
    team.parallel_for((n_rows + kRowsAtOnce - 1) / kRowsAtOnce, [&](int64_t block, int) {
        body(block * kRowsAtOnce, std::min(n_rows, (block + 1) * kRowsAtOnce));
    });
}

}  // namespace

bool can_be_bytes(const BinnedView& binned) {
    if (binned.n_dense > 0 && !binned.codes_u8) return false;
    for (int32_t feature = 0; feature < binned.n_features; ++feature)
        if (binned.n_bins(feature) > int64_t{kMissingU8}) return false;
    return true;
}

ByteRows::ByteRows(const BinnedView& binned, ThreadTeam& team)
    : stride(stride_of(binned.n_features)), places(binned.n_features) {
    choose_listed(binned);
    codes.resize(binned.n_rows * stride);
    fill(binned, team);
    if (!listed.features.empty()) list(binned, team);
}

// Features whose commonest code, of some rows, has a large share of them.
void ByteRows::choose_listed(const BinnedView& binned) {
    const int32_t p = binned.n_features;
    const int64_t step = std::max<int64_t>(1, binned.n_rows / kSampleRows);
    const double n_seen = static_cast<double>((binned.n_rows + step - 1) / step);
    std::vector<uint8_t> usual(p, 0), is_listed(p, 0);
    for (int32_t home = 0; home < binned.n_dense; ++home) {
        const int32_t feature = binned.dense_features[home];
        const uint8_t* const tile = tile_of(binned, home);
        int64_t counts[256] = {};
        for (int64_t row = 0; row < binned.n_rows; row += step)
            ++counts[tile[row * kTileFeatures]];
        const int64_t* const most = std::max_element(counts, counts + 256);
        const uint8_t code = static_cast<uint8_t>(most - counts);
        usual[feature] = code == kMissingU8 ? static_cast<uint8_t>(binned.n_bins(feature)) : code;
        is_listed[feature] = static_cast<double>(*most) >= kLeastUsualShare * n_seen;
    }
    for (int32_t slot = 0; slot < binned.n_sparse; ++slot) {
        const int32_t feature = binned.sparse_features[slot];
        usual[feature] = byte_of(binned, feature, binned.sparse_default[slot]);
        is_listed[feature] = 1;
    }
    const int64_t n_listed = std::count(is_listed.begin(), is_listed.end(), uint8_t{1});
    if (n_listed < std::min<int64_t>(p, kFewestListed))
        std::fill(is_listed.begin(), is_listed.end(), uint8_t{0});
    for (int32_t feature = 0; feature < p; ++feature) {
        if (is_listed[feature]) {
            listed.features.push_back(feature);
            listed.usual.push_back(usual[feature]);
        } else {
            places[feature] = static_cast<int32_t>(full.size());
            full.push_back(feature);
        }
    }
    for (size_t slot = 0; slot < listed.features.size(); ++slot)
        places[listed.features[slot]] = static_cast<int32_t>(full.size() + slot);
}

// Whether a tile begins here whose features have places behind each other.
bool ByteRows::is_together(const BinnedView& binned, int32_t home) const {
    if (home % kTileFeatures != 0 || home + kTileFeatures > binned.n_dense) return false;
    const int32_t* const features = binned.dense_features + home;
    for (int lane = 1; lane < kTileFeatures; ++lane)
        if (places[features[lane]] != places[features[0]] + lane) return false;
    return true;
}

void ByteRows::fill(const BinnedView& binned, ThreadTeam& team) {
    std::vector<uint8_t> usual(binned.n_features, 0);  // by place
    for (int32_t slot = 0; slot < binned.n_sparse; ++slot) {
        const int32_t feature = binned.sparse_features[slot];
        usual[places[feature]] = byte_of(binned, feature, binned.sparse_default[slot]);
    }
    for_row_blocks(binned.n_rows, team, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; binned.n_sparse > 0 && row < end; ++row) {
            uint8_t* const out = codes.data() + row * stride;
            std::copy(usual.begin(), usual.end(), out);
            for (int64_t e = binned.sparse_indptr[row]; e < binned.sparse_indptr[row + 1]; ++e) {
                const int32_t feature = binned.sparse_features[binned.sparse_slot[e]];
                out[places[feature]] = byte_of(binned, feature, binned.listed_code(e));
            }
        }
        for (int32_t home = 0; home < binned.n_dense; ++home) {
            const int32_t feature = binned.dense_features[home];
            const uint8_t missing = static_cast<uint8_t>(binned.n_bins(feature));
            const uint8_t* const tile = tile_of(binned, home);
            uint8_t* const out = codes.data() + places[feature];
            if (is_together(binned, home)) {
                uint8_t of_missing[kTileFeatures];
                for (int lane = 0; lane < kTileFeatures; ++lane)
                    of_missing[lane] =
                        static_cast<uint8_t>(binned.n_bins(binned.dense_features[home + lane]));
                copy_tile(tile + begin * kTileFeatures, of_missing, end - begin, stride,
                          out + begin * stride);
                home += kTileFeatures - 1;
                continue;
            }
            for (int64_t row = begin; row < end; ++row) {
                const uint8_t code = tile[row * kTileFeatures];
                out[row * stride] = code == kMissingU8 ? missing : code;
            }
        }
    });
}

void ByteRows::list(const BinnedView& binned, ThreadTeam& team) {
    const size_t n_slots = listed.features.size();
    const uint8_t* const first = codes.data() + full.size();
    const uint8_t* const usual = listed.usual.data();
    listed.starts.resize(binned.n_rows + 1);
    listed.starts[0] = 0;
    for_row_blocks(binned.n_rows, team, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const uint8_t* const of_row = first + row * stride;
            int64_t n = 0;
            for (size_t slot = 0; slot < n_slots; ++slot) n += of_row[slot] != usual[slot];
            listed.starts[row + 1] = n;
        }
    });
    for (int64_t row = 0; row < binned.n_rows; ++row) listed.starts[row + 1] += listed.starts[row];
    listed.entries.resize(listed.starts[binned.n_rows] + kEntriesBeyond);
    std::fill_n(listed.entries.end() - kEntriesBeyond, kEntriesBeyond, uint32_t{0});
    for_row_blocks(binned.n_rows, team, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const uint8_t* const of_row = first + row * stride;
            uint32_t* out = listed.entries.data() + listed.starts[row];
            for (size_t slot = 0; slot < n_slots; ++slot)
                if (of_row[slot] != usual[slot])
                    *out++ = static_cast<uint32_t>(slot << 8 | of_row[slot]);
        }
    });
}

}  // namespace polyleaf
