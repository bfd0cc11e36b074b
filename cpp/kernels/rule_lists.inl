// Lists of covered rows. Which rows are on them can hardly be foreseen: there is no branch on it.

#ifdef __AVX512F__

constexpr int64_t kLane = 16;

inline __mmask16 first_lanes(int64_t n) {
    return static_cast<__mmask16>(n >= kLane ? 0xffff : (1 << n) - 1);
}

// Writes the chosen of 16 numbers one after the other. What a list had at most 16 places further
// on is overwritten, unless there are no 16 left.
inline int64_t write_chosen(int32_t* to, __mmask16 chosen, __m512i numbers, int64_t n_left) {
    if (n_left >= kLane)
        _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(chosen, numbers));
    else
        _mm512_mask_compressstoreu_epi32(to, chosen, numbers);
    return __builtin_popcount(chosen);
}

int64_t list_drawn(const int32_t* counts, int64_t n, int32_t* rows, int32_t* place) {
    const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    int64_t n_listed = 0;
    for (int64_t i = 0; i < n; i += kLane) {
        const __mmask16 some = first_lanes(n - i);
        const __m512i row = _mm512_add_epi32(lanes, _mm512_set1_epi32(static_cast<int32_t>(i)));
        const __m512i count = _mm512_maskz_loadu_epi32(some, counts + i);
        const __mmask16 is_drawn = _mm512_cmpgt_epi32_mask(count, _mm512_setzero_si512());
        _mm512_mask_storeu_epi32(place + i, some,
                                 _mm512_mask_mov_epi32(_mm512_set1_epi32(-1), is_drawn, row));
        n_listed += write_chosen(rows + n_listed, is_drawn, row, n - i);
    }
    return n_listed;
}

inline __m512i places_of(const int32_t* place, __mmask16 some, __m512i rows) {
    return _mm512_mask_i32gather_epi32(_mm512_set1_epi32(-1), some, rows, place, 4);
}

int64_t find_places(const int32_t* place, const int32_t* rows, int64_t n, int32_t* found) {
    int64_t n_found = 0;
    for (int64_t i = 0; i < n; i += kLane) {
        const __mmask16 some = first_lanes(n - i);
        const __m512i at = places_of(place, some, _mm512_maskz_loadu_epi32(some, rows + i));
        const __mmask16 has_place = _mm512_cmpge_epi32_mask(at, _mm512_setzero_si512());
        n_found += write_chosen(found + n_found, has_place, at, n - i);
    }
    return n_found;
}

int64_t keep_placed(const int32_t* place, int64_t n, int32_t* rows, int32_t* positions,
                    int32_t* removed) {
    int64_t n_kept = 0;
    for (int64_t i = 0; i < n; i += kLane) {
        const __mmask16 some = first_lanes(n - i);
        const __m512i row = _mm512_maskz_loadu_epi32(some, rows + i);
        const __m512i position = _mm512_maskz_loadu_epi32(some, positions + i);
        const __mmask16 kept =
            _mm512_cmpge_epi32_mask(places_of(place, some, row), _mm512_setzero_si512());
        write_chosen(removed + i - n_kept, static_cast<__mmask16>(some & ~kept), position, n - i);
        write_chosen(positions + n_kept, kept, position, n - i);
        n_kept += write_chosen(rows + n_kept, kept, row, n - i);
    }
    return n_kept;
}

#else

int64_t list_drawn(const int32_t* counts, int64_t n, int32_t* rows, int32_t* place) {
    int64_t n_listed = 0;
    for (int32_t row = 0; row < static_cast<int32_t>(n); ++row) {
        const int32_t is_drawn = counts[row] > 0;
        rows[n_listed] = row;
        place[row] = row | (is_drawn - 1);
        n_listed += is_drawn;
    }
    return n_listed;
}

int64_t find_places(const int32_t* place, const int32_t* rows, int64_t n, int32_t* found) {
    int64_t n_found = 0;
    for (int64_t i = 0; i < n; ++i) {
        const int32_t position = place[rows[i]];
        found[n_found] = position;
        n_found += position >= 0;
    }
    return n_found;
}

int64_t keep_placed(const int32_t* place, int64_t n, int32_t* rows, int32_t* positions,
                    int32_t* removed) {
    int64_t n_kept = 0;
    for (int64_t i = 0; i < n; ++i) {
        const int32_t row = rows[i], position = positions[i];
        const int32_t is_kept = place[row] >= 0;
        rows[n_kept] = row;
        positions[n_kept] = position;
        removed[i - n_kept] = position;
        n_kept += is_kept;
    }
    return n_kept;
}

#endif
