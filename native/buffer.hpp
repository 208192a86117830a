// Memory for arrays, and what brings it into the cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "compiler.hpp"

namespace cotm {

inline constexpr size_t kCacheLine = 64;

// Asks for cache lines that will soon be read and written.
inline void prefetch_to_write(const void* from, size_t lines) {
  for (size_t line = 0; line < lines; ++line) {
    prefetch_to_write(static_cast<const char*>(from) + kCacheLine * line);
  }
}

// Zero-filled memory on cache-line borders.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t count) : size_(count) {
    if (count > (SIZE_MAX - kCacheLine) / sizeof(T)) throw std::bad_alloc();
    const size_t bytes = (count * sizeof(T) + kCacheLine - 1) / kCacheLine * kCacheLine;
    data_.reset(static_cast<T*>(::operator new(bytes ? bytes : kCacheLine, kBorder)));
    std::fill_n(data_.get(), count, T{});
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](size_t i) { return data_.get()[i]; }
  const T& operator[](size_t i) const { return data_.get()[i]; }
  size_t size() const { return size_; }

 private:
  static constexpr std::align_val_t kBorder{kCacheLine};
  struct Free {
    void operator()(T* p) const { ::operator delete(p, kBorder); }
  };
  std::unique_ptr<T, Free> data_;
  size_t size_ = 0;
};

}  // namespace cotm
