// 64 rows down one complete tree without a gather. At level l the codes of all 2^l nodes are
// reduced to the one of each row's own node by 2^l - 1 blends on the decisions of the levels
// above; byte permutations fetch the thresholds in the same way, 16 at a time.

#if defined(__AVX512BW__)
struct Bytes {
    static constexpr int kRows = 64;
    using Vector = __m512i;
    using Sides = __mmask64;  // set: right
    static Vector load(const uint8_t* from) { return _mm512_loadu_si512(from); }
    static void store(uint8_t* to, Vector v) { _mm512_storeu_si512(to, v); }
    static Vector all(int byte) { return _mm512_set1_epi8(static_cast<char>(byte)); }
    static Sides is_above(Vector a, Vector b) { return _mm512_cmpgt_epu8_mask(a, b); }
    static Sides has_top_bit(Vector a) { return _mm512_movepi8_mask(a); }
    static Vector choose(Sides s, Vector left, Vector right) {
        return _mm512_mask_blend_epi8(s, left, right);
    }
    static Vector find(const uint8_t* sixteen, Vector at) {
        const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(sixteen));
        return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), at);
    }
    static Vector next(Vector id, Sides s) {
        id = _mm512_add_epi8(id, id);
        return _mm512_mask_add_epi8(id, s, id, _mm512_set1_epi8(1));
    }
    static Vector both(Vector a, Vector b) { return _mm512_and_si512(a, b); }
    static Vector eighth(Vector a) {  // a / 8, the lower four bits of it
        return both(_mm512_srli_epi16(a, 3), all(15));
    }
    static Sides is_zero(Vector a) { return _mm512_testn_epi8_mask(a, a); }
};
#elif defined(__AVX2__)
struct Bytes {
    static constexpr int kRows = 32;
    using Vector = __m256i;
    using Sides = __m256i;  // 255: right
    static Vector load(const uint8_t* from) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    }
    static void store(uint8_t* to, Vector v) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v);
    }
    static Vector all(int byte) { return _mm256_set1_epi8(static_cast<char>(byte)); }
    static Sides is_above(Vector a, Vector b) {
        return _mm256_xor_si256(_mm256_cmpeq_epi8(_mm256_max_epu8(a, b), b), all(255));
    }
    static Sides has_top_bit(Vector a) { return a; }  // blends read no other bit
    static Vector choose(Sides s, Vector left, Vector right) {
        return _mm256_blendv_epi8(left, right, s);
    }
    static Vector find(const uint8_t* sixteen, Vector at) {
        const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(sixteen));
        return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), at);
    }
    static Vector next(Vector id, Sides s) { return _mm256_sub_epi8(_mm256_add_epi8(id, id), s); }
    static Vector both(Vector a, Vector b) { return _mm256_and_si256(a, b); }
    static Vector eighth(Vector a) { return both(_mm256_srli_epi16(a, 3), all(15)); }
    static Sides is_zero(Vector a) { return _mm256_cmpeq_epi8(a, all(0)); }
};
#endif

#if defined(__AVX2__)

// get(first + i) of the i-th of 2^kLevels choices, i being the decisions `sides` in binary.
template <int kLevels, typename Get>
inline __attribute__((always_inline)) Bytes::Vector choose_of(const Bytes::Sides* sides, int first,
                                                              const Get& get) {
    if constexpr (kLevels == 0) {
        return get(first);
    } else {
        const Bytes::Vector left = choose_of<kLevels - 1>(sides + 1, first, get);
        const Bytes::Vector right =
            choose_of<kLevels - 1>(sides + 1, first + (1 << (kLevels - 1)), get);
        return Bytes::choose(*sides, left, right);
    }
}

template <int kLevel, int kDepth>
inline __attribute__((always_inline)) void descend_level(const BlendTask& task, int row,
                                                         Bytes::Sides* sides, Bytes::Vector& id) {
    if constexpr (kLevel < kDepth) {
        const Bytes::Vector code = choose_of<kLevel>(
            sides, (1 << kLevel) - 1, [&](int node) __attribute__((always_inline)) {
                return Bytes::load(task.codes + task.offsets[node] + row);
            });
        const uint8_t* const tables = task.thresholds + first_threshold(kLevel);
        const Bytes::Vector threshold =
            choose_of < kLevel<5 ? 0 : kLevel - 4>(
                            sides, 0,
                            [&](int table) __attribute__((always_inline)) {
                                return Bytes::find(tables + 16 * table, id);
                            });
        sides[kLevel] = Bytes::is_above(code, threshold);
        id = Bytes::next(id, sides[kLevel]);
        descend_level<kLevel + 1, kDepth>(task, row, sides, id);
    }
}

template <int kDepth>
void blend_levels(const BlendTask& task) {
    for (int row = 0; row < kCodedRows; row += Bytes::kRows) {
        Bytes::Sides sides[kDepth + 1];
        Bytes::Vector id = Bytes::all(0);
        descend_level<0, kDepth>(task, row, sides, id);
        Bytes::store(task.ids + row, id);
    }
}

void blend(const BlendTask& task) {
    using Blend = void (*)(const BlendTask&);
    static constexpr Blend kBlends[kMostLevels + 1] = {
        blend_levels<0>, blend_levels<1>, blend_levels<2>, blend_levels<3>, blend_levels<4>,
        blend_levels<5>, blend_levels<6>, blend_levels<7>, blend_levels<8>};
    kBlends[task.depth](task);
}

void find_members(const MemberTask& task) {
    alignas(16) static constexpr uint8_t kBits[16] = {1, 2, 4, 8, 16, 32, 64, 128};
    for (int row = 0; row < kCodedRows; row += Bytes::kRows) {
        const Bytes::Vector code = Bytes::load(task.codes + row);
        const Bytes::Vector byte = Bytes::eighth(code);
        const Bytes::Vector bits =
            Bytes::choose(Bytes::has_top_bit(code), Bytes::find(task.set, byte),
                          Bytes::find(task.set + 16, byte));
        const Bytes::Vector bit = Bytes::find(kBits, Bytes::both(code, Bytes::all(7)));
        Bytes::store(task.sides + row, Bytes::choose(Bytes::is_zero(Bytes::both(bits, bit)),
                                                     Bytes::all(0), Bytes::all(255)));
    }
}

#else

void blend(const BlendTask& task) {
    uint8_t id[kCodedRows] = {};
    for (int level = 0; level < task.depth; ++level) {
        const uint32_t* const offsets = task.offsets + (1 << level) - 1;
        const uint8_t* const thresholds = task.thresholds + first_threshold(level);
        for (int r = 0; r < kCodedRows; ++r)
            id[r] = static_cast<uint8_t>(2 * id[r] +
                                         (task.codes[offsets[id[r]] + r] > thresholds[id[r]]));
    }
    std::memcpy(task.ids, id, sizeof id);
}

void find_members(const MemberTask& task) {
    for (int r = 0; r < kCodedRows; ++r) {
        const uint8_t code = task.codes[r];
        task.sides[r] = task.set[code >> 3] >> (code & 7) & 1 ? 0 : 255;
    }
}

#endif
