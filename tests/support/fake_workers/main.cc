// fake-workers: plays thousands of workers in one process, for tests and measurements of the scheduler.
#include <csignal>
#include <iostream>

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <boost/asio/signal_set.hpp>
#include <fmt/format.h>

#include "tests/support/fake_workers/fleet.h"

namespace longreach {
namespace {

// A connection is a file descriptor.
void AllowManyFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// "own" is 0: one for each worker.
std::string ReadConnections(std::string& text) {
  if (text == "own") text = "0";
  if (text == "shared") text = "1";
  return {};
}

int Main(int argc, char** argv) {
  CLI::App app("Plays workers that train nothing. Prints one line of JSON at the end.", "fake-workers");
  fake::Options options;
  const auto share = CLI::Range(0.0, 1.0);
  app.add_option("--scheduler", options.scheduler, "host:port or unix:PATH")->required();
  app.add_option("--name", options.name, "Begins every worker's id")->capture_default_str();
  app.add_option("--workers", options.workers)->check(CLI::Range(1, 100'000))->capture_default_str();
  app.add_option("--slots", options.slots, "Attempts that a worker holds at a time")->check(CLI::Range(1, 500))->capture_default_str();
  app.add_option("--pack-limit", options.pack_limit)->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_flag("--noop", options.noop, "Take jobs of the experiment kind 'noop', and no others");
  app.add_option("--connections", options.connections, "A number, 'shared' (one for all) or 'own' (one for each)")
      ->transform(CLI::Validator(ReadConnections, "own|shared|N"))->capture_default_str();
  app.add_option("--train-s", options.train_s, "Mean time that an attempt takes")->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--lengths", options.lengths, "Measurements of a job beside its score")->check(CLI::Range(0, 1000))->capture_default_str();
  app.add_option("--artifact-bytes", options.artifact_bytes, "Handed in before each success")->check(CLI::NonNegativeNumber);
  app.add_option("--crash-share", options.crash_share, "Of the attempts: the worker crashes")->check(share);
  app.add_option("--fail-share", options.fail_share, "Of the attempts: a failure is reported")->check(share);
  app.add_option("--silent-share", options.silent_share, "Of the attempts: the worker is silent for twice the lease term")->check(share);
  app.add_option("--seed", options.seed, "Which attempts those are, and how long each takes")->capture_default_str();
  app.add_option("--seconds", options.seconds, "Leave after so long; 0: never")->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_flag("--until-idle", options.until_idle, "Leave when there was work and all of it is done");
  app.add_option("--idle-s", options.idle_s, "How long there must be none")->check(CLI::NonNegativeNumber)->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  AllowManyFiles();
  std::signal(SIGPIPE, SIG_IGN);
  boost::asio::io_context io(1);
  fake::Fleet fleet(io, options);
  boost::asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&fleet](const boost::system::error_code& error, int) {
    if (!error) fleet.Leave();
  });
  fleet.Start();
  io.run();
  std::cout << fleet.Figures() << std::endl;
  // What gRPC still has in flight is of no interest, and waiting for it takes seconds.
  std::_Exit(0);
}

}  // namespace
}  // namespace longreach

int main(int argc, char** argv) { return longreach::Main(argc, argv); }
