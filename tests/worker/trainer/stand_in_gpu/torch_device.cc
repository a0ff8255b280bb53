// A device of LibTorch whose operations are computed on the host, in DeviceMemory. They refuse what CUDA's refuse: tensors on two
// devices in one operation. Loading this library registers it; LibTorch calls it "stand_in_gpu:0".
//
// What it is not: fast, asynchronous, or in CUDA's order of sums.
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>
#include <torch/types.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/worker/trainer/stand_in_gpu/memory.h"

namespace longreach::stand_in_gpu {

namespace {

using torch::Tensor;

constexpr c10::DeviceType kType = c10::DeviceType::PrivateUse1;
const c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);
c10::Device OurDevice() { return {kType, 0}; }
c10::Stream OurStream() { return c10::Stream(c10::Stream::DEFAULT, OurDevice()); }

// Where a kernel finds it.
template <typename T>
T* Seen(T* address) {
  return DeviceMemory::Ours().ForKernel(address);
}

struct MemoryAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* const there = bytes == 0 ? nullptr : DeviceMemory::Ours().Allocate(bytes);
    return {there, there, raw_deleter(), OurDevice()};
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return [](void* there) {
      if (there != nullptr) DeviceMemory::Ours().Free(there);
    };
  }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(Seen(to), Seen(from), bytes);
  }
};

MemoryAllocator& OurAllocator() {
  static MemoryAllocator allocator;
  return allocator;
}

// One device, on which all is done when it is asked for, whatever stream it is for. A thread's stream is remembered, no more.
thread_local c10::Stream current_stream = OurStream();

struct Guard final : c10::impl::NoOpDeviceGuardImpl<kType> {
  c10::Device exchangeDevice(c10::Device) const override { return OurDevice(); }
  c10::Device getDevice() const override { return OurDevice(); }
  c10::Stream getStream(c10::Device) const noexcept override { return current_stream; }
  c10::Stream getDefaultStream(c10::Device) const override { return OurStream(); }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override { return std::exchange(current_stream, stream); }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override {
    static std::atomic<c10::StreamId> last = 0;
    return c10::Stream(c10::Stream::UNSAFE, OurDevice(), ++last);
  }
  void synchronizeStream(const c10::Stream&) const override {}
  void record(void**, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::Allocator* getPinnedMemoryAllocator() const override { return at::getCPUAllocator(); }
};

Tensor Empty(at::IntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>,
             std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, &OurAllocator(), kKeys, type.value_or(at::kFloat), format);
}

Tensor EmptyStrided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                    std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(size, stride, &OurAllocator(), kKeys, type.value_or(at::kFloat));
}

bool IsOurs(const Tensor& tensor) { return tensor.defined() && tensor.device().type() == kType; }

// The same elements as a tensor of the host's, for a kernel. Its memory may be exchanged for a larger one.
Tensor AsHosts(const Tensor& ours) {
  const c10::Storage& storage = ours.storage();
  c10::Storage hosts(c10::Storage::use_byte_size_t(), storage.nbytes(), c10::DataPtr(Seen(storage.mutable_data()), c10::kCPU), at::getCPUAllocator(),
                     /*resizable=*/true);
  Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(std::move(hosts), c10::DispatchKeySet(c10::DispatchKey::CPU), ours.dtype());
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(ours.sizes(), ours.strides(), ours.storage_offset());
  return tensor;
}

// An operation's tensors on the device, and the same for a kernel.
class Operands {
 public:
  explicit Operands(const c10::OperatorHandle& operation) : name_(operation.schema().operator_name().name) {}

  Tensor ForKernel(const Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    if (!IsOurs(tensor)) {
      // As CUDA's operations have it: a number may come from the host.
      TORCH_CHECK(tensor.dim() == 0, "Expected all tensors to be on the same device, but ", name_, " got some on ", OurDevice(), " and one of ",
                  tensor.sizes(), " on ", tensor.device());
      return tensor;
    }
    return pairs_.emplace_back(tensor, AsHosts(tensor)).second;
  }

