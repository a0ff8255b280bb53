#include "worker/trainer/random/blocks.h"

#include <cstring>

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
// Its own functions for AVX-512 begin with a register that may hold anything, and are warned of.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#endif

namespace longreach::trainer {

namespace {

void FillBlocksPlain(const RandomStream& stream, uint32_t first_block, size_t batches, uint32_t* out) {
  for (uint32_t i = 0; i < batches * kBlockBatch; ++i) {
    const PhiloxBlock block = stream.Bits(first_block + i);
    std::memcpy(out + 4 * i, block.word, sizeof(block.word));
  }
}

#if defined(__x86_64__)
// The same with a counter in each 64-bit lane, of which only the lower halves count, because that is how AVX2 multiplies.
__attribute__((target("avx2"))) void FillBlocksAvx2(const RandomStream& stream, uint32_t first_block, size_t batches,
                                                    uint32_t* out) {
  const __m256i multiplier0 = _mm256_set1_epi64x(kPhiloxMultiplier0);
  const __m256i multiplier1 = _mm256_set1_epi64x(kPhiloxMultiplier1);
  const __m256i low_half = _mm256_set1_epi64x(0xFFFFFFFF);
  const __m256i purpose = _mm256_set1_epi64x(static_cast<uint32_t>(stream.purpose) | uint32_t{stream.layer} << 16);
  for (size_t batch = 0; batch < batches; ++batch, out += 4 * kBlockBatch) {
    __m256i c0[2], c1[2], c2[2], c3[2];
    for (int half = 0; half < 2; ++half) {
      const uint32_t index = first_block + static_cast<uint32_t>(kBlockBatch * batch) + 4 * static_cast<uint32_t>(half);
      c0[half] = _mm256_set_epi64x(index + 3, index + 2, index + 1, index);
      c1[half] = purpose;
      c2[half] = _mm256_set1_epi64x(static_cast<uint32_t>(stream.step));
      c3[half] = _mm256_set1_epi64x(static_cast<uint32_t>(stream.step >> 32));
    }
    uint32_t key0 = static_cast<uint32_t>(stream.key);
    uint32_t key1 = static_cast<uint32_t>(stream.key >> 32);
    for (int round = 0; round < kPhiloxRounds; ++round) {
      const __m256i key0s = _mm256_set1_epi64x(key0);
      const __m256i key1s = _mm256_set1_epi64x(key1);
      for (int half = 0; half < 2; ++half) {
        const __m256i product0 = _mm256_mul_epu32(multiplier0, c0[half]);
        const __m256i product1 = _mm256_mul_epu32(multiplier1, c2[half]);
        c0[half] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(product1, 32), c1[half]), key0s);
        c1[half] = product1;
        c2[half] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(product0, 32), c3[half]), key1s);
        c3[half] = product0;
      }
      key0 += kPhiloxWeyl0;
      key1 += kPhiloxWeyl1;
    }
    for (int half = 0; half < 2; ++half) {
      const __m256i low = _mm256_or_si256(_mm256_and_si256(c0[half], low_half), _mm256_slli_epi64(c1[half], 32));
      const __m256i high = _mm256_or_si256(_mm256_and_si256(c2[half], low_half), _mm256_slli_epi64(c3[half], 32));
      const __m256i even = _mm256_unpacklo_epi64(low, high);  // Blocks 0 and 2.
      const __m256i odd = _mm256_unpackhi_epi64(low, high);   // Blocks 1 and 3.
      __m256i* to = reinterpret_cast<__m256i*>(out + 16 * half);
      _mm256_storeu_si256(to, _mm256_permute2x128_si256(even, odd, 0x20));
      _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(even, odd, 0x31));
    }
  }
}

// A batch is one register here; as none needs the one before, the processor has several under way.
__attribute__((target("avx512f"))) void FillBlocksAvx512(const RandomStream& stream, uint32_t first_block, size_t batches, uint32_t* out) {
  constexpr int kXorOfThree = 0x96;
  constexpr __mmask16 kOddWords = 0xAAAA;
  const __m512i multiplier0 = _mm512_set1_epi64(kPhiloxMultiplier0), multiplier1 = _mm512_set1_epi64(kPhiloxMultiplier1);
  const __m512i purpose = _mm512_set1_epi64(static_cast<uint32_t>(stream.purpose) | uint32_t{stream.layer} << 16);
  const __m512i step_low = _mm512_set1_epi64(static_cast<uint32_t>(stream.step)), step_high = _mm512_set1_epi64(static_cast<uint32_t>(stream.step >> 32));
  const __m512i eight = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i first_four = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), last_four = _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4);
  for (size_t batch = 0; batch < batches; ++batch, out += 4 * kBlockBatch) {
    // A sum beyond 32 bits is cut off where it is multiplied.
    __m512i c0 = _mm512_add_epi64(_mm512_set1_epi64(first_block + static_cast<uint32_t>(kBlockBatch * batch)), eight);
    __m512i c1 = purpose, c2 = step_low, c3 = step_high;
    uint32_t key0 = static_cast<uint32_t>(stream.key), key1 = static_cast<uint32_t>(stream.key >> 32);
    for (int round = 0; round < kPhiloxRounds; ++round, key0 += kPhiloxWeyl0, key1 += kPhiloxWeyl1) {
      const __m512i product0 = _mm512_mul_epu32(multiplier0, c0), product1 = _mm512_mul_epu32(multiplier1, c2);
      c0 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product1, 32), c1, _mm512_set1_epi64(key0), kXorOfThree);
      c1 = product1;
      c2 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product0, 32), c3, _mm512_set1_epi64(key1), kXorOfThree);
      c3 = product0;
    }
    const __m512i low = _mm512_mask_shuffle_epi32(c0, kOddWords, c1, _MM_PERM_CCAA), high = _mm512_mask_shuffle_epi32(c2, kOddWords, c3, _MM_PERM_CCAA);
    _mm512_storeu_si512(out, _mm512_permutex2var_epi64(low, first_four, high));
    _mm512_storeu_si512(out + 2 * kBlockBatch, _mm512_permutex2var_epi64(low, last_four, high));
  }
}
#endif

}  // namespace

std::vector<BlockFiller> BlockFillers() {
  std::vector<BlockFiller> fillers;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) fillers.push_back(FillBlocksAvx512);
  if (__builtin_cpu_supports("avx2")) fillers.push_back(FillBlocksAvx2);
#endif
  fillers.push_back(FillBlocksPlain);
  return fillers;
}

}  // namespace longreach::trainer
