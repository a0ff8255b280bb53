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

// The signal is raised again once this has returned, with what it does by itself (SA_RESETHAND): by the instruction that raised it, or here.
void Notify(int signal) {
  if (pipe_of_thread >= 0) (void)!send(pipe_of_thread, notice.data(), notice.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  raise(signal);
}

}  // namespace

void SayWhoCrashes() {
  v1::FromTrainer message;
  message.mutable_crashing();
  notice = Frame(message);
  struct sigaction action = {};
  action.sa_handler = Notify;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

void CrashesAreOf(int pipe) { pipe_of_thread = pipe; }

}  // namespace longreach::agent
