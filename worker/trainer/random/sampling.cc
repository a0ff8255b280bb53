#include "worker/trainer/random/sampling.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "worker/trainer/random/blocks.h"

namespace longreach::trainer {

namespace {

// One coefficient after the other, the highest power first.
template <size_t N>
[[gnu::always_inline]] inline double Polynomial(const double (&coefficients)[N], double x) {
  double value = 0;
  for (const double c : coefficients) value = value * x + c;
  return value;
}

constexpr double kBelowMinus2 = 0.022750131948179207200;  // The normal distribution function at -2.
constexpr double kWithin2 = 1 - 2 * kBelowMinus2;

bool IsCentral(double p) { return std::abs(p - 0.5) <= 0.425; }

// NormalQuantile() where IsCentral(p), which is most often; without a branch.
[[gnu::always_inline]] inline double CentralQuantile(double p) {
  constexpr double kA[] = {2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
                           1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0};
  constexpr double kB[] = {5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
                           5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0};
  const double q = p - 0.5, r = 0.180625 - q * q;
  return q * Polynomial(kA, r) / Polynomial(kB, r);
}

constexpr size_t kChunk = 1024;  // Draws that are made at once.

// The arguments and the central quantiles of `count` truncated normal draws, from RandomStream::Uniform()'s words.
[[gnu::always_inline]] inline void FillCentralInline(const uint32_t* words, size_t count, double* p, double* quantile) {
  for (size_t i = 0; i < count; ++i) {
    uint64_t bits;
    std::memcpy(&bits, words + 2 * i, sizeof(bits));
    // As a number by putting the 52 bits behind the exponent of 2^52: a conversion that vectors have.
    const double whole = std::bit_cast<double>(bits >> 12 | 0x4330000000000000) - 0x1p52;
    p[i] = kBelowMinus2 + kWithin2 * ((whole + 0.5) * 0x1p-52);
    quantile[i] = CentralQuantile(p[i]);
  }
}

void FillCentralPlain(const uint32_t* words, size_t count, double* p, double* quantile) {
  FillCentralInline(words, count, p, quantile);
}

#if defined(__x86_64__)
// Without FMA, so that bits are those of the plain one.
__attribute__((target("avx2"))) void FillCentralAvx2(const uint32_t* words, size_t count, double* p, double* quantile) {
  FillCentralInline(words, count, p, quantile);
}
#endif

void FillCentral(const uint32_t* words, size_t count, double* p, double* quantile) {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  if (has_avx2) return FillCentralAvx2(words, count, p, quantile);
#endif
  FillCentralPlain(words, count, p, quantile);
}

// Element `first + i` of the mask goes through `put(i, kept)`, by chunks of words that stay in the cache.
template <typename Put>
void ForEachHalf(const RandomStream& stream, uint64_t first, size_t count, uint32_t threshold, const Put& put) {
  constexpr size_t kWords = 2048;
  uint32_t words[kWords] = {};
  for (size_t done = 0; done < count; done += 2 * kWords) {
    const size_t halves = std::min(count - done, 2 * kWords);
    FillWords(stream, (first + done) / 2, {words, (halves + 1) / 2});
    uint16_t half[2 * kWords];
    static_assert(std::endian::native == std::endian::little, "the low half of a word comes first");
    std::memcpy(half, words, sizeof(half));
    for (size_t i = 0; i < halves; ++i) put(done + i, half[i] >= threshold);
  }
}

}  // namespace

double NormalQuantile(double p) {
  static constexpr double kC[] = {7.7454501427834140764e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
                                  1.27045825245236838258e0, 3.64784832476320460504e0,  5.76949722146069140550e0,
                                  4.63033784615654529590e0, 1.42343711074968357734e0};
  static constexpr double kD[] = {1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
                                  1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e0,
                                  2.05319162663775882187e0,  1.0};
  static constexpr double kE[] = {2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
                                  2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e0,
                                  5.46378491116411436990e0,  6.65790464350110377720e0};
  static constexpr double kF[] = {2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
                                  7.86869131145613259100e-4,  1.48753612908506148525e-2, 1.36929880922735805310e-1,
                                  5.99832206555887937690e-1,  1.0};
  const double q = p - 0.5;
  if (IsCentral(p)) return CentralQuantile(p);
  double r = std::sqrt(-std::log(q < 0 ? p : 1 - p));
  double x;
  if (r <= 5) {
    r -= 1.6;
    x = Polynomial(kC, r) / Polynomial(kD, r);
  } else {
    r -= 5;
    x = Polynomial(kE, r) / Polynomial(kF, r);
  }
  return q < 0 ? -x : x;
}

double StandardNormal(const RandomStream& stream, uint64_t i) { return NormalQuantile(stream.Uniform(i)); }

double TruncatedNormal(const RandomStream& stream, uint64_t i) {
  return std::clamp(NormalQuantile(kBelowMinus2 + kWithin2 * stream.Uniform(i)), -2.0, 2.0);
}

void FillTruncatedNormal(const RandomStream& stream, double scale, std::span<float> out) {
  uint32_t words[2 * kChunk];
  double p[kChunk], quantile[kChunk];
  for (size_t done = 0; done < out.size(); done += kChunk) {
    const size_t count = std::min(out.size() - done, kChunk);
    FillWords(stream, 2 * done, {words, 2 * count});
    FillCentral(words, count, p, quantile);
    for (size_t i = 0; i < count; ++i) {
      const double x = IsCentral(p[i]) ? quantile[i] : NormalQuantile(p[i]);
      out[done + i] = static_cast<float>(scale * std::clamp(x, -2.0, 2.0));
    }
  }
}

void FillWords(const RandomStream& stream, uint64_t first, std::span<uint32_t> out) {
  constexpr size_t kWords = 4 * kBlockBatch;
  static const BlockFiller fill = BlockFillers().front();
  const uint32_t first_block = static_cast<uint32_t>(first / 4);
  const size_t batches = out.size() / kWords;
  fill(stream, first_block, batches, out.data());
  const size_t done = batches * kWords;
  if (done == out.size()) return;
  uint32_t rest[kWords];
  fill(stream, first_block + static_cast<uint32_t>(batches * kBlockBatch), 1, rest);
  std::copy_n(rest, out.size() - done, out.begin() + static_cast<ptrdiff_t>(done));
}

KeepMask::KeepMask(const RandomStream& stream, double rate)
    : stream_(stream), threshold_(static_cast<uint32_t>(std::min(std::lround(rate * 65536), 65535L))) {}

void KeepMask::Fill(uint64_t first, std::span<uint8_t> out) const {
  ForEachHalf(stream_, first, out.size(), threshold_, [&](size_t i, bool kept) { out[i] = kept; });
}

void KeepMask::Fill(uint64_t first, std::span<float> out) const {
  const float scale = Scale();
  ForEachHalf(stream_, first, out.size(), threshold_, [&](size_t i, bool kept) { out[i] = kept ? scale : 0.0f; });
}

void SampleSorted(const RandomStream& stream, int64_t low, uint32_t n, std::span<int64_t> out, uint64_t first) {
  const uint32_t count = static_cast<uint32_t>(out.size());
  std::vector<bool> taken(n, false);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t newest = n - count + i;
    const uint32_t candidate = stream.Below(first + i, newest + 1);
    taken[taken[candidate] ? newest : candidate] = true;
  }
  size_t written = 0;
  for (uint32_t i = 0; i < n; ++i) {
    if (taken[i]) out[written++] = low + i;
  }
}

}  // namespace longreach::trainer
