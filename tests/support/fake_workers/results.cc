#include "tests/support/fake_workers/results.h"

#include <charconv>

namespace longreach::fake {
namespace {

// SplitMix64's last steps.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

double AccuracyOf(std::string_view job) {
  uint64_t first = 0;
  const std::string_view digits = job.substr(0, 12);
  std::from_chars(digits.data(), digits.data() + digits.size(), first, 16);
  return static_cast<double>(first) / static_cast<double>(uint64_t{1} << 48);
}

v1::MemberResult ResultOf(const std::string& job, int lengths) {
  v1::MemberResult result;
  result.set_job(job);
  for (int length = 0; length <= lengths; ++length) {
    v1::Measurement& measurement = *result.add_measurements();
    measurement.set_metric("accuracy");
    measurement.set_length(length);
    measurement.set_value(length == 0 ? AccuracyOf(job) : AccuracyOf(job) / (1 + length));
  }
  return result;
}

std::string ArtifactOf(uint64_t attempt, size_t bytes) {
  std::string content(bytes, '\0');
  uint64_t state = attempt;
  for (char& byte : content) {
    state = Mix(state);
    byte = static_cast<char>(state);
  }
  return content;
}

double FractionOf(std::string_view text, uint64_t salt) {
  uint64_t state = salt;
  for (const char c : text) state = Mix(state ^ static_cast<unsigned char>(c));
  return static_cast<double>(Mix(state) >> 11) / static_cast<double>(uint64_t{1} << 53);
}

}  // namespace longreach::fake
