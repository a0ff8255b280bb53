// How a sweep gets on, for people: a block that is redrawn on a terminal, a line now and then in a pipe.
#pragma once

#include <chrono>
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
    int width = 80;
    // In a pipe: the least time between two lines.
    std::chrono::milliseconds line_every = std::chrono::seconds(5);
  };

  ProgressView(std::ostream& out, Style style) : out_(out), style_(style) {}

  // The newest state.
  void Show(const v1::SweepUpdate& update);
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
  std::optional<std::chrono::steady_clock::time_point> shown_at_;
};

// "12/945 done, 9 running, 924 queued; 1,204 job-steps/s; about 12 min left".
std::string ProgressLine(const v1::SweepUpdate& update);

// The lines of the block, without colour.
std::vector<std::string> ProgressBlock(const v1::SweepUpdate& update, int width);

}  // namespace longreach::client
