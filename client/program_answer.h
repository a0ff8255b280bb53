// What one of our programs says when it is asked something short: which build it is, what it computes with.
#pragma once

#include <chrono>
#include <string>

#include "client/interrupt.h"
#include "client/process.h"

namespace longreach::client {

struct ProgramAnswer {
  enum class End {
    kEnded,
    kGaveUp,       // It did not end in time, or wrote without end.
    kInterrupted,  // By the user.
  } end = End::kEnded;
  int exit_code = 0;  // If it has ended.
  std::string out = {};  // What it wrote to its standard output, in whole lines.
};

// Closes the child's input and reads what it writes until it ends; one that goes on after that time, or was interrupted, is killed.
ProgramAnswer AnswerOf(Process& process, std::chrono::milliseconds patience, const InterruptScope& interrupt);

}  // namespace longreach::client
