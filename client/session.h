// One command's run: settings, streams, and the scheduler, reached or started when it is first needed.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "client/connection.h"
#include "client/embedded.h"
#include "client/environment.h"
#include "client/errors.h"
#include "client/output/grid.h"
#include "client/settings.h"
#include "proto/base/status.h"

namespace longreach::client {

// What a command does to a store that it is given with --store.
enum class StoreUse {
  kExisting,        // It must be there.
  kToRead,          // The same, and nothing is written: one that this user may only read will do, as it is now.
  kCopy,            // The same of a copy: the store is neither changed nor held, and nobody who works on it is asked or waited for.
  kCreate,          // It is made where it is missing.
  kExistingOrNone,  // Where it is missing, an empty one in memory stands for it; nothing is written either.
};

class Session {
 public:
  Session(Environment environment, Settings settings)
      : environment_(std::move(environment)), settings_(std::move(settings)) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  const Environment& environment() const { return environment_; }
  const Settings& settings() const { return settings_; }
  bool json() const { return settings_.format == Format::kJson; }
  std::ostream& out() { return *environment_.out; }

  // Prose of the answer for people, on stdout behind `lead`, with a line feed at its end. On a terminal it keeps to its width.
  void Tell(std::string_view text, std::string_view lead = "");
  // To people, on stderr; nothing with --quiet. The same.
  void Say(std::string_view line);

  // What this command does, said once, and only if it takes long (kSaidBehind): to Connect(), or in a call that is given to Await(). Behind that a scheduler of
  // its own may say how far it is.
  void SayIfSlow(std::string line) { if_slow_ = std::move(line); }
  template <typename Result>
  Result Await(std::future<Result> result) {
    if (result.wait_for(kSaidBehind) != std::future_status::ready) SayThatItIsSlow();
    while (embedded_ != nullptr && result.wait_for(kBetweenProgress) != std::future_status::ready) SayProgress();
    return result.get();
  }

  // The scheduler: an embedded one when a store is named (or `embed_by_default` and no scheduler is), else
  // the one at the address. Later calls give the same. Of a store that another command of this machine works on
  // ('longreach run'), its scheduler, unless this command would make the store where it is missing. One that is soon free is waited for first, which is said
  // (store_wait.h).
  absl::StatusOr<Connection*> Connect(StoreUse use = StoreUse::kExisting, bool embed_by_default = false);
  // Whether Connect(StoreUse::kCreate, embed_by_default) would make a store where there is none.
  bool WouldMakeStore(bool embed_by_default = false) const;

  // A store that is opened here is soon free again, and other commands wait for that, unless one of these is called before Connect().
  // Other commands are sent to the scheduler of this one, which works on it until somebody ends it.
  void KeepStore() { holding_ = Holding::kKept; }
  // Other commands wait however long it takes, and are not sent here.
  void OpenForAMoment() { holding_ = Holding::kForAMoment; }

  // Ends waiting for a store that another command has, as it is refused. Asked a few times a second. Before Connect().
  void StopWaitingIf(std::function<bool()> stop) { stop_ = std::move(stop); }

  // The store that is opened here takes over this one next: where that would be refused, none is made for it, and this one is waited for, too. Before Connect().
  void OpenToMerge(std::string other) { merges_ = std::move(other); }

  // The store that is opened here is mended. Before Connect().
  void OpenToRepair() { repairs_ = true; }

  // nullptr when the scheduler is not ours.
  EmbeddedScheduler* embedded() { return embedded_.get(); }
  // For how long a scheduler that went away is waited for. Not that of a command that works on the store itself: it ends with it.
  std::chrono::seconds Patience() const { return embedded_ != nullptr || !held_.ok() ? std::chrono::seconds(0) : std::chrono::minutes(10); }
  // The store that is looked into; empty where a scheduler is.
  const std::string& store() const { return store_.empty() ? environment_.store : store_; }

  // A grid in the session's format. `json_key` is its member's name in JSON.
  void Print(const Grid& grid, std::string_view json_key);

 private:
  static constexpr std::chrono::milliseconds kBetweenProgress{200};

  // What the scheduler of this command has said of it since.
  void SayProgress();
  // Whether a store is looked into, and no scheduler that is named.
  bool OpensStore(bool embed_by_default) const { return !settings_.store.empty() || (embed_by_default && !settings_.scheduler_named); }
  void SayThatItIsSlow() {
    if (const std::string line = std::exchange(if_slow_, {}); !line.empty()) Say(line);
  }
  absl::StatusOr<std::unique_ptr<Connection>> ConnectToStore(StoreUse use);
  // The address of the scheduler that has the store.
  absl::StatusOr<std::string> StartEmbedded(StoreUse use);
  std::string WhyNoneIsNamed() const;
  // That another command has the store, and which, if that can be seen.
  void SayWhoHasIt(std::string_view waiting, std::string_view how_long);

  Environment environment_;
  Settings settings_;
  Holding holding_ = Holding::kSoonFree;
  std::function<bool()> stop_ = [] { return false; };
  std::string merges_;
  bool repairs_ = false;
  std::string if_slow_;
  std::string store_;
  std::unique_ptr<EmbeddedScheduler> embedded_;
  absl::Status held_;  // Why there is none, where the store's own scheduler is asked instead.
  StoreHolder holder_;
  // After embedded_: closed before that is waited for.
  std::unique_ptr<Connection> connection_;
};

}  // namespace longreach::client
