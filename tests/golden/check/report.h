// What golden_check found: one line per file, as soon as the file is done.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace longreach::golden {

// Collects the comparisons of one file: remembers the largest error and the first few that are out of
// tolerance.
class FileCheck {
 public:
  explicit FileCheck(std::string file) : file_(std::move(file)) {}

  // One comparison: |error| may be at most `tolerance`; an error that is not a number never is. `what` says
  // which value.
  void Compare(std::string_view what, double error, double tolerance);
  // One comparison that has no size: a token, a shape, a file that cannot be read.
  void Require(bool ok, std::string_view what);

  // Where what follows is computed, for the names of its values: "on the GPU".
  void SetPlace(std::string place) { place_ = std::move(place); }

  const std::string& file() const { return file_; }
  bool passed() const { return failures_ == 0 && comparisons_ > 0; }
  // "file: passed, 12 comparisons, largest error 3e-07" or "file: FAILED, ...: what was wrong".
  std::string Line() const;

 private:
  std::string Named(std::string_view what) const { return place_.empty() ? std::string(what) : place_ + " " + std::string(what); }

  std::string file_;
  std::string place_;
  long comparisons_ = 0;
  long failures_ = 0;
  double largest_error_ = 0;       // In absolute terms...
  double largest_share_ = 0;       // ... and as a share of its tolerance.
  std::string largest_at_;
  std::string failure_text_;
};

class Report {
 public:
  explicit Report(std::ostream& out) : out_(out) {}

  void Add(const FileCheck& check);
  // A file that the layout knows and the folder lacks. Neither passed nor failed.
  void Absent(std::string_view file);
  // A file, or a part of it, that is in the folder and that no check knows. Neither passed nor failed.
  void NotCovered(std::string_view file);

  int passed() const { return passed_; }
  int failed() const { return failed_; }
  // The last line: "31 passed, 0 failed", and ", 3 not covered" if there are such.
  void PrintSummary() const;

 private:
  std::ostream& out_;
  int passed_ = 0;
  int failed_ = 0;
  int not_covered_ = 0;
};

}  // namespace longreach::golden
