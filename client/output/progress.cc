#include "client/output/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

constexpr size_t kRunningShown = 8;

std::string Counts(const v1::Sweep& sweep) {
  const v1::JobCounts& counts = sweep.counts();
  std::vector<std::string> parts = {
      fmt::format("{}/{} done", Thousands(counts.succeeded()), Thousands(sweep.jobs()))};
  const auto add = [&parts](int32_t number, const char* what) {
    if (number > 0) parts.push_back(fmt::format("{} {}", Thousands(number), what));
  };
  add(counts.leased(), "running");
  add(counts.queued(), "queued");
  add(counts.waiting(), "waiting");
  add(counts.failed(), "failed");
  add(counts.cancelled(), "cancelled");
  add(counts.diverged(), "diverged");
  return Join(parts, ", ");
}

// " (2 h 24 min to 4 h 6 min)". Empty where it is not known (also to an older scheduler), or so narrow that it says nothing.
std::string RangeOfTimeLeft(const v1::SweepUpdate& update) {
  constexpr double kNarrow = 1.05;
  const double low = update.seconds_left_low(), high = update.seconds_left_high();
  const std::string from = HumanDuration(low), to = HumanDuration(high);
  if (!(high > kNarrow * low) || from == to) return "";
  return fmt::format(" ({} to {})", from, to);
}

std::string Speed(const v1::SweepUpdate& update) {
  std::vector<std::string> parts;
  if (update.job_steps_per_second() > 0) parts.push_back(fmt::format("{} job-steps/s", HumanRate(update.job_steps_per_second())));
  if (update.seconds_left() > 0 && !update.finished()) parts.push_back(fmt::format("about {} left{}", HumanDuration(update.seconds_left()), RangeOfTimeLeft(update)));
  // What it took says little without what was expected.
  const v1::Sweep& sweep = update.sweep();
  if (update.finished() && sweep.has_seconds_taken() && sweep.has_expected()) {
    parts.push_back(fmt::format("took {}; {} was expected at its begin", HumanDurationOrLess(sweep.seconds_taken()),
                                HumanDurationOrLess(sweep.expected().seconds())));
  }
  return Join(parts, "; ");
}

// The share of the work that is done, in [0, 1].
double Share(const v1::SweepUpdate& update) {
  double share = update.job_steps_total() > 0 ? update.job_steps_done() / update.job_steps_total()
                 : update.sweep().jobs() > 0
                     ? static_cast<double>(update.sweep().counts().succeeded()) / update.sweep().jobs()
                     : 0;
  if (!std::isfinite(share)) share = 0;
  return std::clamp(share, 0.0, 1.0);
}

// What runs, in columns no wider than they must be: on a terminal of 80 columns everything is seen.
std::vector<std::string> RunningLines(const v1::SweepUpdate& update) {
  struct Row {
    std::string what;
    std::string members;
    std::string phase;
    std::string steps;
    std::string rate;
  };
  std::vector<Row> rows;
  Row widest;
  for (const v1::RunningAttempt& attempt : update.running()) {
    if (rows.size() == kRunningShown) break;
    rows.push_back({.what = Printable(attempt.task()) + " " + Printable(attempt.encoding()),
                    .members = Count(attempt.members(), "job"),
                    .phase = Printable(attempt.phase()),
                    .steps = fmt::format("{}/{}", attempt.step(), attempt.steps()),
                    .rate = attempt.steps_per_second() > 0
                                ? fmt::format("{} steps/s", HumanRate(attempt.steps_per_second()))
                                : ""});
    for (std::string Row::* column : {&Row::what, &Row::members, &Row::phase, &Row::steps, &Row::rate}) {
      if (DisplayWidth(rows.back().*column) > DisplayWidth(widest.*column)) {
        widest.*column = rows.back().*column;
      }
    }
  }
  std::vector<std::string> lines;
  for (const Row& row : rows) {
    lines.push_back(fmt::format(
        "  {} {}  {} {} {}", PadRight(row.what, DisplayWidth(widest.what)),
        PadLeft(row.members, DisplayWidth(widest.members)), PadRight(row.phase, DisplayWidth(widest.phase)),
        PadLeft(row.steps, DisplayWidth(widest.steps)), PadLeft(row.rate, DisplayWidth(widest.rate))));
  }
  if (update.running_size() > static_cast<int>(kRunningShown)) {
    lines.push_back(fmt::format("  and {} more", update.running_size() - static_cast<int>(kRunningShown)));
  }
  return lines;
}

std::string Bar(double share, int width) {
  const int full = static_cast<int>(share * width);
  std::string bar;
  for (int i = 0; i < width; ++i) bar += i < full ? "█" : "░";
  return bar;
}

