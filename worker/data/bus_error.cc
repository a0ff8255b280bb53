#include "worker/data/bus_error.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <string>
#include <string_view>

#include "proto/base/utf8.h"

namespace longreach::data {
namespace {

// Of fixed size, and without locks: a handler of signals can neither wait nor allocate.
struct MappedPlace {
  std::atomic<uintptr_t> begin{0};  // 0: it is free.
  std::atomic<size_t> bytes{0};
  std::array<char, 400> file{};     // Its last byte stays 0.
};

// No file is mapped there: the place is being filled in.
constexpr uintptr_t kBeingNoted = 1;

std::array<MappedPlace, 1024> mapped_places;

// What the signal does by itself comes after it (SA_RESETHAND): the instruction that raised it does so again. One that another process has sent is no access to memory, and is raised here.
void TellBusError(int signal, siginfo_t* info, void*) {
  const char* const file = info->si_code > 0 ? MappedFileAt(info->si_addr) : nullptr;
  if (file != nullptr) {
    for (const std::string_view part : {std::string_view("a file was cut off while it was read, or its disk gives nothing of it: "), std::string_view(file), std::string_view("\n")}) {
      (void)!write(STDERR_FILENO, part.data(), part.size());
    }
  }
  if (info->si_code <= 0) raise(signal);
}

}  // namespace

void TellBusErrors() {
  struct sigaction action = {};
  action.sa_sigaction = TellBusError;
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_RESETHAND | SA_NODEFER);
  sigaction(SIGBUS, &action, nullptr);
}

void NoteMapped(std::span<const uint8_t> bytes, const std::filesystem::path& file) {
  const std::string name = ForTerminal(file.string());
  for (MappedPlace& place : mapped_places) {
    uintptr_t free = 0;
    if (!place.begin.compare_exchange_strong(free, kBeingNoted)) continue;
    place.file.fill('\0');
    std::copy_n(name.data(), std::min(name.size(), place.file.size() - 1), place.file.data());
    place.bytes = bytes.size();
    place.begin = reinterpret_cast<uintptr_t>(bytes.data());
    return;
  }
}

void NoteUnmapped(const uint8_t* begin) {
  for (MappedPlace& place : mapped_places) {
    uintptr_t there = reinterpret_cast<uintptr_t>(begin);
    if (place.begin.compare_exchange_strong(there, 0)) return;
  }
}

const char* MappedFileAt(const void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  for (const MappedPlace& place : mapped_places) {
    const uintptr_t begin = place.begin;
    if (begin <= kBeingNoted || wanted < begin) continue;
    if (wanted - begin < place.bytes) return place.file.data();
  }
  return nullptr;
}

}  // namespace longreach::data
