#include "memory_meter.hpp"

#include <hiredis/alloc.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

// Plain numbers: the tests of this program run on one thread.
std::ptrdiff_t held = 0;
std::ptrdiff_t most = 0;
std::size_t count = 0;

void* counted(void* block) noexcept {
  if (block == nullptr) return nullptr;
  held += static_cast<std::ptrdiff_t>(malloc_usable_size(block));
  most = std::max(most, held);
  ++count;
  return block;
}

void* take(std::size_t size) noexcept {
  return counted(std::malloc(size));
}
void* take_zeroed(std::size_t n, std::size_t size) {
  return counted(std::calloc(n, size));
}
void give(void* block) noexcept {
  if (block != nullptr) held -= static_cast<std::ptrdiff_t>(malloc_usable_size(block));
  std::free(block);
}
void* take_again(void* block, std::size_t size) {
  if (block != nullptr) held -= static_cast<std::ptrdiff_t>(malloc_usable_size(block));
  return counted(std::realloc(block, size));
}
char* take_string(const char* text) {
  auto* copy = static_cast<char*>(take(std::strlen(text) + 1));
  return copy != nullptr ? std::strcpy(copy, text) : nullptr;
}

// Before main, so that no block of hiredis is freed that was not counted.
const bool hiredis_is_counted = [] {
  hiredisAllocFuncs functions{take, take_zeroed, take_again, take_string, give};
  hiredisSetAllocators(&functions);
  return true;
}();

}  // namespace

void* operator new(std::size_t size) {
  void* block = take(size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void operator delete(void* block) noexcept {
  give(block);
}
void operator delete(void* block, std::size_t) noexcept {
  give(block);
}

namespace slotwise::resp::test {

namespace {
std::ptrdiff_t held_at_start = 0;
std::size_t count_at_start = 0;
}  // namespace

MemoryMeter::MemoryMeter() {
  held_at_start = most = ::held;
  count_at_start = count;
}
std::ptrdiff_t MemoryMeter::held() {
  return ::held - held_at_start;
}
std::ptrdiff_t MemoryMeter::peak() {
  return most - held_at_start;
}
std::size_t MemoryMeter::allocations() {
  return count - count_at_start;
}

}  // namespace slotwise::resp::test
