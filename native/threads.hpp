// Threads for one piece of work, and the barrier they meet at.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace cotm {

// Waits until all threads have come; spins first, then lets others run. A thread that fails breaks
// it, so that nobody waits for it. std::barrier cannot be broken: a thread that leaves only counts
// as having come, and the others would go on without its votes. Nor can it be told to spin, and
// between two examples there is less time than falling asleep and waking up take.
class Barrier {
 public:
  explicit Barrier(unsigned threads) : threads_(threads) {}

  // False if the barrier is broken: the work is over.
  bool wait() {
    const uint64_t round = round_.load(std::memory_order_relaxed);
    if (round == kBroken) return false;
    if (waiting_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      waiting_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return true;
    }
    uint64_t now;
    for (unsigned spins = 0; (now = round_.load(std::memory_order_acquire)) == round; ++spins) {
      if (spins > 2000) std::this_thread::yield();
    }
    return now != kBroken;
  }

  // Only between two meetings, so no round can end in between.
  void break_up() { round_.store(kBroken, std::memory_order_release); }
  bool is_broken() const { return round_.load(std::memory_order_relaxed) == kBroken; }

 private:
  static constexpr uint64_t kBroken = UINT64_MAX;
  const unsigned threads_;
  alignas(64) std::atomic<unsigned> waiting_{0};
  alignas(64) std::atomic<uint64_t> round_{0};
};

// Starts up to `wanted` threads, this one included, or as many as the system gives. None works
// before all exist: `begin(count)` is told their number, then each calls `work(t, barrier)` with
// t in [0, count). Throws what the first of them threw, once all have ended.
template <class Begin, class Work>
void run_threads(unsigned wanted, Begin begin, Work work) {
  enum { wait, go, stop };
  std::atomic<int> signal{wait};
  std::vector<std::thread> others;
  Barrier* barrier = nullptr;
  std::mutex failure_mutex;
  std::exception_ptr failure;

  const auto attempt = [&](unsigned t) noexcept {
    try {
      work(t, *barrier);
    } catch (...) {
      {
        const std::lock_guard<std::mutex> lock(failure_mutex);
        if (!failure) failure = std::current_exception();
      }
      barrier->break_up();
    }
  };
  const auto end = [&](int value) {
    signal.store(value, std::memory_order_release);
    signal.notify_all();
    if (value == go) attempt(0);
    for (std::thread& other : others) other.join();
  };
  try {
    others.reserve(std::max(1u, wanted) - 1);
    for (unsigned t = 1; t < wanted; ++t) {
      try {
        others.emplace_back([&, t] {
          signal.wait(wait, std::memory_order_acquire);
          if (signal.load(std::memory_order_acquire) == go) attempt(t);
        });
      } catch (const std::system_error&) {
        break;  // no more threads are to be had; the result does not depend on their number
      }
    }
    begin(static_cast<unsigned>(others.size()) + 1);
  } catch (...) {
    end(stop);
    throw;
  }
  Barrier meeting(static_cast<unsigned>(others.size()) + 1);
  barrier = &meeting;
  end(go);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace cotm
