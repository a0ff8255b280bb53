// A process that traces another, or one of its threads, for as long as this lives: what the kernel does to those that wait for a device.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

namespace longreach::agent {

class Tracer {
 public:
  // In the tracer: hold() takes hold and says whether it could, stay() is what it does afterwards. They may make system calls alone.
  template <class Hold, class Stay>
  Tracer(const Hold& hold, const Stay& stay) {
    int said[2];
    if (pipe(said) != 0) return;
    tracer_ = fork();
    if (tracer_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const bool holds = hold();
      while (write(said[1], &holds, 1) < 1) continue;
      stay();
      while (true) pause();
    }
    close(said[1]);
    bool holds = false;
    holds_ = read(said[0], &holds, 1) == 1 && holds;
    close(said[0]);
  }
  ~Tracer() { LetGo(); }
  Tracer(const Tracer&) = delete;

  // False where no process may trace another.
  bool holds() const { return holds_; }

  void LetGo() {
    if (tracer_ <= 0) return;
    kill(tracer_, SIGKILL);
    waitpid(std::exchange(tracer_, 0), nullptr, 0);
  }

 private:
  pid_t tracer_ = 0;
  bool holds_ = false;
};

}  // namespace longreach::agent
