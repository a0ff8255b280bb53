// The scheduler's inbox (SynchronizeResponse.inbox): where it is on the same disk, a file is handed over by a link instead of its bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "proto/base/synchronized.h"

namespace longreach::agent {

// A link in the inbox. It goes with this object, if the scheduler has not taken it.
class InboxLink {
 public:
  explicit InboxLink(std::filesystem::path path) : path_(std::move(path)) {}
  InboxLink(InboxLink&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  InboxLink& operator=(InboxLink&&) = delete;
  ~InboxLink();

  std::string name() const { return path_.filename().string(); }

 private:
  std::filesystem::path path_;
};

// All operations are safe from several threads.
class Inbox {
 public:
  // Of this start of a worker. Other processes, of other machines even, have the same inbox.
  Inbox(const std::string& worker, uint64_t incarnation);
  // As the scheduler's newest answer says it; empty: there is none. What earlier starts of this worker left in it, which were killed between a
  // link and its call, is removed.
  void SetFolder(const std::string& folder);
  // Nothing where no link can be made: there is no inbox, or none on this disk that may be written to.
  std::optional<InboxLink> Link(const std::filesystem::path& file);

 private:
  const std::string of_worker_, own_;  // How names begin: of all starts of the worker, and of this one.
  Synchronized<std::string> folder_;
  Synchronized<uint64_t> links_;  // Made so far.
};

}  // namespace longreach::agent
