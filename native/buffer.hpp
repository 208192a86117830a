#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace cotm {

// Zero-filled memory on cache-line borders.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t count) : size_(count) {
    if (count > (SIZE_MAX - 63) / sizeof(T)) throw std::bad_alloc();
    const size_t bytes = (count * sizeof(T) + 63) / 64 * 64;
    data_.reset(static_cast<T*>(::operator new(bytes ? bytes : 64, kBorder)));
    std::fill_n(data_.get(), count, T{});
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](size_t i) { return data_.get()[i]; }
  const T& operator[](size_t i) const { return data_.get()[i]; }
  size_t size() const { return size_; }

 private:
  static constexpr std::align_val_t kBorder{64};
  struct Free {
    void operator()(T* p) const { ::operator delete(p, kBorder); }
  };
  std::unique_ptr<T, Free> data_;
  size_t size_ = 0;
};

}  // namespace cotm
