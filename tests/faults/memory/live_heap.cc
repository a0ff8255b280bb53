// Preloaded into a program (LD_PRELOAD), this tells how many bytes of its heap are in use: whoever connects to the Unix socket at
// LIVE_HEAP is sent the number. Resident memory says less: what the allocator keeps between live blocks grows with how they come and go.
#include <malloc.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

void Tell(int listening) {
  while (true) {
    const int asked = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    if (asked < 0) continue;
    const struct mallinfo2 heap = mallinfo2();
    dprintf(asked, "%zu\n", heap.uordblks + heap.hblkhd);
    close(asked);
  }
}

[[gnu::constructor]] void Start() {
  const char* const path = std::getenv("LIVE_HEAP");
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  if (path == nullptr || std::strlen(path) >= sizeof address.sun_path) return;
  std::strcpy(address.sun_path, path);
  // A program that only starts this one may have made it.
  unlink(path);
  const int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 && listen(listening, 8) == 0) std::thread(Tell, listening).detach();
}

}  // namespace
