// Strains the thread team for the thread sanitizer: `make sanitize-team` compiles and runs it
// alone, which takes seconds where the whole core takes many minutes.
//
// Several threads make teams at the same time, as fits in threads of Python do. Bodies write what
// the caller reads afterwards, throw, and are stopped. Prints what went wrong; ends with 1 then.
#include <cstdio>
#include <thread>
#include <vector>

#include "base/parallel.hpp"

namespace {

using polyleaf::Interrupt;
using polyleaf::Interrupted;
using polyleaf::ThreadTeam;

std::atomic<int> n_wrong{0};

void expect(bool holds, const char* claim) {
    if (holds) return;
    std::printf("wrong: %s\n", claim);
    ++n_wrong;
}

// Every block is run once, and what it wrote is there when parallel_for returns.
void run_all_blocks(ThreadTeam& team, int64_t n_blocks) {
    std::vector<int64_t> written(n_blocks, -1);
    std::vector<int64_t> by_thread(team.size() * 16, 0);
    for (int round = 0; round < 3; ++round)
        team.parallel_for(n_blocks, [&](int64_t block, int thread) {
            written[block] = block + round;
            ++by_thread[thread * 16];
        });
    int64_t n_run = 0;
    for (int64_t count : by_thread) n_run += count;
    expect(n_run == 3 * n_blocks, "every block is run once in every round");
    for (int64_t block = 0; block < n_blocks; ++block)
        expect(written[block] == block + 2, "a block's result is seen by the caller");
}

void throw_from_a_body(ThreadTeam& team, int64_t n_blocks) {
    bool has_thrown = false;
    try {
        team.parallel_for(n_blocks, [&](int64_t block, int) {
            if (block == n_blocks / 2) throw std::runtime_error("of a body");
        });
    } catch (const std::runtime_error&) {
        has_thrown = true;
    }
    expect(has_thrown, "the exception of a body reaches the caller");
}

void stop_in_the_middle() {
    std::atomic<bool> asked{false};
    Interrupt interrupt([&] { return asked.load(); });
    ThreadTeam team(3, interrupt);
    std::thread asker([&] { asked.store(true); });
    bool has_stopped = false;
    try {
        team.parallel_for(1 << 20, [](int64_t, int) {
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        });
    } catch (const Interrupted&) {
        has_stopped = true;
    }
    asker.join();
    expect(has_stopped, "an interrupt stops all threads");
}

void make_teams(int n_teams, int first_size) {
    for (int i = 0; i < n_teams; ++i) {
        Interrupt interrupt(nullptr);
        ThreadTeam team(1 + (first_size + i) % 4, interrupt);
        if (i % 7 == 0) continue;  // a team that is never asked
        run_all_blocks(team, 1 + i % 40);
        if (i % 3 == 0) throw_from_a_body(team, 1 + i % 40);
        run_all_blocks(team, 64);
    }
}

}  // namespace

int main() {
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 4; ++caller)
        callers.emplace_back([caller] { make_teams(300, caller); });
    for (std::thread& caller : callers) caller.join();
    for (int i = 0; i < 5; ++i) stop_in_the_middle();
    std::printf("%d claims failed\n", n_wrong.load());
    return n_wrong.load() == 0 ? 0 : 1;
}
