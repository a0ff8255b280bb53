#include "client/interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

namespace longreach::client {
namespace {

// Signal handlers reach only globals.
std::atomic<int> g_count{0};
std::atomic<int> g_signal{SIGINT};
// Opened once and never closed: a handler on another thread may be about to write to it, and its number may be another file's by then.
std::atomic<int> g_fd{-1};

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
struct sigaction g_before[3];

void Handle(int signal) {
  const int saved = errno;
  g_count.fetch_add(1);
  g_signal.store(signal);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(g_fd.load(), &one, sizeof one);
  errno = saved;
}

}  // namespace

InterruptScope::InterruptScope() {
  g_count = 0;
  if (g_fd < 0) g_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  Clear();  // Of what came while one lived before.
  struct sigaction action{};
  action.sa_handler = Handle;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < 3; ++i) sigaction(kSignals[i], &action, &g_before[i]);
}

InterruptScope::~InterruptScope() {
  for (int i = 0; i < 3; ++i) sigaction(kSignals[i], &g_before[i], nullptr);
}

int InterruptScope::count() const { return g_count; }
int InterruptScope::exit_code() const { return 128 + g_signal; }
int InterruptScope::fd() const { return g_fd; }

void InterruptScope::Clear() {
  uint64_t value = 0;
  [[maybe_unused]] const ssize_t got = read(g_fd, &value, sizeof value);
}

bool ReaderIsGone(int out_fd) {
  pollfd out{.fd = out_fd, .events = 0, .revents = 0};  // Without a question only errors are answered.
  return out_fd >= 0 && poll(&out, 1, 0) > 0;
}

}  // namespace longreach::client
