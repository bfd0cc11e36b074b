// The one place that starts threads: a team that runs numbered blocks, and the flag that stops it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace ramify {

struct Interrupted : std::runtime_error {
    Interrupted() : std::runtime_error("interrupted") {}
};

// Answers Ctrl-C. Any thread may call `check`, which throws Interrupted once the user asked to
// stop. Only the thread that made the Interrupt, the one that entered the core, asks `poll`, at
// most every 50 ms.
class Interrupt {
  public:
    explicit Interrupt(std::function<bool()> poll) : poll_(std::move(poll)) {}

    void check() {
        if (std::this_thread::get_id() == caller_) poll_if_due();
        if (stop_.load(std::memory_order_relaxed)) throw Interrupted();
    }

  private:
    void poll_if_due() {
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ <= std::chrono::milliseconds(50)) return;
        last_ = now;
        if (poll_ && poll_()) stop_.store(true, std::memory_order_relaxed);
    }

    const std::thread::id caller_ = std::this_thread::get_id();
    std::function<bool()> poll_;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    std::atomic<bool> stop_{false};
};

// Workers live as long as the team. Blocks are fixed by the caller, so that what is computed
// does not depend on the number of threads; only who computes it does. A body must not call
// parallel_for of its own team.
class ThreadTeam {
  public:
    // The team is smaller than n_threads where the system refuses to start more.
    ThreadTeam(int n_threads, Interrupt& interrupt) : interrupt_(interrupt) {
        workers_.reserve(n_threads);
        try {
            for (int id = 1; id < n_threads; ++id) workers_.emplace_back([this, id] { work(id); });
        } catch (const std::system_error&) {
        }
        n_threads_ = static_cast<int>(workers_.size()) + 1;
    }
    ~ThreadTeam() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            closing_ = true;
        }
        wake_.notify_all();
        for (auto& worker : workers_) worker.join();
    }
    ThreadTeam(const ThreadTeam&) = delete;
    ThreadTeam& operator=(const ThreadTeam&) = delete;

    int size() const { return n_threads_; }
    Interrupt& interrupt() { return interrupt_; }

    // Runs body(block, thread_id) for every block; rethrows the first exception of any thread.
    void parallel_for(int64_t n_blocks, const std::function<void(int64_t, int)>& body) {
        if (n_threads_ == 1 || n_blocks <= 1) {
            for (int64_t block = 0; block < n_blocks; ++block) {
                interrupt_.check();
                body(block, 0);
            }
            return;
        }
        {
            std::lock_guard<std::mutex> lock(mutex_);
            body_ = &body;
            n_blocks_ = n_blocks;
            next_.store(0);
            running_ = n_threads_ - 1;
            error_ = nullptr;
            ++generation_;
        }
        wake_.notify_all();
        run_blocks(0);
        std::unique_lock<std::mutex> lock(mutex_);
        done_.wait(lock, [this] { return running_ == 0; });
        if (error_) std::rethrow_exception(error_);
    }

  private:
    void run_blocks(int id) {
        try {
            for (int64_t block; (block = next_.fetch_add(1)) < n_blocks_;) {
                interrupt_.check();
                (*body_)(block, id);
            }
        } catch (...) {
            std::lock_guard<std::mutex> lock(mutex_);
            if (!error_) error_ = std::current_exception();
            next_.store(n_blocks_);
        }
    }
    void work(int id) {
        uint64_t seen = 0;
        while (true) {
            {
                std::unique_lock<std::mutex> lock(mutex_);
                wake_.wait(lock, [&] { return closing_ || generation_ != seen; });
                if (closing_) return;
                seen = generation_;
            }
            run_blocks(id);
            {
                std::lock_guard<std::mutex> lock(mutex_);
                --running_;
            }
            done_.notify_one();
        }
    }

    Interrupt& interrupt_;
    int n_threads_ = 1;
    std::vector<std::thread> workers_;
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    const std::function<void(int64_t, int)>* body_ = nullptr;
    int64_t n_blocks_ = 0;
    std::atomic<int64_t> next_{0};
    int running_ = 0;
    uint64_t generation_ = 0;
    bool closing_ = false;
    std::exception_ptr error_;
};

}  // namespace ramify
