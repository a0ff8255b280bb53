// Commands that start a scheduler and a worker of their own, with scripts in place of these.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/client/support.h"

namespace longreach::client {

// Programs that play scheduler and worker: shell scripts beside the client, which write down how they were
// called. The scheduler's calls go to a FakeScheduler of this process.
class EmbeddedTest : public ::testing::Test {
 protected:
  void SetScheduler(const std::string& behaviour) {
    binaries_.WriteScript("longreach-scheduler", Record("scheduler") + behaviour);
  }
  void SetWorker(const std::string& behaviour) {
    binaries_.WriteScript("longreach-worker", Record("worker") + behaviour);
  }
  // One that likes what it was told.
  void SetReadyWorker(const std::string& behaviour) { SetWorker("echo ready\n" + behaviour); }

  // Listens, and ends in order when the client closes the pipe.
  std::string Listens() const {
    return "echo listening on " + fake_.address() + "\ncat >/dev/null\necho ended >>" + Path("ends") + "\n";
  }

  Outcome Run(const std::vector<std::string>& arguments) {
    return RunCommandLine(arguments, {{"XDG_RUNTIME_DIR", runtime_.path().string()}}, binaries_.path());
  }
  std::string Path(const std::string& name) const { return (binaries_.path() / name).string(); }
  std::string Contents(const std::string& name) const {
    std::ifstream file(binaries_.path() / name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  std::string LastLine(const std::string& name) const {
    const std::string lines = Contents(name);
    return lines.empty() ? lines : lines.substr(lines.rfind('\n', lines.size() - 2) + 1);
  }
  // For a worker's script: goes on when the sweep was submitted and is watched.
  std::string UntilWatched() {
    fake_.when_watched = [file = Path("watched")] { std::ofstream(file) << "now"; };
    return "while [ ! -e " + Path("watched") + " ]; do :; done\n";
  }
  std::filesystem::path binaries() const { return binaries_.path(); }
  std::string store() const { return Path("test.db"); }
  void MakeStore() { binaries_.Write("test.db", "a store"); }

  FakeScheduler fake_;
  TempFolder runtime_;

 private:
  std::string Record(const std::string& who) const { return "echo \"$@\" >>" + Path(who + ".calls") + "\n"; }

  TempFolder binaries_;
};

}  // namespace longreach::client