std::string Headline(const v1::SweepUpdate& update) {
  const std::string state =
      update.sweep().state() == "live" ? "" : fmt::format(" ({})", Printable(update.sweep().state()));
  return fmt::format("{}{}: {}", Printable(update.sweep().name()), state, Counts(update.sweep()));
}

std::string HeadlineWithSpeed(const v1::SweepUpdate& update) {
  const std::string speed = Speed(update);
  return Headline(update) + (speed.empty() ? "" : "; " + speed);
}

std::string StoreTrouble(const v1::SweepUpdate& update) {
  return fmt::format("{}; it goes on by itself", Printable(update.store_trouble()));
}

// Whose disks are full, and what to do. Empty: nobody's is.
std::string FullDisks(const v1::SweepUpdate& update) {
  std::set<std::string> workers;
  for (const v1::RunningAttempt& attempt : update.running()) {
    if (attempt.phase() == Word(AttemptPhase::kWaitingForDisk)) workers.insert(fmt::format("'{}'", Printable(attempt.worker_name())));
  }
  if (workers.empty()) return "";
  const bool one = workers.size() == 1;
  return fmt::format("{} {} no room on {} for what is computed; free some there, and it goes on by itself", one ? "worker" : "workers",
                     JoinSome({workers.begin(), workers.end()}) + (one ? " has" : " have"), one ? "its disk" : "their disks");
}

}  // namespace

std::string ProgressLine(const v1::SweepUpdate& update) {
  std::string line = HeadlineWithSpeed(update);
  if (!update.store_trouble().empty()) line += "; " + StoreTrouble(update);
  if (const std::string full = FullDisks(update); !full.empty()) line += "; " + full;
  return line;
}

std::vector<std::string> ProgressBlock(const v1::SweepUpdate& update, int width, bool bar) {
  std::vector<std::string> lines = {HeadlineWithSpeed(update)};
  // How long it still takes is what people look for: it is not cut off.
  if (const std::string speed = Speed(update); !speed.empty() && width > 0 && DisplayWidth(lines.front()) > width) lines = {Headline(update), "  " + speed};
  const double share = Share(update);
  const std::string percent = fmt::format("{:.1f} %", std::floor(share * 1000) / 10);
  lines.push_back(bar ? fmt::format("{} {}", Bar(share, std::clamp(width - 12, 10, 60)), percent) : percent + " done");
  // What to do about it stands at its end.
  const auto add_prose = [&lines, width](const std::string& text) {
    for (std::string& line : Split(Prose("", text, width), '\n')) lines.push_back(std::move(line));
  };
  if (!update.store_trouble().empty()) add_prose(StoreTrouble(update));
  if (const std::string full = FullDisks(update); !full.empty()) add_prose(full);
  for (const std::string& line : RunningLines(update)) lines.push_back(line);
  if (width <= 0) return lines;
  for (std::string& line : lines) line = CutToWidth(line, width);
  return lines;
}

void ProgressView::Clear() {
  if (block_.empty()) return;
  // To the block's first line, and clear from there to the end of the screen.
  out_ << fmt::format("\x1b[{}A\r\x1b[J", block_.size());
  block_.clear();
}

void ProgressView::Draw() {
  block_ = ProgressBlock(last_, std::max(20, style_.width() - 1));
  for (size_t i = 0; i < block_.size(); ++i) {
    out_ << (style_.color && i == 0 ? fmt::format("\x1b[1m{}\x1b[0m", block_[i]) : block_[i]) << "\n";
  }
  out_.flush();
}

void ProgressView::Show(const v1::SweepUpdate& update, Clock::time_point now) {
  last_ = update;
  if (style_.terminal) {
    Clear();
    Draw();
    return;
  }
  pending_line_ = ProgressLine(update);
  Tick(now);
}

void ProgressView::Tick(Clock::time_point now) {
  if (pending_line_ == last_line_ || (shown_at_.has_value() && now - *shown_at_ < style_.line_every)) return;
  out_ << pending_line_ << std::endl;
  last_line_ = pending_line_;
  shown_at_ = now;
}

void ProgressView::Say(const std::string& line) {
  const bool redraw = !block_.empty();
  Clear();
  out_ << line << "\n";
  if (redraw) Draw();
  out_.flush();
}

void ProgressView::Finish() {
  if (!style_.terminal && pending_line_ != last_line_) {
    out_ << pending_line_ << std::endl;
    last_line_ = pending_line_;
  }
  block_.clear();
}

}  // namespace longreach::client
