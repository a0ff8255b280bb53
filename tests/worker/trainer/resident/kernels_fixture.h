// Made-up layers for the resident kernels: numbers that the kernels can hold exactly, in memory that shows what they should not touch.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/worker/trainer/resident/double_reference.h"
#include "worker/trainer/resident/attention.h"

namespace longreach::trainer::resident {

using reference::Setting;
using reference::Vector;
using reference::Weights;

struct Case {
  int tape = 1;
  Positional positional = Positional::kNone;
  bool dropout = false;
};

inline std::string NameOf(const Case& c) {
  const char* const names[] = {"None", "Bias", "TrainedBias", "Rotary"};
  return std::string("T").append(std::to_string(c.tape)).append(names[static_cast<int>(c.positional)]).append(c.dropout ? "Dropout" : "");
}
inline std::ostream& operator<<(std::ostream& out, const Case& c) { return out << NameOf(c); }

// The thread sanitizer takes long over each switch of fibers, and a race that is there is there at any tape: few of them.
#if defined(LONGREACH_FIBER_TSAN)
inline constexpr bool kForRaces = true;
#else
inline constexpr bool kForRaces = false;
#endif
#if defined(LONGREACH_FIBER_ASAN) || defined(LONGREACH_FIBER_TSAN)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

inline std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const int tape : kForRaces ? std::vector{33, 120} : std::vector{1, 2, 21, 33, 41, 81, 120, 128}) {
    for (const Positional positional : {Positional::kNone, Positional::kBias, Positional::kTrainedBias, Positional::kRotary}) {
      for (const bool dropout : {false, true}) cases.push_back({tape, positional, dropout});
    }
  }
  return cases;
}

// call.operator()<kPositional>() for a case.
template <class Call>
void WithPositional(const Case& c, const Call& call) {
  switch (c.positional) {
    case Positional::kNone: return call.template operator()<Positional::kNone>();
    case Positional::kBias: return call.template operator()<Positional::kBias>();
    case Positional::kTrainedBias: return call.template operator()<Positional::kTrainedBias>();
    case Positional::kRotary: return call.template operator()<Positional::kRotary>();
  }
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  double Normal(double deviation) { return std::normal_distribution<double>(0, deviation)(engine_); }
  Vector Normals(size_t count, double deviation, double mean = 0) {
    Vector v(count);
    for (double& x : v) x = mean + Normal(deviation);
    return v;
  }
  std::vector<uint64_t> KeepBits(int tokens, double keep) {
    std::vector<uint64_t> bits(static_cast<size_t>(tokens));
    for (uint64_t& word : bits) {
      for (int f = 0; f < kDim; ++f) word |= uint64_t{std::uniform_real_distribution<double>(0, 1)(engine_) < keep} << f;
    }
    return bits;
  }

 private:
  std::mt19937_64 engine_;
};

template <class T>
T NoNumber() {
  if constexpr (std::is_same_v<T, Half>) {
    return 0x7fff;
  } else {
    return std::numeric_limits<T>::quiet_NaN();
  }
}

// What kernels read: followed by what is no number, which would show in every result.
template <class T>
class Input {
 public:
  static constexpr size_t kBeyond = 64 * kDim;

  // Rounds `numbers` in place, too: reference and kernel begin with the same.
  explicit Input(Vector& numbers) : at_(numbers.size() + kBeyond, NoNumber<T>()) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      if constexpr (std::is_same_v<T, Half>) {
        at_[i] = static_cast<Half>(Pack(static_cast<float>(numbers[i]), 0.0f));
        numbers[i] = ToFloat(at_[i]);
      } else {
        numbers[i] = at_[i] = static_cast<float>(numbers[i]);
      }
    }
  }
  const T* data() const { return at_.data(); }

 private:
  std::vector<T> at_;
};

