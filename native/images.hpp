// What the kernels for images share: shapes, quantiles, and a thread's turn at one image at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "spec.hpp"
#include "threads.hpp"

namespace cotm {

// Quantiles are whole numbers of so many parts.
inline constexpr int64_t kQuantileParts = 10'000;

inline void require_quantiles(const std::vector<int32_t>& quantiles) {
  for (size_t i = 0; i < quantiles.size(); ++i) {
    require(quantiles[i] >= 0 && quantiles[i] < kQuantileParts &&
                (i == 0 || quantiles[i - 1] < quantiles[i]),
            "quantiles must increase from 0 up and be below 1");
  }
}

struct ImageShape {
  size_t height, width, channels;
  size_t pixels() const { return height * width; }
  size_t values() const { return pixels() * channels; }
};

// Calls `run(worker, n)` for each image; `make` gives each thread a worker of its own.
template <class Make, class Run>
void for_each_image(size_t count, unsigned threads, Make make, Run run) {
  const auto wanted = static_cast<unsigned>(std::min<size_t>(threads, std::max<size_t>(count, 1)));
  std::atomic<size_t> next{0};
  run_threads(
      wanted, [](unsigned) {},
      [&](unsigned, Barrier&) {
        auto worker = make();
        for (size_t n; (n = next.fetch_add(1, std::memory_order_relaxed)) < count;) run(worker, n);
      });
}

}  // namespace cotm
