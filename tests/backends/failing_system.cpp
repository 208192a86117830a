// Preloaded by test_failures.py: memory and threads that are not to be had, when asked for.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> allocations_left{-1};  // before one fails; below 0: none does
std::atomic<bool> for_ever{false};       // all after it fail too
std::atomic<long> threads_left{-1};      // before none can be started; below 0: any number

void count_allocation() {
  if (allocations_left.load() < 0) return;
  if (allocations_left.load() == 0 && for_ever) throw std::bad_alloc();
  if (allocations_left.fetch_sub(1) == 0) throw std::bad_alloc();
}

void* check(void* memory) {
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

extern "C" void fail_allocations(long after, bool all) {
  for_ever = all;
  allocations_left = after;
}
extern "C" long left_allocations() { return allocations_left; }
extern "C" void allow_threads(long count) { threads_left = count; }

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) {
  static const auto original =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_left.load() >= 0 && threads_left.fetch_sub(1) <= 0) {
    threads_left = 0;
    return EAGAIN;
  }
  return original(thread, attributes, start, argument);
}

void* operator new(size_t size) {
  count_allocation();
  return check(std::malloc(size ? size : 1));
}
void* operator new(size_t size, std::align_val_t border) {
  count_allocation();
  const size_t unit = static_cast<size_t>(border);
  return check(std::aligned_alloc(unit, (size + unit - 1) / unit * unit));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