// What kernels write: no number where nothing has been written, before nor after the end.
template <class T>
class Output {
 public:
  explicit Output(size_t size) : size_(size), at_(size + kDim, NoNumber<T>()) {}
  T* data() { return at_.data(); }
  Vector Widened() const {
    Vector v;
    for (size_t i = 0; i < size_; ++i) {
      if constexpr (std::is_same_v<T, Half>) {
        v.push_back(ToFloat(at_[i]));
      } else {
        v.push_back(at_[i]);
      }
    }
    return v;
  }
  bool EndIsUntouched() const {
    const T untouched = NoNumber<T>();
    for (size_t i = size_; i < at_.size(); ++i) {
      if (std::memcmp(&at_[i], &untouched, sizeof(T)) != 0) return false;
    }
    return true;
  }
  bool SameBits(const Output& other) const {
    return at_.size() == other.at_.size() && std::memcmp(at_.data(), other.at_.data(), at_.size() * sizeof(T)) == 0;
  }

 private:
  size_t size_;
  std::vector<T> at_;
};

// A limit that the rounding of bfloat16's operands explains, for the operands that these tests are compiled for: float16 has eight times as fine
// ones.
constexpr double OfOperands(double limit) { return kOperands == Operands::kFloat16 ? limit / 6 : limit; }
// The same where ReLU may take a hidden feature next to zero the other way: an eighth of them, and each is as much as before.
constexpr double OfKinks(double limit) { return kOperands == Operands::kFloat16 ? limit / 2.5 : limit; }

// Of what a kernel wrote and what it should have, by the root of the sum of squares. Below `floor` all errors are taken as if that were the
// size of what is compared.
template <class T>
void ExpectClose(const char* what, const Output<T>& got, const Vector& want, double limit, double floor = 0) {
  const Vector numbers = got.Widened();
  ASSERT_EQ(numbers.size(), want.size()) << what;
  double off = 0, size = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    off += (numbers[i] - want[i]) * (numbers[i] - want[i]);
    size += want[i] * want[i];
  }
  const double error = std::sqrt(off) / std::max(std::sqrt(size), floor);
  EXPECT_LT(error, limit) << what;
  EXPECT_TRUE(got.EndIsUntouched()) << what;
  ::testing::Test::RecordProperty(what, std::to_string(error));
}

inline double SizeOf(const Vector& v) {
  double square = 0;
  for (const double x : v) square += x * x;
  return std::sqrt(square);
}

// Shared memory of a block: what lies in it at first is no number.
class SharedMemory {
 public:
  SharedMemory(size_t bytes, unsigned char fill) : bytes_(bytes + kAlignment, static_cast<char>(fill)) {}
  char* data() {
    const uintptr_t at = reinterpret_cast<uintptr_t>(bytes_.data());
    return bytes_.data() + (kAlignment - at % kAlignment) % kAlignment;
  }

 private:
  static constexpr size_t kAlignment = 1024;

  std::vector<char> bytes_;
};

// How a block is run: what comes out may not depend on it.
struct Manner {
  Order order;
  Done done;
  unsigned char shared_memory;
};
inline constexpr Manner kAllManners[] = {{Order::kAscending, Done::kLate, 0x7f},
                                         {Order::kDescending, Done::kAtOnce, 0xff},
                                         // What a copy brings or overwrites is seen too early, too, where the thread that asks for it comes after the others, or before.
                                         {Order::kDescending, Done::kLate, 0x7f},
                                         {Order::kAscending, Done::kAtOnce, 0xff}};
// To a sanitizer two of them are enough.
inline constexpr std::span<const Manner> kManners = std::span<const Manner>(kAllManners).first(kSanitized ? 2 : 4);

// Where a number of a matrix lies, in squares of 64 x 64 beside each other, or below each other where there are 64 columns: eights of a row change places.
inline int PlaceInSquares(int row, int column) {
  return column / 64 * 64 * 64 + row * 64 + (column % 64 / 8 ^ row % 8) * 8 + column % 8;
}

// A layer's weights as the kernels want them.
struct KernelWeights {
  std::vector<Half> matrices;
  Input<float> mlp1_b, mlp2_b, norm1_scale, norm1_offset, norm2_scale, norm2_offset;

