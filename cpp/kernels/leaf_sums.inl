// Values of leaves, added tree after tree: every row adds in the same order, however rows and
// trees are divided, so that predictions do not depend on the division.

template <int N>
inline int64_t add_channels(const AddValuesTask& task, int64_t row, int64_t k) {
    typedef float Lanes __attribute__((vector_size(N * sizeof(float)), aligned(4)));
    const int64_t d = task.n_outputs;
    for (; k + N <= d; k += N) {
        Lanes* const raw = reinterpret_cast<Lanes*>(task.raw + row * d + k);
        Lanes sum = *raw;
        for (int64_t tree = 0; tree < task.n_trees; ++tree)
            sum += *reinterpret_cast<const Lanes*>(
                task.values + int64_t{task.leaves[tree * task.leaf_stride + row]} * d + k);
        *raw = sum;
    }
    return k;
}

void add_values(const AddValuesTask& task) {
    for (int64_t row = 0; row < task.n_rows; ++row) {
        int64_t k = add_channels<16>(task, row, 0);
        k = add_channels<4>(task, row, k);
        add_channels<1>(task, row, k);
    }
}

#if defined(__AVX512F__)

// Up to 64 numbers are looked up in four registers.
inline void add_small_table(const float* numbers, int depth, const uint8_t* ids, __m512* sums) {
    const __m512 first = _mm512_loadu_ps(numbers);
    const __m512 second = depth < 5 ? first : _mm512_loadu_ps(numbers + 16);
    const __m512 third = depth < 6 ? first : _mm512_loadu_ps(numbers + 32);
    const __m512 fourth = depth < 6 ? first : _mm512_loadu_ps(numbers + 48);
    for (int i = 0; i < 4; ++i) {
        const __m512i id =
            _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(ids + 16 * i)));
        const __m512 low = _mm512_permutex2var_ps(first, id, second);
        const __m512 high = _mm512_permutex2var_ps(third, id, fourth);
        const __mmask16 is_high = _mm512_test_epi32_mask(id, _mm512_set1_epi32(32));
        sums[i] = _mm512_add_ps(sums[i], _mm512_mask_blend_ps(is_high, low, high));
    }
}

void add_numbers(const AddNumbersTask& task) {
    __m512 sums[4];
    for (int i = 0; i < 4; ++i) sums[i] = _mm512_loadu_ps(task.raw + 16 * i);
    for (int64_t tree = 0; tree < task.n_trees; ++tree) {
        const uint8_t* const ids = task.ids + tree * task.id_stride;
        const float* const numbers = task.numbers[tree];
        if (task.depths[tree] <= 6) {
            add_small_table(numbers, task.depths[tree], ids, sums);
            continue;
        }
        for (int i = 0; i < 4; ++i) {
            const __m512i id = _mm512_cvtepu8_epi32(
                _mm_loadu_si128(reinterpret_cast<const __m128i*>(ids + 16 * i)));
            sums[i] = _mm512_add_ps(sums[i], _mm512_i32gather_ps(id, numbers, 4));
        }
    }
    for (int i = 0; i < 4; ++i) _mm512_storeu_ps(task.raw + 16 * i, sums[i]);
}

#else

void add_numbers(const AddNumbersTask& task) {
    float sums[kCodedRows];
    std::memcpy(sums, task.raw, sizeof sums);
    for (int64_t tree = 0; tree < task.n_trees; ++tree)
        for (int r = 0; r < kCodedRows; ++r)
            sums[r] += task.numbers[tree][task.ids[tree * task.id_stride + r]];
    std::memcpy(task.raw, sums, sizeof sums);
}

#endif

// kVectors vectors of N channels from channel k on, as often as they fit: the sums of a row stay
// in registers over all trees.
template <int kVectors, int N>
inline int64_t add_shares_of(const AddSharesTask& task, int64_t row, int64_t k) {
    typedef double Lanes __attribute__((vector_size(N * sizeof(double)), aligned(8)));
    const int64_t width = task.n_channels;
    const int32_t* const leaves = task.leaves + row * task.row_stride;
    for (; k + kVectors * N <= width; k += kVectors * N) {
        double* const out = task.sums + row * width + k;
        Lanes sums[kVectors];
        for (int v = 0; v < kVectors; ++v) sums[v] = *reinterpret_cast<const Lanes*>(out + v * N);
        for (int64_t tree = 0; tree < task.n_trees; ++tree) {
            const int32_t leaf = leaves[tree * task.tree_stride];
            const double* const weights =
                task.weights == nullptr ? nullptr : task.weights + tree * width + k;
            auto add = [&](int32_t number, auto&& times_share) {
                const double* const values = task.values + int64_t{number} * width + k;
                for (int v = 0; v < kVectors; ++v) {
                    Lanes part = times_share(*reinterpret_cast<const Lanes*>(values + v * N));
                    if (weights) part = *reinterpret_cast<const Lanes*>(weights + v * N) * part;
                    sums[v] += part;
                }
            };
            if (task.only_rows != nullptr && task.only_rows[leaf] >= 0) {
                add(task.only_rows[leaf], [](Lanes own) { return own; });
                continue;
            }
            for (int64_t i = task.leaf_offsets[leaf]; i < task.leaf_offsets[leaf + 1]; ++i)
                add(task.leaf_rows[i], [&](Lanes own) { return task.shares[i] * own; });
        }
        for (int v = 0; v < kVectors; ++v) *reinterpret_cast<Lanes*>(out + v * N) = sums[v];
    }
    return k;
}

void add_shares(const AddSharesTask& task) {
    for (int64_t row = 0; row < task.n_rows; ++row) {
        int64_t k = add_shares_of<4, 8>(task, row, 0);
        k = add_shares_of<2, 8>(task, row, k);
        k = add_shares_of<1, 8>(task, row, k);
        k = add_shares_of<1, 2>(task, row, k);
        add_shares_of<1, 1>(task, row, k);
    }
}
