// Vectors that start on a cache line: a 64-byte load that straddles two costs twice as much. New
// numbers are not zero unless that is asked for, since most of these vectors are filled at once.
// Large ones have pages of their own, huge ones where the system has them: memory goes back to it
// when they end, instead of staying behind in pieces after every tree.
#pragma once

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace polyleaf {

// A few blocks that the thread has freed, for the next tree: fresh memory from the system takes
// long to be written to for the first time. Small ones are at hand anyway, and large ones go back.
class KeptBlocks {
  public:
    static KeptBlocks& of_thread() {
        static thread_local KeptBlocks blocks;
        return blocks;
    }
    ~KeptBlocks() {
        while (n_blocks_ > 0) ::operator delete(blocks_[--n_blocks_].data, std::align_val_t{64});
        is_closed() = true;
    }

    static bool is_kept(std::size_t bytes) { return bytes >= kLeast && bytes <= kMost; }
    // One that is hardly larger than needed, or null.
    void* take(std::size_t bytes) {
        for (int i = 0; i < n_blocks_; ++i) {
            if (blocks_[i].bytes < bytes || blocks_[i].bytes - bytes > bytes / 8) continue;
            void* const data = blocks_[i].data;
            blocks_[i] = blocks_[--n_blocks_];
            return data;
        }
        return nullptr;
    }
    // False if there is no room for it.
    bool keep(void* data, std::size_t bytes) {
        if (is_closed() || n_blocks_ == kMostBlocks) return false;
        blocks_[n_blocks_++] = {data, bytes};
        return true;
    }

  private:
    static constexpr std::size_t kLeast = std::size_t{1} << 17, kMost = std::size_t{1} << 21;
    static constexpr int kMostBlocks = 4;
    // Outlives the blocks, which a compiler need not write to as they end.
    static bool& is_closed() {
        static thread_local bool closed = false;
        return closed;
    }
    struct Block {
        void* data;
        std::size_t bytes;
    };
    Block blocks_[kMostBlocks];
    int n_blocks_ = 0;
};

constexpr std::size_t kLargeBytes = std::size_t{4} << 20;

inline void* allocate_aligned(std::size_t bytes) {
#if defined(__linux__)
    if (bytes >= kLargeBytes) {
        void* const pages =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) throw std::bad_alloc();
        madvise(pages, bytes, MADV_HUGEPAGE);  // a wish: what it answers does not matter
        return pages;
    }
#endif
    if (KeptBlocks::is_kept(bytes))
        if (void* const kept = KeptBlocks::of_thread().take(bytes)) return kept;
    return ::operator new(bytes, std::align_val_t{64});
}

inline void free_aligned(void* p, std::size_t bytes) {
#if defined(__linux__)
    if (bytes >= kLargeBytes) {
        munmap(p, bytes);
        return;
    }
#endif
    if (KeptBlocks::is_kept(bytes) && KeptBlocks::of_thread().keep(p, bytes)) return;
    ::operator delete(p, std::align_val_t{64});
}

template <typename T>
struct CacheLineAllocator {
    using value_type = T;
    CacheLineAllocator() = default;
    template <typename U>
    CacheLineAllocator(const CacheLineAllocator<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(allocate_aligned(n * sizeof(T))); }
    void deallocate(T* p, std::size_t n) { free_aligned(p, n * sizeof(T)); }
    template <typename U>
    void construct(U* p) {
        ::new (static_cast<void*>(p)) U;
    }
    template <typename U, typename... Args>
    void construct(U* p, Args&&... args) {
        ::new (static_cast<void*>(p)) U(std::forward<Args>(args)...);
    }
    template <typename U>
    bool operator==(const CacheLineAllocator<U>&) const {
        return true;
    }
    template <typename U>
    bool operator!=(const CacheLineAllocator<U>&) const {
        return false;
    }
};

template <typename T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace polyleaf
