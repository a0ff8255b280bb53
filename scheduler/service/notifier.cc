#include "scheduler/service/notifier.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "proto/base/text.h"
#include "scheduler/service/notice.h"
#include "scheduler/service/run_program.h"

namespace longreach::service {

void Notifier::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void Notifier::Add(const News& news) {
  {
    auto queue = queue_.Lock();
    if (queue->waiting.size() >= kMost) {
      ++queue->left_out;
      return;
    }
    queue->waiting.push_back({.news = news, .at = clock_.Wall()});
  }
  changed_.notify_one();
}

void Notifier::Stop() {
  if (!thread_.joinable()) return;
  queue_.Lock()->give_up_at = clock_.Steady() + kPatience;
  changed_.notify_one();
  thread_.join();
  auto queue = queue_.Lock();
  if (queue->left_out > 0) LogLeftOut(queue->left_out);
  if (queue->waiting.empty()) return;
  std::vector<std::string> lines;
  for (const Waiting& one : queue->waiting) lines.push_back(one.news.line);
  log_(fmt::format("--notify: the scheduler ends, and the program is not told of {} more: {}", lines.size(), JoinSome(lines)));
}

void Notifier::Loop() {
  const auto give_up = [this] { return queue_.Lock()->over(clock_.Steady()); };
  while (const std::optional<Waiting> next = Take()) {
    const absl::Status told = run_(next->news, next->at, give_up);
    if (!told.ok()) log_(fmt::format("--notify: told of {}, the program {}", next->news.notice->event, std::string(told.message())));
  }
}

std::optional<Notifier::Waiting> Notifier::Take() {
  std::optional<Waiting> next;
  int64_t left_out = 0;
  {
    auto queue = queue_.Lock();
    changed_.wait(queue.lock(), [&queue] { return !queue->waiting.empty() || queue->give_up_at; });
    if (queue->waiting.empty() || queue->over(clock_.Steady())) return std::nullopt;
    next = std::move(queue->waiting.front());
    queue->waiting.pop_front();
    left_out = std::exchange(queue->left_out, 0);
  }
  if (left_out > 0) LogLeftOut(left_out);
  return next;
}

void Notifier::LogLeftOut(int64_t count) const {
  log_(fmt::format("--notify: {} pieces of news were left out, as {} were waiting for the program", count, kMost));
}

Notifier::Run TellProgram(std::filesystem::path program, std::chrono::milliseconds limit) {
  std::vector<std::string> inherited;
  for (char** variable = environ; *variable != nullptr; ++variable) inherited.emplace_back(*variable);
  return [program = std::move(program), inherited = std::move(inherited), limit](const News& news, WallTime at, const std::function<bool()>& give_up) {
    return RunProgram({.program = program, .environment = NoticeEnvironment(news, inherited), .input = NoticeLine(news, at)}, limit, give_up);
  };
}

}  // namespace longreach::service
