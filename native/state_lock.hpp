#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace cotm {

// Many readers or one writer, first come, first served: std::shared_mutex may let readers overlap
// for ever while a writer waits, or the other way round. For std::shared_lock and
// std::unique_lock.
class StateLock {
 public:
  void lock() {
    std::unique_lock<std::mutex> guard(mutex_);
    const uint64_t ticket = next_++;
    changed_.wait(guard, [&] { return ticket == served_ && readers_ == 0; });
  }
  void unlock() {
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      ++served_;  // not before: who comes later stands behind the writer
    }
    changed_.notify_all();
  }
  void lock_shared() {
    {
      std::unique_lock<std::mutex> guard(mutex_);
      const uint64_t ticket = next_++;
      changed_.wait(guard, [&] { return ticket == served_; });
      ++served_;
      ++readers_;
    }
    changed_.notify_all();  // the next one may be a reader too
  }
  void unlock_shared() {
    bool last;
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      last = --readers_ == 0;
    }
    if (last) changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t next_ = 0, served_ = 0;  // tickets
  uint64_t readers_ = 0;
};

}  // namespace cotm