  // What a kernel returned, on the device: an operand, a view of one, or a copy.
  Tensor FromKernel(const Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    for (const auto& [ours, hosts] : pairs_) {
      if (tensor.is_same(hosts)) return ours;
    }
    for (const auto& [ours, hosts] : pairs_) {
      if (tensor.storage().data() == nullptr || tensor.storage().data() != hosts.storage().data()) continue;
      Tensor view = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(ours.storage()), ours.key_set(), tensor.dtype());
      view.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
      return view;
    }
    const Tensor ours = EmptyStrided(tensor.sizes(), tensor.strides(), tensor.scalar_type(), {}, {}, {});
    AsHosts(ours).copy_(tensor);
    return ours;
  }

  // Operands that the kernel has given another shape, or more memory, have it on the device too.
  void TakeShapes() {
    for (const auto& [ours, hosts] : pairs_) {
      c10::TensorImpl* const tensor = ours.unsafeGetTensorImpl();
      const c10::Storage& made = hosts.storage();
      if (made.data() != Seen(ours.storage().data())) {
        c10::DataPtr there = OurAllocator().allocate(made.nbytes());
        std::memcpy(Seen(there.get()), made.data(), made.nbytes());
        tensor->set_storage_keep_dtype(c10::Storage(c10::Storage::use_byte_size_t(), made.nbytes(), std::move(there), &OurAllocator(), /*resizable=*/true));
      }
      tensor->set_sizes_and_strides(hosts.sizes(), hosts.strides(), hosts.storage_offset());
    }
  }

 private:
  std::string name_;
  std::vector<std::pair<Tensor, Tensor>> pairs_;
};

c10::IValue Each(const c10::IValue& value, const std::function<Tensor(const Tensor&)>& map) {
  if (value.isTensor()) return map(value.toTensor());
  if (value.isTensorList()) {
    std::vector<Tensor> all;
    for (const Tensor& one : value.toTensorVector()) all.push_back(map(one));
    return all;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<Tensor>> all;
    for (const std::optional<Tensor>& one : value.toOptionalTensorVector()) all.push_back(one ? std::optional<Tensor>(map(*one)) : std::nullopt);
    return all;
  }
  return value;
}

// Any operation that has nothing of its own below.
void ComputeOnHost(const c10::OperatorHandle& operation, torch::jit::Stack* stack) {
  const at::AutoDispatchBelowADInplaceOrView guard;
  Operands operands(operation);
  const size_t arguments = operation.schema().arguments().size(), results = operation.schema().returns().size();
  for (auto value = stack->end() - static_cast<std::ptrdiff_t>(arguments); value != stack->end(); ++value) {
    if (value->isDevice()) *value = c10::IValue(c10::Device(c10::kCPU));
    else *value = Each(*value, [&](const Tensor& tensor) { return operands.ForKernel(tensor); });
  }
  operation.callBoxed(stack);
  for (auto value = stack->end() - static_cast<std::ptrdiff_t>(results); value != stack->end(); ++value) {
    *value = Each(*value, [&](const Tensor& tensor) { return operands.FromKernel(tensor); });
  }
  operands.TakeShapes();
}

// Between devices, and within this one.
Tensor CopyFrom(const Tensor& from, const Tensor& to, bool) {
  const at::AutoDispatchBelowADInplaceOrView guard;
  (IsOurs(to) ? AsHosts(to) : to).copy_(IsOurs(from) ? AsHosts(from) : from);
  return to;
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&ComputeOnHost>()); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", Empty);
  m.impl("empty_strided", EmptyStrided);
  m.impl("_copy_from", CopyFrom);
}

[[maybe_unused]] const bool kRegistered = [] {
  c10::register_privateuse1_backend("stand_in_gpu");
  c10::SetAllocator(kType, &OurAllocator());
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  return true;
}();

}  // namespace

}  // namespace longreach::stand_in_gpu
