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

namespace ramify {

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
    return ::operator new(bytes, std::align_val_t{64});
}

inline void free_aligned(void* p, std::size_t bytes) {
#if defined(__linux__)
    if (bytes >= kLargeBytes) {
        munmap(p, bytes);
        return;
    }
#endif
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

}  // namespace ramify
