#include "worker/agent/crash_notice.h"

#include <sys/socket.h>

#include <csignal>
#include <string>

#include "longreach/v1/trainer_pipe.pb.h"
#include "worker/agent/pipe.h"

namespace longreach::agent {
namespace {

thread_local int pipe_of_thread = -1;
// Made beforehand: a handler of such a signal may only write.
std::string notice;

// Who is told of SIGBUS besides: which file it was is found by the address.
struct sigaction bus_error_before;

// The signal is raised again once this has returned, with what it does by itself (SA_RESETHAND): by the instruction that raised it, or here.
void Notify(int signal, siginfo_t* info, void* context) {
  if (pipe_of_thread >= 0) (void)!send(pipe_of_thread, notice.data(), notice.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  const bool tells = signal == SIGBUS && (bus_error_before.sa_flags & SA_SIGINFO) != 0;
  if (tells) bus_error_before.sa_sigaction(signal, info, context);
  raise(signal);
}

}  // namespace

void SayWhoCrashes() {
  v1::FromTrainer message;
  message.mutable_crashing();
  notice = Frame(message);
  struct sigaction action = {};
  action.sa_sigaction = Notify;
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_RESETHAND | SA_NODEFER);
  sigaction(SIGBUS, nullptr, &bus_error_before);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

void CrashesAreOf(int pipe) { pipe_of_thread = pipe; }

}  // namespace longreach::agent