  // Rounds the weights in place.
  explicit KernelWeights(Weights& w)
      : matrices(kLayerMatrices, NoNumber<Half>()),
        mlp1_b(w.mlp1_b),
        mlp2_b(w.mlp2_b),
        norm1_scale(w.norm1_scale),
        norm1_offset(w.norm1_offset),
        norm2_scale(w.norm2_scale),
        norm2_offset(w.norm2_offset) {
    Place(w.q, kDim, kDim, 0);
    Place(w.k, kDim, kDim, kSquare);
    Place(w.v, kDim, kDim, 2 * kSquare);
    Place(w.o, kDim, kDim, kAtOut);
    Place(w.mlp1_w, kDim, kHidden, kAtUp);
    Place(w.mlp2_w, kHidden, kDim, kAtDown);
  }

 private:
  void Place(Vector& w, int rows, int columns, int at) {
    const Input<Half> rounded(w);
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < columns; ++c) matrices[static_cast<size_t>(at + PlaceInSquares(r, c))] = rounded.data()[r * columns + c];
    }
  }
};

inline Weights RandomWeights(Random& random) {
  Weights w;
  for (Vector* m : {&w.q, &w.k, &w.v, &w.o, &w.mlp1_w}) *m = random.Normals(m->size(), 0.11);
  w.mlp2_w = random.Normals(w.mlp2_w.size(), 0.055);
  for (Vector* b : {&w.mlp1_b, &w.mlp2_b, &w.norm1_offset, &w.norm2_offset}) *b = random.Normals(b->size(), 0.1);
  for (Vector* s : {&w.norm1_scale, &w.norm2_scale}) *s = random.Normals(s->size(), 0.1, 1);
  return w;
}

// The terms of a case, for reference and kernels.
struct Terms {
  Setting setting;
  Vector slopes;                  // [H, kTable].
  std::vector<float> table_of_kernel;  // As setting.bias, times log2(e).
  std::vector<float> slopes_of_kernel;
  Vector rotation_of_kernel;
  float keep_scale;
  int outputs;  // Positions of each sequence that are asked for.

  Terms(const Case& c, int batch, Random& random) : keep_scale(c.dropout ? 1 / 0.9f : 7.0f), outputs(c.tape) {
    setting.batch = batch;
    setting.tape = c.tape;
    if (c.dropout) {
      setting.keep_attention = random.KeepBits(setting.tokens(), 0.9);
      setting.keep_mlp = random.KeepBits(setting.tokens(), 0.9);
      setting.keep_scale = keep_scale;
    }
    if (HasBias(c.positional)) {
      setting.bias = random.Normals(kHeads * kTable, 1);  // Not symmetric.
      slopes = random.Normals(kHeads * kTable, 1);
      for (size_t i = 0; i < setting.bias.size(); ++i) {
        const int distance = static_cast<int>(i % kTable) - kSpan;
        // Of pairs that do not exist: finite is enough.
        if (std::abs(distance) >= c.tape) setting.bias[i] = slopes[i] = 1000;
        table_of_kernel.push_back(static_cast<float>(setting.bias[i]) * kLog2e);
        slopes_of_kernel.push_back(static_cast<float>(slopes[i]));
      }
    }
    if (c.positional == Positional::kRotary) {
      for (int t = 0; t < c.tape; ++t) {
        const Vector angles = random.Normals(4, 2);
        for (const double angle : angles) setting.rotation.push_back(std::cos(angle));
        for (const double angle : angles) setting.rotation.push_back(std::sin(angle));
      }
    }
  }

  const uint64_t* keep_attention() const { return setting.keep_attention.empty() ? nullptr : setting.keep_attention.data(); }
  const uint64_t* keep_mlp() const { return setting.keep_mlp.empty() ? nullptr : setting.keep_mlp.data(); }
};

// Sequences that fill a tile of so many rows and begin another one.
inline int BatchBeyond(int rows, int tape) { return rows / tape + 1; }

}  // namespace longreach::trainer::resident
