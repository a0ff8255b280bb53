#include "proto/base/matrix_unit.h"

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

}  // namespace

bool MayUseMatrixUnit() {
  static const bool may = HasMatrixUnit() && AskForTiles();
  return may;
}

}  // namespace longreach
