// The C++ allocator of this program: each allocation may be the last (Layer::kNew). Arrays, and what is asked for without
// exceptions, come by here too.
#include <cstdlib>
#include <new>

#include "tests/faults/storage/injector.h"

void* operator new(std::size_t bytes) {
  longreach::faults::Strike(longreach::faults::Layer::kNew);
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes); memory != nullptr) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
