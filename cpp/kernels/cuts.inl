// Random cuts of many features of one node at once, in stages without branches: the look-ups of
// one feature do not wait for those of another.
#pragma once

#include <cmath>

#include "kernels/lanes.inl"
#include "ramify/kernels.hpp"
#include "ramify/random.hpp"

namespace ramify::RAMIFY_ISA {

inline bool draw_cuts(const CutTask& task) {
    const CutTables& tables = task.tables;
    const int n = task.n_cuts;
    alignas(64) double values[kCodeColumns];
    alignas(64) int64_t offsets[kCodeColumns];
    alignas(64) int32_t codes[kCodeColumns], last[kCodeColumns];
    bool are_finite = true;
    for (int i = 0; i < n; ++i) {
        const int32_t home = task.homes[i];
        const int64_t offset = tables.offsets[home];
        const double u = cut_uniform(task.seed, tables.features[home]);
        const double low = tables.low[offset + task.first[i]];
        offsets[i] = offset;
        values[i] = std::fma(u, tables.high[offset + task.last[i]] - low, low);
        task.values[i] = values[i];
        are_finite &= values[i] - values[i] == 0.0;
    }
    for (int i = 0; i < n; ++i) {
        const int32_t home = task.homes[i];
        double cell = (values[i] - tables.base[home]) * tables.scale[home];
        // A value that is not finite ends in some cell, too.
        cell = cell > 0.0 ? cell : 0.0;
        cell = cell < CutTables::kCells - 1 ? cell : CutTables::kCells - 1;
        const uint8_t* const before =
            tables.before + home * (CutTables::kCells + 1) + static_cast<int32_t>(cell);
        codes[i] = before[0];
        last[i] = before[1];
    }
    // Two steps are enough for most cells.
    int n_open = 0;
    for (int i = 0; i < n; ++i) {
        const double* const middle = tables.middle + offsets[i];
        int32_t code = codes[i];
        code += (code < last[i]) & (middle[code + 1] <= values[i]);
        code += (code < last[i]) & (middle[code + 1] <= values[i]);
        n_open += (code < last[i]) & (middle[code + 1] <= values[i]);
        codes[i] = code;
    }
    for (int i = 0; n_open > 0 && i < n; ++i) {
        const double* const middle = tables.middle + offsets[i];
        while (codes[i] < last[i] && middle[codes[i] + 1] <= values[i]) ++codes[i];
    }
    for (int i = 0; i < n; ++i) {
        const int32_t least = task.first[i], most = task.last[i] - 1;
        const int32_t code = codes[i] < least ? least : codes[i];
        task.limits[i] = static_cast<uint8_t>(code > most ? most : code);
    }
    return are_finite;
}

}  // namespace ramify::RAMIFY_ISA
