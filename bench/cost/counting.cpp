#include "counting.hpp"

#include <dlfcn.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <ctime>

namespace {

std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> allocated_bytes{0};
std::atomic<std::uint64_t> system_calls{0};

void count_allocation(std::size_t size) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  allocated_bytes.fetch_add(size, std::memory_order_relaxed);
}

/// libc's own function of that name, looked up once. `kept` is a static of the caller without a
/// guard: threads that meet write the same.
template <class Function>
Function real(Function& kept, const char* name) noexcept {
  system_calls.fetch_add(1, std::memory_order_relaxed);
  if (kept == nullptr) kept = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
  return kept;
}

}  // namespace

namespace slotwise::bench {

Counts counts() noexcept {
  ::timespec cpu{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  return {allocations.load(), allocated_bytes.load(), system_calls.load(),
          static_cast<std::uint64_t>(cpu.tv_sec) * 1'000'000'000 +
              static_cast<std::uint64_t>(cpu.tv_nsec)};
}

}  // namespace slotwise::bench

extern "C" {

__attribute__((noinline)) void slotwise_bench_mark() noexcept {
  asm volatile("" ::: "memory");
}

// glibc gives these names to whoever replaces malloc.
void* __libc_malloc(std::size_t size);                       // NOLINT: glibc's names
void* __libc_calloc(std::size_t count, std::size_t size);    // NOLINT
void* __libc_realloc(void* block, std::size_t size);         // NOLINT
void* __libc_memalign(std::size_t align, std::size_t size);  // NOLINT

void* malloc(std::size_t size) noexcept {
  count_allocation(size);
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  count_allocation(count * size);
  return __libc_calloc(count, size);
}
void* realloc(void* block, std::size_t size) noexcept {
  count_allocation(size);
  return __libc_realloc(block, size);
}
void* aligned_alloc(std::size_t align, std::size_t size) noexcept {
  count_allocation(size);
  return __libc_memalign(align, size);
}

// Those that a client at work calls. strace shows no others between the marks.
ssize_t send(int fd, const void* data, std::size_t size, int flags) {
  static decltype(&::send) next;
  return real(next, "send")(fd, data, size, flags);
}
ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  static decltype(&::sendmsg) next;
  return real(next, "sendmsg")(fd, message, flags);
}
ssize_t recv(int fd, void* into, std::size_t size, int flags) {
  static decltype(&::recv) next;
  return real(next, "recv")(fd, into, size, flags);
}
ssize_t read(int fd, void* into, std::size_t size) {
  static decltype(&::read) next;
  return real(next, "read")(fd, into, size);
}
ssize_t write(int fd, const void* data, std::size_t size) {
  static decltype(&::write) next;
  return real(next, "write")(fd, data, size);
}
int poll(pollfd* fds, nfds_t count, int timeout) {
  static decltype(&::poll) next;
  return real(next, "poll")(fds, count, timeout);
}
int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
  static decltype(&::epoll_ctl) next;
  return real(next, "epoll_ctl")(epoll, operation, fd, event);
}
int epoll_wait(int epoll, epoll_event* events, int count, int timeout) {
  static decltype(&::epoll_wait) next;
  return real(next, "epoll_wait")(epoll, events, count, timeout);
}
int epoll_pwait2(int epoll, epoll_event* events, int count, const timespec* timeout,
                 const sigset_t* signals) {
  static decltype(&::epoll_pwait2) next;
  return real(next, "epoll_pwait2")(epoll, events, count, timeout, signals);
}
long syscall(long number, ...) noexcept {  // futex
  static decltype(&::syscall) next;
  va_list list;
  va_start(list, number);
  long words[6];
  for (long& word : words)
    word = va_arg(list, long);
  va_end(list);
  return real(next, "syscall")(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

}  // extern "C"
