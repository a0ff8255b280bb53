// Ctrl-C as something to wait for, instead of the end.
#pragma once

namespace longreach::client {

// While one lives, SIGINT, SIGTERM and SIGHUP are counted instead of ending the process. One at a time.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  // How often the process was asked to end.
  int count() const;
  // 128 plus the number of the last signal: what the process ends with then.
  int exit_code() const;
  // Becomes readable with each signal; for poll().
  int fd() const;
  // Makes fd() unreadable until the next signal.
  void Clear();
};

// Whether the reader of a pipe went away, which else is known once something is written to it. -1: never.
bool ReaderIsGone(int out_fd);

}  // namespace longreach::client
