// Preloaded into a program (LD_PRELOAD), this moves its clocks while it runs, as the file named by SHIFTED_CLOCK says:
// "WALL_S RATE STEADY_S": the wall clock is ahead by WALL_S seconds, and the steady clock by STEADY_S, which runs RATE times as fast as
// it should from the program's start. Without the last number nothing is added to it. Only what programs ask and wait for by a point in
// time is moved; waits for a duration last as long as ever, and so do those that have begun before a change.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr int64_t kSecond = 1'000'000'000;

struct Shift {
  int64_t wall = 0;
  double rate = 1;
  int64_t steady = 0;
};

Shift Read() {
  Shift shift;
  const char* const path = std::getenv("SHIFTED_CLOCK");
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return shift;
  char text[64] = {};
  const ssize_t bytes = read(file, text, sizeof text - 1);
  close(file);
  if (bytes <= 0) return shift;
  char* rest = text;
  shift.wall = static_cast<int64_t>(std::strtod(text, &rest) * kSecond);
  const double rate = std::strtod(rest, &rest);
  if (rate > 0) shift.rate = rate;
  shift.steady = static_cast<int64_t>(std::strtod(rest, nullptr) * kSecond);
  return shift;
}

// The system's own answer, by a call that nobody has replaced.
int64_t Real(clockid_t clock) {
  static const auto next = reinterpret_cast<int (*)(clockid_t, timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
  timespec at{};
  next(clock, &at);
  return at.tv_sec * kSecond + at.tv_nsec;
}

// Where the steady clock stood at this program's start: from there it runs at another rate.
int64_t Origin() {
  static const int64_t origin = Real(CLOCK_MONOTONIC);
  return origin;
}

bool IsWall(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }
bool IsSteady(clockid_t clock) { return clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_MONOTONIC_RAW; }

int64_t Shifted(clockid_t clock) {
  const int64_t real = Real(clock);
  if (IsWall(clock)) return real + Read().wall;
  if (!IsSteady(clock)) return real;
  const Shift shift = Read();
  return Origin() + static_cast<int64_t>(static_cast<double>(real - Origin()) * shift.rate) + shift.steady;
}

timespec ToTimespec(int64_t ns) { return {static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)}; }

// When the system's clock will show what the moved one shall.
timespec Back(clockid_t clock, const timespec& at) {
  const int64_t ns = at.tv_sec * kSecond + at.tv_nsec;
  if (IsWall(clock)) return ToTimespec(ns - Read().wall);
  if (!IsSteady(clock) || ns < Origin()) return at;
  const Shift shift = Read();
  // What was before the start once the clock was moved is over, as the start is.
  if (ns - shift.steady < Origin()) return ToTimespec(Origin());
  return ToTimespec(Origin() + static_cast<int64_t>(static_cast<double>(ns - shift.steady - Origin()) / shift.rate));
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* at) noexcept {
  *at = ToTimespec(Shifted(clock));
  return 0;
}

int gettimeofday(timeval* at, void*) noexcept {
  const int64_t ns = Shifted(CLOCK_REALTIME);
  *at = {static_cast<time_t>(ns / kSecond), static_cast<suseconds_t>(ns % kSecond / 1000)};
  return 0;
}

time_t time(time_t* at) noexcept {
  const time_t now = static_cast<time_t>(Shifted(CLOCK_REALTIME) / kSecond);
  if (at != nullptr) *at = now;
  return now;
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* at) {
  static const auto next = reinterpret_cast<int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>(
      dlsym(RTLD_NEXT, "pthread_cond_clockwait"));
  const timespec real = Back(clock, *at);
  return next(condition, mutex, clock, &real);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* at) {
  static const auto next =
      reinterpret_cast<int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*)>(dlsym(RTLD_NEXT, "pthread_cond_timedwait"));
  const timespec real = Back(CLOCK_REALTIME, *at);
  return next(condition, mutex, &real);
}

// Abseil's waits are futexes until a point of the wall clock.
long syscall(long number, ...) noexcept {
  static const auto next = reinterpret_cast<long (*)(long, ...)>(dlsym(RTLD_NEXT, "syscall"));
  va_list list;
  va_start(list, number);
  long argument[6];
  for (long& one : argument) one = va_arg(list, long);
  va_end(list);
  timespec real{};
  const auto* const at = reinterpret_cast<const timespec*>(argument[3]);
  const int command = static_cast<int>(argument[1]) & FUTEX_CMD_MASK;
  if (number == SYS_futex && command == FUTEX_WAIT_BITSET && at != nullptr) {
    real = Back((argument[1] & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, *at);
    argument[3] = reinterpret_cast<long>(&real);
  }
  return next(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}

}  // extern "C"
