// What the tests of a resident update's small phases have in common. What a phase writes is NaN before, and so is its shared
// memory: what it leaves out, or reads too soon, shows.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "worker/trainer/resident/step_arguments.h"
#include "worker/trainer/resident/warp.h"

namespace longreach::trainer::resident {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Vectors begin at multiples of 16 bytes, as the phases want it.
static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= 16);
using Floats = std::vector<float>;

class Random {
 public:
  explicit Random(uint32_t seed) : generator_(seed) {}
  Floats Normal(size_t n, float deviation = 1) {
    std::normal_distribution<float> normal(0, deviation);
    Floats values(n);
    for (float& value : values) value = normal(generator_);
    return values;
  }
  Floats Uniform(size_t n, float low, float high) {
    std::uniform_real_distribution<float> uniform(low, high);
    Floats values(n);
    for (float& value : values) value = uniform(generator_);
    return values;
  }
  std::vector<uint8_t> Below(size_t n, int end) {
    std::uniform_int_distribution<int> uniform(0, end - 1);
    std::vector<uint8_t> values(n);
    for (uint8_t& value : values) value = static_cast<uint8_t>(uniform(generator_));
    return values;
  }
  std::vector<uint64_t> Bits(size_t n) {
    std::vector<uint64_t> values(n);
    for (uint64_t& value : values) value = uint64_t{generator_()} << 32 | generator_();
    return values;
  }

 private:
  std::mt19937 generator_;
};

// Shared memory of a block: all bits set, which is NaN in every type, and a guard behind it.
class Shared {
 public:
  explicit Shared(size_t bytes) : bytes_(bytes), memory_(bytes + kGuard, '\xFF') {}
  ~Shared() {
    for (size_t i = bytes_; i < memory_.size(); ++i) EXPECT_EQ(memory_[i], '\xFF') << "written behind shared memory";
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  char* data() { return memory_.data(); }
  // By the block, as its next phase would.
  void Overwrite() {
    for (size_t i = static_cast<size_t>(Thread()); i < bytes_; i += kThreads) memory_[i] = '\xFF';
  }

 private:
  static constexpr size_t kGuard = 64;
  size_t bytes_;
  std::vector<char> memory_;
};

// What body() returns: the same for each of the block's threads, although the first of them to come back overwrite `shared`.
template <class Body>
double ReturnedByAll(const Body& body, Shared& shared, Order order) {
  std::vector<double> returned(kThreads, std::numeric_limits<double>::signaling_NaN());
  RunBlock(
      [&] {
        returned[static_cast<size_t>(Thread())] = body();
        shared.Overwrite();
      },
      order);
  for (const double value : returned) {
    EXPECT_EQ(std::bit_cast<uint64_t>(value), std::bit_cast<uint64_t>(returned[0]));
  }
  return returned[0];
}

// A block's threads take turns in either order: what a phase does may not depend on it.
class PhaseTest : public ::testing::TestWithParam<Order> {
 protected:
  // Runs a phase that writes `output`. Each thread then reads at once what mostly others have written: all of it is there.
  template <class Body, class T>
  static void Run(const Body& body, const std::vector<T>& output) {
    std::vector<T> seen(output.size());
    const auto read = [&] {
      body();
      for (size_t i = static_cast<size_t>(Thread()); i < output.size(); i += kThreads) {
        const size_t from = output.size() - 1 - i;
        seen[from] = output[from];
      }
    };
    RunBlock(read, GetParam());
    EXPECT_EQ(std::memcmp(seen.data(), output.data(), output.size() * sizeof(T)), 0) << "a thread came back too soon";
  }
};

inline std::string NameOfOrder(const ::testing::TestParamInfo<Order>& info) {
  return info.param == Order::kAscending ? "Ascending" : "Descending";
}
inline const auto kBothOrders = ::testing::Values(Order::kAscending, Order::kDescending);

// |values - expected| / |expected|, in Euclid's norm; infinite where a value is not finite.
inline double RelativeError(const Floats& values, const std::vector<double>& expected) {
  EXPECT_EQ(values.size(), expected.size());
  double difference = 0, norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!std::isfinite(values[i])) return std::numeric_limits<double>::infinity();
    difference += std::pow(static_cast<double>(values[i]) - expected[i], 2);
    norm += expected[i] * expected[i];
  }
  return norm == 0 ? std::sqrt(difference) : std::sqrt(difference / norm);
}

inline bool SameBits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace longreach::trainer::resident
