#include "worker/device_option.h"

#include <cstdlib>
#include <optional>

namespace longreach {
namespace {

constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES";

}  // namespace

void AddDevice(CLI::App& command, std::string& device) {
  command.add_option("--device", device, "cpu; cuda: the first GPU; cuda:N: the one with the number N, from 0")
      ->type_name("DEVICE")
      ->check(catalog::CheckDevice)
      ->capture_default_str();
}

absl::StatusOr<catalog::Device> TakeDevice(const std::string& device) {
  const catalog::Device taken = catalog::ParseDevice(device).value_or(catalog::Device{});  // CheckDevice() has seen it.
  if (!taken.gpu.has_value()) return taken;
  const char* visible = std::getenv(kVisible);
  const std::optional<std::string> alone = catalog::VisibleAlone(*taken.gpu, visible);
  if (!alone.has_value()) {
    return absl::FailedPreconditionError("--device " + device + ": " + kVisible + " is '" + visible + "', which has no GPU of that number; they count from 0");
  }
  setenv(kVisible, alone->c_str(), /*overwrite=*/1);
  return taken;
}

}  // namespace longreach
