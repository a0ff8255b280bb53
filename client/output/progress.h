// How a sweep gets on, for people: a block that is redrawn on a terminal, a line now and then in a pipe.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "longreach/v1/api.pb.h"

namespace longreach::client {

class ProgressView {
 public:
  struct Style {
    bool terminal = false;
    bool color = false;
    std::function<int()> width = [] { return 80; };  // Of the terminal, whenever the block is drawn.
    // In a pipe: the least time between two lines.
    std::chrono::milliseconds line_every = std::chrono::seconds(5);
  };

  ProgressView(std::ostream& out, Style style) : out_(out), style_(style) {}

  using Clock = std::chrono::steady_clock;

  // The newest state. In a pipe one that comes soon after a line is kept, for Tick().
  void Show(const v1::SweepUpdate& update, Clock::time_point now = Clock::now());
  // Time has gone by: writes the line that was kept, if it may be written now. Whoever waits for updates calls it in between, as the last
  // one may have no other behind it for hours.
  void Tick(Clock::time_point now = Clock::now());
  // A line of talk; the block moves below it.
  void Say(const std::string& line);
  // Shows the last state if it was not shown yet, and leaves the block where it is.
  void Finish();

 private:
  void Clear();
  void Draw();

  std::ostream& out_;
  Style style_;
  v1::SweepUpdate last_;
  std::vector<std::string> block_;
  std::string last_line_;
  std::string pending_line_;
  std::optional<Clock::time_point> shown_at_;
};

// "12/945 done, 9 running, 924 queued; 1,204 job-steps/s; about 12 min left".
std::string ProgressLine(const v1::SweepUpdate& update);

// The lines of the block, without colour, in `width` columns; 0: as wide as they are. `bar`: with one in front of the share that is done, as on a terminal.
std::vector<std::string> ProgressBlock(const v1::SweepUpdate& update, int width, bool bar = true);

}  // namespace longreach::client
