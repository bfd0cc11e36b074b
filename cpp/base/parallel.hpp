// The one place that starts threads: a team that runs numbered blocks, and the flag that stops it.
#pragma once

#ifdef __linux__
#include <sched.h>
#endif
#ifdef _WIN32
#include <process.h>
#else
#include <unistd.h>
#endif

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace polyleaf {

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

inline int process_id() {
#ifdef _WIN32
    return _getpid();
#else
    return getpid();
#endif
}

inline void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

// The processor that this thread is on; -1 where the system does not tell.
inline int current_processor() {
#ifdef __linux__
    return sched_getcpu();
#else
    return -1;
#endif
}

// Moves this thread to some other processor if it is on the given one. Schedulers tend to wake a
// thread beside the one that called it, where the two take turns for milliseconds if every other
// processor has something to do, however unimportant. Where it goes from there is left to them.
inline void leave_processor(int processor) {
#ifdef __linux__
    if (processor < 0 || processor >= CPU_SETSIZE || sched_getcpu() != processor) return;
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    cpu_set_t others = allowed;
    CPU_CLR(processor, &others);
    if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
    sched_setaffinity(0, sizeof allowed, &allowed);
#else
    (void)processor;
#endif
}

// Nodes follow each other within microseconds and trees within less than a millisecond, and waking
// a thread takes tens of microseconds: look for a while before going to sleep.
template <typename Ready>
bool look_briefly(Ready&& ready) {
    constexpr auto kPatience = std::chrono::microseconds(200);
    constexpr int kLooksPerClock = 16;
    const auto end = std::chrono::steady_clock::now() + kPatience;
    do {
        for (int i = 0; i < kLooksPerClock; ++i) {
            if (ready()) return true;
            pause_briefly();
        }
    } while (std::chrono::steady_clock::now() < end);
    return false;
}

// Threads that wait for work from one team after the other: a team may live for a millisecond
// only, less than it takes to start a thread and to find it a processor of its own. They never
// end; a process that was forked from this one has none of them and starts anew.
class WorkerPool {
  public:
    class Worker {
      public:
        Worker() : thread_([this] { work(); }) { thread_.detach(); }
        // A job that was not begun yet is dropped: it is that of a team that is no more.
        void call(std::function<void()>&& job, bool can_spin) {
            {
                std::lock_guard<std::mutex> lock(mutex_);
                job_.swap(job);
                can_spin_.store(can_spin);
                has_job_.store(true);
            }
            wake_.notify_one();
        }

      private:
        void work() {
            while (true) {
                std::function<void()> job;
                if (can_spin_.load()) look_briefly([this] { return has_job_.load(); });
                {
                    std::unique_lock<std::mutex> lock(mutex_);
                    wake_.wait(lock, [this] { return has_job_.load(); });
                    job.swap(job_);
                    has_job_.store(false);
                }
                job();
            }
        }
        std::mutex mutex_;
        std::condition_variable wake_;
        std::function<void()> job_;
        std::atomic<bool> has_job_{false}, can_spin_{false};
        std::thread thread_;  // the last to be made: it uses all others
    };

    // Threads may outlive everything that ends with the program, so the pool is never destroyed.
    static WorkerPool& of_process() {
        static std::atomic<WorkerPool*> known{nullptr};
        WorkerPool* pool = known.load();
        if (pool && pool->process_ == process_id()) return *pool;
        WorkerPool* const fresh = new WorkerPool;
        if (known.compare_exchange_strong(pool, fresh)) return *fresh;
        delete fresh;  // another thread was quicker
        return *pool;
    }
    // Throws std::system_error where the system refuses to start another thread.
    Worker* take() {
        std::lock_guard<std::mutex> lock(mutex_);
        if (idle_.empty()) {
            idle_.reserve(++n_workers_);
            return new Worker;
        }
        Worker* const worker = idle_.back();
        idle_.pop_back();
        return worker;
    }
    // There is room for all that were taken.
    void give_back(Worker* worker) {
        std::lock_guard<std::mutex> lock(mutex_);
        idle_.push_back(worker);
    }

  private:
    const int process_ = process_id();
    std::mutex mutex_;
    std::vector<Worker*> idle_;
    size_t n_workers_ = 0;
};

// Blocks are fixed by the caller, so that what is computed does not depend on the number of
// threads; only who computes it does. A body must not call parallel_for of its own team.
class ThreadTeam {
  public:
    // The team is smaller than n_threads where the system refuses to start more.
    ThreadTeam(int n_threads, Interrupt& interrupt)
        : interrupt_(interrupt), state_(std::make_shared<State>()) {
        state_->can_spin = n_threads <= static_cast<int>(std::thread::hardware_concurrency());
        state_->shares = std::vector<Share>(n_threads);
        workers_.reserve(n_threads);
        jobs_.reserve(n_threads);
        try {
            for (int id = 1; id < n_threads; ++id) {
                jobs_.push_back([state = state_, id] { state->work(id); });
                workers_.push_back(pool_.take());
            }
        } catch (const std::system_error&) {
        } catch (...) {
            give_back();
            throw;
        }
        n_threads_ = static_cast<int>(workers_.size()) + 1;
    }
    // Waits for nobody: workers that sleep find out when they wake up. Those that have not left
    // this team yet may be called by the next one already, so that there are never more of them
    // than one team needs.
    ~ThreadTeam() {
        {
            std::lock_guard<std::mutex> lock(state_->mutex);
            state_->closing = true;
        }
        state_->wake.notify_all();
        give_back();
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
        State& state = *state_;
        {
            std::lock_guard<std::mutex> lock(state.mutex);
            state.body = &body;
            state.interrupt = &interrupt_;
            state.n_blocks = n_blocks;
            for (Share& share : state.shares) share.n_taken.store(0);
            state.error = nullptr;
            state.caller_processor.store(current_processor());
            state.is_open = true;
            ++state.generation;
        }
        if (has_begun_)
            state.wake.notify_all();
        else
            begin();
        state.run_blocks(0);
        state.wait_briefly([&] { return state.running.load() == 0; });
        std::unique_lock<std::mutex> lock(state.mutex);
        state.is_open = false;  // those who have not woken up yet are not waited for
        state.done.wait(lock, [&] { return state.running.load() == 0; });
        if (state.error) std::rethrow_exception(state.error);
    }

  private:
    // How many of its blocks a thread has begun, or others have for it; on a cache line of its
    // own.
    struct alignas(64) Share {
        std::atomic<int64_t> n_taken{0};
    };

    // What workers share with the team, and keep while they sleep.
    struct State {
        bool can_spin = false;
        std::mutex mutex;
        std::condition_variable wake, done;
        const std::function<void(int64_t, int)>* body = nullptr;
        Interrupt* interrupt = nullptr;
        int64_t n_blocks = 0;
        std::vector<Share> shares;    // one per thread that was asked for
        std::atomic<int> running{0};  // workers that take blocks
        std::atomic<uint64_t> generation{0};
        std::atomic<int> caller_processor{-1};
        std::atomic<bool> closing{false};
        bool is_open = false;
        std::exception_ptr error;

        // Unless threads would have to take turns.
        template <typename Ready>
        void wait_briefly(Ready&& ready) const {
            if (can_spin) look_briefly(ready);
        }

        // A thread begins with every n-th block, those that it had the last time, since what they
        // are about may still be in its cache; then it helps the others.
        void run_blocks(int id) {
            const int64_t n = static_cast<int64_t>(shares.size());
            try {
                for (int64_t k = 0; k < n; ++k) {
                    const int64_t owner = (id + k) % n;
                    std::atomic<int64_t>& n_taken = shares[owner].n_taken;
                    for (int64_t block; (block = owner + n * n_taken.fetch_add(1)) < n_blocks;) {
                        interrupt->check();
                        (*body)(block, id);
                    }
                }
            } catch (...) {
                std::lock_guard<std::mutex> lock(mutex);
                if (!error) error = std::current_exception();
                for (Share& share : shares) share.n_taken.store(n_blocks);
            }
        }
        void work(int id) {
            uint64_t seen = 0;
            while (true) {
                if (can_spin) leave_processor(caller_processor.load());
                auto is_called = [&] { return closing.load() || generation.load() != seen; };
                wait_briefly(is_called);
                {
                    std::unique_lock<std::mutex> lock(mutex);
                    wake.wait(lock, is_called);
                    if (closing) return;
                    seen = generation;
                    if (!is_open) continue;
                    ++running;
                }
                if (can_spin) leave_processor(caller_processor.load());
                run_blocks(id);
                std::lock_guard<std::mutex> lock(mutex);
                if (--running == 0) done.notify_one();
            }
        }
    };

    // Nothing here is in want of memory: a body must not outlive the call that brought it.
    void begin() {
        has_begun_ = true;
        for (size_t i = 0; i < workers_.size(); ++i)
            workers_[i]->call(std::move(jobs_[i]), state_->can_spin);
    }
    void give_back() {
        for (WorkerPool::Worker* worker : workers_) pool_.give_back(worker);
    }

    Interrupt& interrupt_;
    WorkerPool& pool_ = WorkerPool::of_process();
    std::shared_ptr<State> state_;
    int n_threads_ = 1;
    bool has_begun_ = false;
    std::vector<WorkerPool::Worker*> workers_;
    std::vector<std::function<void()>> jobs_;  // one per worker
};

}  // namespace polyleaf
