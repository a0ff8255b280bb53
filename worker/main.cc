// longreach-worker: trains what a scheduler leases to it. This file only wires the command line.
#include <CLI/CLI.hpp>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "proto/base/build_info.h"
#include "proto/base/text.h"
#include "proto/catalog/packs.h"
#include "worker/agent/bench.h"
#include "worker/agent/child.h"
#include "worker/agent/run.h"
#include "worker/announced_data.h"
#include "worker/data/data_folder.h"
#include "worker/data_command.h"
#include "worker/export_command.h"
#include "worker/refused.h"
#include "worker/trainer/train.h"

namespace {

constexpr int kUsage = 2;

const std::vector<std::string> kDevices = {"cpu", "cuda"};

std::string CheckAddress(const std::string& address) {
  return std::string(longreach::agent::CheckAddress(address).message());
}

int Main(int argc, char** argv) {
  CLI::App app("Trains the jobs that a Longreach scheduler leases to it.");
  app.name("longreach-worker");
  app.set_version_flag("--version", longreach::BuildDescription());
  app.require_subcommand(1);

  longreach::agent::AgentOptions run_options;
  run_options.scheduler = "localhost:7070";
  run_options.state = longreach::agent::DefaultStateFolder();
  std::string run_device = "cpu";
  std::string pack_limit;
  bool until_stdin_closes = false;
  CLI::App* run = app.add_subcommand("run", "Work for a scheduler until told to leave (SIGTERM, Ctrl-C).");
  run->add_option("--scheduler", run_options.scheduler, "Its address: host:port or unix:PATH")
      ->check(CheckAddress)->envname("LONGREACH_SCHEDULER")->capture_default_str();
  longreach::access::CredentialFiles& files = run_options.credentials;
  run->add_option("--ca", files.ca, "Authority of the scheduler's certificate: TLS is spoken")->envname("LONGREACH_CA");
  run->add_option("--certificate", files.certificate, "The worker's own certificate")->envname("LONGREACH_CERTIFICATE");
  run->add_option("--key", files.key, "Its key")->envname("LONGREACH_KEY");
  CLI::Option* const token_file =
      run->add_option("--token-file", files.token_file, "A bearer token [or LONGREACH_TOKEN itself]")->envname("LONGREACH_TOKEN_FILE");
  run->add_option("--state", run_options.state, "Folder of this worker alone: who it is, and results not yet handed in")
      ->capture_default_str();
  run_options.data_folder = longreach::data::DefaultDataFolder();
  longreach::AddDataFolder(*run, run_options.data_folder);
  run->add_option("--name", run_options.name, "What people see (default: the machine's name)");
  run->add_option("--threads", run_options.threads, "Threads to train with, of all packs together; 0: all cores")
      ->check(CLI::Range(0, 4096))->capture_default_str();
  run->add_option("--packs", run_options.packs,
                  "Packs to train at a time, each in a process of its own, with its share of the threads (at least one) and of the memory")
      ->check(CLI::Range(1, longreach::catalog::kMaxPacks))->capture_default_str();
  run->add_option("--device", run_device, "cpu, or cuda: the first GPU")
      ->check(CLI::IsMember(kDevices))->capture_default_str();
  run->add_option("--engine", run_options.engine,
                  "What computes the updates: libtorch; on a CPU lanes, or with rounded operands lanes-bf16 (faster where the processor multiplies bfloat16) and lanes-tf32 (to see what rounding does); on a GPU libtorch-tf32 (its products in TF32) or own kernels, resident (with bfloat16 operands) and resident-fp16 (with float16, three bits more); empty: the fastest in float32");
  run->add_option("--pack-limit", pack_limit,
                  "The most jobs to train together; 'measured': the least number that is nearly as fast as any, by some seconds of training at the start (default: 16, on a GPU measured)")
      ->check(longreach::catalog::CheckPackLimit)->type_name("N");
  run->add_option("--checkpoint-every-s", run_options.checkpoint_every_s,
                  "Seconds between checkpoints; 0: only when stopping")
      ->check(CLI::Range(0.0, 1e9))->capture_default_str();
  run->add_option("--hang-after-s", run_options.hang_floor_s,
                  "A trainer that gives no sign of life for so long, or for 20 of its usual steps if that is longer, is killed")
      ->check(CLI::Range(0.1, 1e9))->capture_default_str();
  run->add_flag("--until-stdin-closes", until_stdin_closes, "Leave when standard input comes to its end");

  longreach::agent::BenchOptions bench_options;
  std::string bench_device = "cpu";
  std::string bench_output = "table";
  CLI::App* bench = app.add_subcommand("bench", "Measure how fast this machine trains.");
  bench->footer(longreach::agent::BenchFormula());
  bench->add_option("--experiment", bench_options.experiment, "algorithmic, images or language; empty: what the task belongs to");
  bench->add_option("--task", bench_options.task, "A task's name")->required();
  bench->add_option("--encoding", bench_options.encoding, "NAME or NAME:randomized")->required();
  bench->add_option("--pack", bench_options.pack, "Jobs trained together")->capture_default_str();
  bench->add_option("--lengths", bench_options.lengths, "Lengths that updates draw from; empty: the paper's");
  bench->add_option("--batch", bench_options.batch, "Sequences in an update (default: the paper's)");
  bench->add_option("--seconds", bench_options.seconds, "How long to train")->capture_default_str();
  bench->add_option("--threads", bench_options.threads, "Threads; 0: all cores")->capture_default_str();
  bench->add_option("--simulate-threads", bench_options.simulate_threads,
                    "Numbers of threads to simulate from the work of one, for example 1,2,4,8,16");
  bench->add_option("--device", bench_device, "cpu or cuda")->check(CLI::IsMember(kDevices))->capture_default_str();
  bench->add_option("--engine", bench_options.engine, "As of run, or an instruction set: lanes-portable; empty: what training takes");
  bench->add_flag("--wait", bench_options.wait,
                  "Write 'ready', wait for a line on standard input, and measure updates alone from then on: so that several begin together");
  bench->add_option("-o,--output", bench_output, "table or json")
      ->check(CLI::IsMember({"table", "json"}))->capture_default_str();

  const longreach::DataCommand data(app);
  longreach::ExportCommand exporting(app);

  std::string child_plugin;
  CLI::App* child = app.add_subcommand(longreach::agent::kChildCommand, "");
  child->group("");  // Hidden: only the worker itself starts it.
  child->add_option("--cuda-plugin", child_plugin);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  if (*child) return longreach::agent::RunTrainerChild({.cuda = !child_plugin.empty(), .cuda_plugin = child_plugin});
  if (data.chosen()) return data.Run();
  if (exporting.chosen()) return exporting.Run();
  if (*bench) {
    bench_options.cuda = bench_device == "cuda";
    bench_options.json = bench_output == "json";
    return longreach::agent::RunBench(bench_options);
  }
  // Not from the command line, which everybody on the machine can see.
  if (const char* token = std::getenv("LONGREACH_TOKEN"); token != nullptr && token_file->count() == 0) files.token = token;
  umask(S_IRWXG | S_IRWXO);  // The state folder is its owner's alone, whatever the caller's umask.
  run_options.cuda = run_device == "cuda";
  if (pack_limit.empty() && run_options.cuda) pack_limit = longreach::catalog::kMeasured;
  if (!pack_limit.empty()) run_options.pack_limit = pack_limit == longreach::catalog::kMeasured ? 0 : static_cast<int>(*longreach::ParseInteger(pack_limit));
  if (const absl::Status known = longreach::trainer::CheckEngine(run_options.engine, run_options.cuda); !known.ok()) return longreach::Refused(known, false);
  run_options.data_sets = longreach::AnnouncedData(run_options.data_folder);
  run_options.binary = longreach::agent::OwnBinary();
  run_options.cuda_plugin = longreach::trainer::OwnCudaPlugin();
  return longreach::agent::RunWorker(run_options, until_stdin_closes);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
