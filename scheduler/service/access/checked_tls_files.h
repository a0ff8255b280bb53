// The scheduler's certificate, key and authority as they last were whole. What takes their place is taken up only once it is whole
// too: a certificate without its key, half a copy or an expired one locks nobody out.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "proto/access/changed_files.h"
#include "proto/base/status.h"
#include "proto/base/synchronized.h"
#include "scheduler/service/access/refusals.h"

namespace longreach::service {

// Paths; all empty: no TLS.
struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string client_ca;  // The authority of callers' certificates; empty: no caller has one.
};

// Who hears of them, in a line each; each may be empty.
struct ToldOfTls {
  std::function<void(const std::string&)> ends{};     // What serves and has expired, or soon will: once a day, and when it comes to it.
  std::function<void(const std::string&)> renewed{};  // "certificate FILE (good until 2027-11-21)": what serves from now on in the place of what did.
};

class CheckedTlsFiles {
 public:
  // How long a change may take to be seen.
  static constexpr std::chrono::seconds kEvery{5};

  // FAILED_PRECONDITION with the file: unreadable, not PEM, not a pair, expired, or readable by everybody. `log` outlives it.
  static absl::StatusOr<std::unique_ptr<CheckedTlsFiles>> Open(TlsFiles files, Refusals& log, ToldOfTls told = {});
  ~CheckedTlsFiles();
  CheckedTlsFiles(const CheckedTlsFiles&) = delete;
  CheckedTlsFiles& operator=(const CheckedTlsFiles&) = delete;

  // Paths for whoever reads them again and again: copies in this process's memory, each of which is replaced at once and whole.
  // Key and certificate are one file, so that nobody reads one of before and one of after.
  std::string pair() const;
  std::string client_ca() const;  // Empty: there is none.

  // Takes up what has changed. What is wrong at two looks in a row is logged once, for between two renames it may be wrong for a moment.
  void Look(std::chrono::sys_seconds now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
  // Looks every kEvery, on a thread of its own, until this ends.
  void Follow();

 private:
  struct State {
    access::ChangedFiles files;
    std::string certificate{}, authority{};  // PEM, as they serve.
    std::set<std::string> told{};            // Of their ends, on this day.
    std::chrono::sys_days told_on{};
  };

  CheckedTlsFiles(TlsFiles files, Refusals& log, ToldOfTls told);
  absl::Status Take(State& state);
  void TellOfEnds(State& state, std::chrono::sys_seconds now) const;

  const TlsFiles files_;
  Refusals& log_;
  const ToldOfTls told_;
  int pair_ = -1;  // Descriptors, which keep their numbers when what they refer to is replaced.
  int client_ca_ = -1;
  Synchronized<State> state_;
  std::jthread follower_;
};

}  // namespace longreach::service
