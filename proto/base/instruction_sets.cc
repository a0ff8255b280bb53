#include "proto/base/instruction_sets.h"

#include <algorithm>
#include <array>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#endif

namespace longreach {

namespace {

#if defined(__x86_64__) && defined(__linux__)

// __builtin_cpu_supports() of GCC 12 does not know it.
bool HasMatrixUnit() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  constexpr uint32_t kSavedByXsave = 1u << 27;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSavedByXsave) == 0) return false;
  constexpr uint32_t kBf16 = 1u << 22, kTile = 1u << 24, kBoth = kBf16 | kTile;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kBoth) != kBoth) return false;
  // The system saves tiles and their configuration.
  constexpr uint32_t kConfiguration = 1u << 17, kData = 1u << 18, kSaved = kConfiguration | kData;
  uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & kSaved) == kSaved;
}

// Linux keeps the 8 KB of a thread's tiles for processes only that say that they want them.
bool AskForTiles() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA.
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

#else

bool HasMatrixUnit() { return false; }
bool AskForTiles() { return false; }

#endif

#if defined(__x86_64__)

bool HasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

bool HasAvx512() {
  return HasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

bool HasDot() { return HasAvx512() && __builtin_cpu_supports("avx512bf16"); }

#else

bool HasAvx2() { return false; }
bool HasAvx512() { return false; }
bool HasDot() { return false; }

#endif

bool MayUseMatrixUnit() {
  static const bool may = HasMatrixUnit() && AskForTiles();
  return may;
}

constexpr std::array kSets = {InstructionSet::kPortable, InstructionSet::kAvx2, InstructionSet::kAvx512, InstructionSet::kAvx512Dot,
                              InstructionSet::kAvx512Amx};

}  // namespace

std::span<const InstructionSet> InstructionSets() { return kSets; }

std::string_view NameOf(InstructionSet set) {
  switch (set) {
    case InstructionSet::kPortable: break;
    case InstructionSet::kAvx2: return "avx2";
    case InstructionSet::kAvx512: return "avx512";
    case InstructionSet::kAvx512Dot: return "avx512dot";
    case InstructionSet::kAvx512Amx: return "avx512amx";
  }
  return "portable";
}

std::optional<InstructionSet> FindInstructionSet(std::string_view name) {
  const auto* const found = std::ranges::find(kSets, name, NameOf);
  if (found == kSets.end()) return std::nullopt;
  return *found;
}

bool RunsHere(InstructionSet set) {
  switch (set) {
    case InstructionSet::kPortable: break;
    case InstructionSet::kAvx2: return HasAvx2();
    case InstructionSet::kAvx512: return HasAvx512();
    case InstructionSet::kAvx512Dot: return HasDot();
    case InstructionSet::kAvx512Amx: return HasDot() && MayUseMatrixUnit();
  }
  return true;
}

}  // namespace longreach
