// Draws from distributions, on the host. All are pure functions of a RandomStream.
#pragma once

#include <cstdint>
#include <span>

#include "worker/trainer/random/random_stream.h"

namespace longreach::trainer {

// The x at which the standard normal distribution function is `p`, for p in (0, 1). Relative error about 1e-16.
// Source: Wichura, algorithm AS 241 (PPND16), Applied Statistics 37 (1988).
double NormalQuantile(double p);

// From stream.Uniform(i), by the inverse of the distribution function.
double StandardNormal(const RandomStream& stream, uint64_t i);
// Standard normal given that it lies in [-2, 2]; standard deviation 0.8796. From stream.Uniform(i).
double TruncatedNormal(const RandomStream& stream, uint64_t i);
// `out` gets scale * TruncatedNormal(stream, i) of i = 0, 1, ..., bit for bit. Several times faster than one by one.
void FillTruncatedNormal(const RandomStream& stream, double scale, std::span<float> out);

// `out` gets `count` = out.size() words: stream.Word(first), stream.Word(first + 1), ... `first` is a multiple of 4.
// Several times faster than one by one.
void FillWords(const RandomStream& stream, uint64_t first, std::span<uint32_t> out);

// Which elements dropout keeps. Element i is dropped when 16 bits (stream.Half(i)) fall below the threshold, so the
// rate is rounded to a multiple of 2^-16: DropRate() is the one to scale by.
class KeepMask {
 public:
  // rate in [0, 1).
  KeepMask(const RandomStream& stream, double rate);

  double DropRate() const { return threshold_ * 0x1p-16; }
  // What kept elements are multiplied by, so that the mean stays.
  float Scale() const { return static_cast<float>(1.0 / (1.0 - DropRate())); }
  uint32_t threshold() const { return threshold_; }
  const RandomStream& stream() const { return stream_; }
  bool Keeps(uint64_t i) const { return stream_.Half(i) >= threshold_; }

  // 1 for elements first, first + 1, ... that are kept, else 0. `first` is a multiple of 8.
  void Fill(uint64_t first, std::span<uint8_t> out) const;
  // Scale() for elements that are kept, else 0. `first` is a multiple of 8.
  void Fill(uint64_t first, std::span<float> out) const;

 private:
  RandomStream stream_;
  uint32_t threshold_;
};

// out.size() distinct integers of [low, low + n), ascending; every subset is equally likely. Needs out.size() <= n.
// Draws stream.Word(first) to stream.Word(first + out.size() - 1).
// Source: Floyd's algorithm, Bentley, "A sample of brilliance", CACM 30 (1987).
void SampleSorted(const RandomStream& stream, int64_t low, uint32_t n, std::span<int64_t> out, uint64_t first = 0);

}  // namespace longreach::trainer
