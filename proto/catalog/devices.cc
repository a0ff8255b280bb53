#include "proto/catalog/devices.h"

#include <charconv>
#include <set>
#include <system_error>

namespace longreach::catalog {
namespace {

constexpr std::string_view kCpu = "cpu", kCuda = "cuda", kNumbered = "cuda:";
// More than a machine has: a number beyond it is a slip.
constexpr int kMaxGpu = 1023;

std::optional<int> ParseGpu(std::string_view text) {
  int gpu = 0;
  const char* const end = text.data() + text.size();
  const std::from_chars_result read = std::from_chars(text.data(), end, gpu);
  if (read.ec != std::errc() || read.ptr != end || gpu < 0 || gpu > kMaxGpu) return std::nullopt;
  return gpu;
}

std::vector<std::string_view> SplitAtCommas(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::optional<Device> ParseDevice(std::string_view text) {
  if (text == kCpu) return Device{};
  if (text == kCuda) return Device{.cuda = true};
  if (!text.starts_with(kNumbered)) return std::nullopt;
  const std::optional<int> gpu = ParseGpu(text.substr(kNumbered.size()));
  if (!gpu.has_value()) return std::nullopt;
  return Device{.cuda = true, .gpu = gpu};
}

std::vector<Device> ParseDevices(std::string_view text) {
  if (const std::optional<Device> one = ParseDevice(text)) return {*one};
  if (!text.starts_with(kNumbered)) return {};
  std::set<int> gpus;
  for (const std::string_view part : SplitAtCommas(text.substr(kNumbered.size()))) {
    const size_t dots = part.find("..");
    const std::optional<int> first = ParseGpu(part.substr(0, dots));
    const std::optional<int> last = dots == std::string_view::npos ? first : ParseGpu(part.substr(dots + 2));
    if (!first.has_value() || !last.has_value() || *first > *last) return {};
    for (int gpu = *first; gpu <= *last; ++gpu) {
      if (!gpus.insert(gpu).second) return {};
    }
  }
  std::vector<Device> devices;
  for (const int gpu : gpus) devices.push_back({.cuda = true, .gpu = gpu});
  return devices;
}

std::string ToText(const Device& device) {
  if (!device.cuda) return std::string(kCpu);
  return device.gpu.has_value() ? std::string(kNumbered) + std::to_string(*device.gpu) : std::string(kCuda);
}

std::string CheckDevice(const std::string& text) {
  return ParseDevice(text).has_value() ? "" : "'" + text + "' is neither cpu nor cuda, the first GPU, nor cuda:N, the one with the number N, from 0";
}

std::string CheckDevices(const std::string& text) {
  return !ParseDevices(text).empty() ? ""
                                     : "'" + text + "' is neither cpu nor cuda, the first GPU, nor numbers of GPUs, each once: cuda:2, cuda:0,2 or cuda:0..7";
}

std::optional<std::string> VisibleAlone(int gpu, const char* visible) {
  if (visible == nullptr) return std::to_string(gpu);
  const std::vector<std::string_view> all = SplitAtCommas(visible);
  if (static_cast<size_t>(gpu) >= all.size() || all[static_cast<size_t>(gpu)].empty()) return std::nullopt;
  return std::string(all[static_cast<size_t>(gpu)]);
}

}  // namespace longreach::catalog
