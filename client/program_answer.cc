#include "client/program_answer.h"

#include <optional>

namespace longreach::client {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{100};
constexpr size_t kMostOfAnAnswer = size_t{16} << 20;

}  // namespace

ProgramAnswer AnswerOf(Process& process, std::chrono::milliseconds patience, const InterruptScope& interrupt) {
  ProgramAnswer answer;
  process.CloseInput();
  const auto end = std::chrono::steady_clock::now() + patience;
  while (true) {
    if (const std::optional<std::string> line = process.ReadLine(kBetweenLooks); line.has_value()) answer.out += *line + "\n";
    else if (process.WaitFor(kBetweenLooks)) break;
    if (interrupt.count() > 0) answer.end = ProgramAnswer::End::kInterrupted;
    else if (answer.out.size() > kMostOfAnAnswer || std::chrono::steady_clock::now() >= end) answer.end = ProgramAnswer::End::kGaveUp;
    else continue;
    process.Kill();
    return answer;
  }
  // What it wrote last.
  for (std::optional<std::string> line; (line = process.ReadLine(std::chrono::milliseconds(0))).has_value();) answer.out += *line + "\n";
  answer.exit_code = process.exit_code();
  return answer;
}

}  // namespace longreach::client
