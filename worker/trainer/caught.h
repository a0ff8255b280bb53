// The one place where exceptions of LibTorch become statuses.
#pragma once

#include <exception>
#include <functional>
#include <new>

#include "proto/base/status.h"
#include "proto/base/text.h"
#include "worker/trainer/torch.h"

namespace longreach::trainer {

// RESOURCE_EXHAUSTED: out of memory. INTERNAL: anything else that was thrown.
template <typename T>
absl::StatusOr<T> Caught(const std::function<absl::StatusOr<T>()>& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        "out of memory: train fewer jobs at a time (pack limit), or a smaller batch");
  } catch (const c10::OutOfMemoryError& error) {
    return absl::ResourceExhaustedError(Text("out of memory: ", error.what_without_backtrace()));
  } catch (const c10::Error& error) {
    // LibTorch's CPU allocator reports a failed allocation as an error like any other.
    const std::string what = error.what_without_backtrace();
    const bool no_memory = what.find("DefaultCPUAllocator") != std::string::npos ||
                           what.find("not enough memory") != std::string::npos;
    if (no_memory) return absl::ResourceExhaustedError(Text("out of memory: ", what));
    return absl::InternalError(Text("LibTorch: ", what));
  } catch (const std::exception& error) {
    return absl::InternalError(Text("the trainer threw: ", error.what()));
  }
}

}  // namespace longreach::trainer
