// A device's memory on a machine without one: the host has addresses of it, and gets a SIGSEGV where it reads or writes there, as it does
// with a GPU's; kernels see the same memory elsewhere.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <type_traits>

namespace longreach::stand_in_gpu {

class DeviceMemory {
 public:
  // Bytes of the address space that are set apart; memory is taken as it is used.
  static constexpr size_t kBytes = size_t{4} << 30;

  // Of this process; never destroyed.
  static DeviceMemory& Ours();

  // Filled with what no computation expects: NaN as any kind of float. Throws std::bad_alloc where there is none left.
  void* Allocate(size_t bytes);
  // What Allocate() has returned.
  void Free(void* begin);

  bool Has(const void* address) const;
  // Where a kernel finds what the host knows by this address. Null stays null.
  template <typename T>
  T* ForKernel(T* address) const {
    using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
    return address == nullptr ? nullptr : reinterpret_cast<T*>(seen_ + (reinterpret_cast<Byte*>(address) - base_));
  }

 private:
  DeviceMemory();

  char* base_ = nullptr;
  char* seen_ = nullptr;
  std::mutex mutex_;
  std::map<size_t, size_t> used_, free_;  // Bytes by where they begin.
};

}  // namespace longreach::stand_in_gpu
