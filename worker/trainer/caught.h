// The one place where exceptions of LibTorch become statuses.
#pragma once

#include <exception>
#include <functional>
#include <new>
#include <string>

#include "proto/base/status.h"
#include "proto/base/text.h"
#include "worker/trainer/torch.h"

namespace longreach::trainer {

// LibTorch's allocators, CUDA, cuBLAS and the plugin each have their own words for it.
inline bool SaysOutOfMemory(const std::string& what) {
  for (const char* words : {"DefaultCPUAllocator", "not enough memory", "out of memory", "CUBLAS_STATUS_ALLOC_FAILED"}) {
    if (what.find(words) != std::string::npos) return true;
  }
  return false;
}

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
    const std::string what = error.what_without_backtrace();
    if (SaysOutOfMemory(what)) return absl::ResourceExhaustedError(Text("out of memory: ", what));
    return absl::InternalError(Text("LibTorch: ", what));
  } catch (const std::exception& error) {
    if (SaysOutOfMemory(error.what())) return absl::ResourceExhaustedError(Text("out of memory: ", error.what()));
    return absl::InternalError(Text("the trainer threw: ", error.what()));
  }
}

}  // namespace longreach::trainer
