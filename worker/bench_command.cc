#include "worker/bench_command.h"

#include "proto/catalog/packs.h"
#include "worker/device_option.h"
#include "worker/refused.h"

namespace longreach {

BenchCommand::BenchCommand(CLI::App& app) : command_(app.add_subcommand("bench", "Measure how fast this machine trains.")) {
  command_->footer(agent::BenchFormula());
  command_->add_option("--experiment", options_.experiment, "algorithmic, images or language; empty: what the task belongs to");
  command_->add_option("--task", options_.task, "A task's name, or several with commas: a pack of each is trained at the same time")->required();
  command_->add_option("--encoding", options_.encoding, "NAME or NAME:randomized")->required();
  command_->add_option("--pack", options_.pack, "Jobs trained together")->capture_default_str();
  command_->add_option("--packs", options_.packs, "Packs trained at the same time in this process, of the tasks in turn; 0: one of each task")
      ->check(CLI::Range(0, catalog::kMaxPacksAtATime))->capture_default_str();
  command_->add_option("--lengths", options_.lengths, "Lengths that updates draw from; empty: the paper's");
  command_->add_option("--batch", options_.batch, "Sequences in an update (default: the paper's)");
  command_->add_option("--seconds", options_.seconds, "How long to train")->capture_default_str();
  command_->add_option("--threads", options_.threads, "Threads; 0: all cores")->capture_default_str();
  command_->add_option("--simulate-threads", options_.simulate_threads,
                       "Numbers of threads to simulate from the work of one, for example 1,2,4,8,16");
  AddDevice(*command_, device_);
  command_->add_option("--engine", options_.engine, "As of run, or an instruction set: lanes-portable; empty: what training takes");
  command_->add_flag("--wait", options_.wait,
                     "Write 'ready', wait for a line on standard input, and measure updates alone from then on: so that several begin together");
  command_->add_option("-o,--output", output_, "table or json")->check(CLI::IsMember({"table", "json"}))->capture_default_str();
}

int BenchCommand::Run() const {
  agent::BenchOptions options = options_;
  const absl::StatusOr<catalog::Device> device = TakeDevice(device_);
  if (!device.ok()) return Refused(device.status(), output_ == "json");
  options.cuda = device->cuda;
  options.json = output_ == "json";
  return agent::RunBench(options);
}

}  // namespace longreach
