// Threads for one piece of work, and the barrier they meet at.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

namespace cotm {

// Waits until all threads have come; spins first, then lets others run.
class Barrier {
 public:
  explicit Barrier(unsigned threads) : threads_(threads) {}
  void wait() {
    const unsigned round = round_.load(std::memory_order_relaxed);
    if (waiting_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      waiting_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    for (unsigned spins = 0; round_.load(std::memory_order_acquire) == round; ++spins) {
      if (spins > 2000) std::this_thread::yield();
    }
  }

 private:
  const unsigned threads_;
  alignas(64) std::atomic<unsigned> waiting_{0};
  alignas(64) std::atomic<unsigned> round_{0};
};

// Calls work(t) for t in [0, threads), each in a thread of its own. None starts before all
// exist: if the system gives too few, nothing has run and the error is thrown.
template <class Work>
void run_threads(unsigned threads, Work work) {
  enum { wait, go, stop };
  std::atomic<int> signal{wait};
  std::vector<std::thread> others;
  const auto release = [&](int value) {
    signal.store(value, std::memory_order_release);
    signal.notify_all();
  };
  const auto join = [&] {
    for (std::thread& other : others) other.join();
  };
  try {
    others.reserve(threads - 1);
    for (unsigned t = 1; t < threads; ++t) {
      others.emplace_back([&, t] {
        signal.wait(wait, std::memory_order_acquire);
        if (signal.load(std::memory_order_acquire) == go) work(t);
      });
    }
  } catch (...) {
    release(stop);
    join();
    throw;
  }
  release(go);
  work(0);
  join();
}

}  // namespace cotm
