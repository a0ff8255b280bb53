// Memory that kernels work in.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace longreach::trainer {

// Floats at a cache line, in large pages where there are any. Grows, never shrinks; what it held is gone then.
class Floats {
 public:
  Floats() = default;
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;
  ~Floats() { std::free(data_); }

  float* AtLeast(int64_t floats) {
    if (floats <= size_) return data_;
    constexpr size_t kPage = size_t{2} << 20;
    const size_t bytes = (static_cast<size_t>(floats) * sizeof(float) + kPage - 1) / kPage * kPage;
    std::free(data_);
    size_ = 0;
    data_ = static_cast<float*>(std::aligned_alloc(kPage, bytes));
    if (data_ == nullptr) throw std::bad_alloc();
    madvise(data_, bytes, MADV_HUGEPAGE);
    size_ = static_cast<int64_t>(bytes / sizeof(float));
    return data_;
  }
  float* data() const { return data_; }

 private:
  float* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace longreach::trainer
