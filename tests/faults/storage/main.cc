// storage_faults: what the store does when its calls fail, memory runs out, power goes, or files change behind its back.
// Prints one line of JSON; exit code 1: a promise was broken.
#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tests/faults/storage/fail_loop.h"
#include "tests/faults/storage/faulty_memory.h"
#include "tests/faults/storage/faulty_vfs.h"
#include "tests/faults/storage/power_loss.h"

namespace longreach::faults {
namespace {

int Main(int argc, char** argv) {
  CLI::App app("Harms a store and looks whether its promises hold.", "storage_faults");
  app.require_subcommand(1);
  CLI::App* fail = app.add_subcommand("fail", "The n-th call of each scenario fails, n = 1, 2, ... until none is left");
  LoopOptions loop;
  std::string layer = "calls";
  fail->add_option("--layer", layer, "calls (of files), memory (of SQLite) or new (all other memory)")->check(CLI::IsMember({"calls", "memory", "new"}));
  fail->add_option("--every", loop.every, "Every so many-th call")->check(CLI::PositiveNumber);
  fail->add_option("--from", loop.from, "The first call that fails")->check(CLI::PositiveNumber);
  fail->add_option("--scenario", loop.scenario, "Only this one");
  fail->add_option("--harm", loop.harm, "Only this: io, full, memory, kill");
  fail->add_option("--way", loop.way, "once, or on (from then on)");
  fail->add_option("--nth", loop.nth, "Only this call");

  CLI::App* power = app.add_subcommand("power", "The power goes at every sync and after every answer");
  PowerOptions loss;
  power->add_flag("--synchronous-off", loss.synchronous_off, "With a store that does not sync: then something must be lost");
  power->add_option("--every", loss.every, "Every so many-th moment")->check(CLI::PositiveNumber);
  power->add_option("--patterns", loss.patterns, "Ways in which unsynced writes are lost")->check(CLI::PositiveNumber);
  power->add_option("--seed", loss.seed, "Of the patterns");
  power->add_option("--moment", loss.moment, "Only this one");
  power->add_option("--pattern", loss.pattern, "Only this one");
  CLI11_PARSE(app, argc, argv);

  for (const Layer one : {Layer::kCalls, Layer::kMemory, Layer::kNew}) {
    if (NameOf(one) == layer) loop.layer = one;
  }
  UseFaultyMemory();
  UseFaultyVfs();
  if (power->parsed()) {
    const PowerReport report = RunPowerLoss(loss);
    fmt::print("{{\"steps\": {}, \"syncs\": {}, \"answers\": {}, \"moments\": {}, \"points\": {}, \"lost\": {}}}\n", report.steps,
               report.syncs, report.answers, report.moments, report.points, report.lost);
    return report.lost == 0 ? 0 : 1;
  }
  const LoopReport report = RunFailLoop(loop);
  fmt::print("{{\"scenarios\": {}, \"calls\": {}, \"points\": {}, \"refused\": {}, \"failures\": {}}}\n", report.scenarios,
             report.calls, report.points, report.refused, report.failures);
  return report.failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace longreach::faults

int main(int argc, char** argv) { return longreach::faults::Main(argc, argv); }
