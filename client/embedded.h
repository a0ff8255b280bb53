// A scheduler (and a worker) of one's own: the programs that lie beside the client, started for one command.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/private_folder.h"
#include "client/process.h"
#include "proto/base/status.h"

namespace longreach::client {

// When the scheduler opens a copy, which goes away with it, as nothing is to be written.
enum class CopyWhen {
  kNever,
  kReadOnly,  // Of a store that may not be written.
  kAlways,
};

// What others are told who want the store meanwhile.
enum class Holding {
  kKept,        // To ask its scheduler.
  kSoonFree,    // To wait, and to ask its scheduler if that takes long.
  kForAMoment,  // To wait.
};

// What takes longer says what it does.
inline constexpr std::chrono::seconds kSaidBehind{2};

struct EmbeddedOptions {
  Holding holding = Holding::kKept;
  CopyWhen copy = CopyWhen::kNever;
  // The store that will be merged into this one, which is not made where that cannot be, nor opened while somebody holds the other; empty: none.
  std::string merges = {};
  // It is to mend the store.
  bool repairs = false;
  std::function<void()> when_slow = [] {};  // Called, once, where it does not listen within kSaidBehind.
  std::function<void(const std::string& line)> when_far = [](const std::string&) {};  // Then, with each line that it says of what it does before it listens.
};

// Who has a store that was not to be had; as it is: nobody.
struct StoreHolder {
  std::string address;        // Of its scheduler; empty: it has not said so.
  bool for_a_moment = false;  // It is free again soon.
  bool is_merged = false;     // Not the store itself is held, but the one that will be merged into it.
};

// `longreach-scheduler` on a Unix socket in a private folder. The destructor stops it and removes the folder.
class EmbeddedScheduler {
 public:
  // Starts it on a store (":memory:" for none on disk) and waits until it listens. FAILED_PRECONDITION with
  // its own words: it refused (store held by another, of a newer version, not a database, ...). `holder`, if it is given, gets who holds the store, if that is why.
  static absl::StatusOr<std::unique_ptr<EmbeddedScheduler>> Start(const std::filesystem::path& binaries,
                                                                  const std::string& store,
                                                                  const std::string& runtime_folder, StoreHolder* holder = nullptr, const EmbeddedOptions& options = {});
  ~EmbeddedScheduler();

  const std::string& address() const { return address_; }
  Process& process() { return process_; }

 private:
  EmbeddedScheduler(Process process, PrivateFolder folder, std::string address)
      : process_(std::move(process)), folder_(std::move(folder)), address_(std::move(address)) {}

  Process process_;
  PrivateFolder folder_;
  std::string address_;
};

// What was said of the worker; 0 and an empty text leave it to the worker.
struct WorkerOptions {
  std::string device;  // For StartWorker() a single one.
  std::string engine;
  std::string data_folder;
  int threads = 0;
  int packs = 0;
  std::string pack_limit;  // As catalog::CheckPackLimit() takes it.
  double checkpoint_every_s = 0;

  // As arguments: each option and its value.
  std::vector<std::string> Arguments() const;
  // Those of each worker: one, or one for each GPU that is named.
  std::vector<WorkerOptions> OfEach() const;
};

// The worker's program with these arguments; it lies beside the client.
absl::StatusOr<Process> StartWorkerProgram(const std::filesystem::path& binaries, const std::vector<std::string>& arguments);

// `longreach-worker run` for a scheduler, with its state beside the store.
absl::StatusOr<Process> StartWorker(const std::filesystem::path& binaries, const std::string& address,
                                    const std::string& store, const WorkerOptions& options);

// The same program, which looks whether a worker could start with these options and its state beside that store, and ends: exit code 0, or an error as such a
// worker would have.
absl::StatusOr<Process> TryWorker(const std::filesystem::path& binaries, const std::string& store, const WorkerOptions& options);

// What a child that ended said last: its lines without "error: ", or that it said nothing. Of one that was killed, by which signal.
std::string LastWords(const Process& process, std::string_view program);

}  // namespace longreach::client
