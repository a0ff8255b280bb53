#include "worker/bench_command.h"

#include "proto/catalog/packs.h"
#include "worker/device_option.h"

namespace longreach {
namespace {

// What the figures mean.
constexpr char kFormula[] =
    "Prints job-steps/s (updates per second times members of the pack), the float32 GFLOP/s of the matrix products\n"
    "in them, the largest GFLOP/s of a float32 matrix product (GEMM) of this machine in the same run, and the ratio.\n"
    "FLOP of the matrix products of one update of one member, a multiply-add counting 2 and the backward pass twice the\n"
    "forward pass, with batch B, tape T (input and output tokens), width d, MLP width m, vocabularies Vi and Vo:\n"
    "  3 B [T (2 d (Vi+1) + layers (8 d^2 + 4 d m) + 2 d Vo) + layers 4 d T^2]\n"
    "In language modelling half of the last term; with images those of the decoder beside.\n"
    "Of the algorithmic tasks at the paper's batch also the hours for all of Table B.1 at this rate. Own kernels for GPUs also\n"
    "tell the bytes that their updates move, beside the rate of a copy, and which share of the time goes into which phase.\n"
    "Several packs are trained by a thread each until all have been measured; updates alone, without peak and tests, and the rates are their sums.\n"
    "With --simulate-threads one thread trains, the processor time of each item of its work is taken, and the items are\n"
    "dealt in order to so many threads, as training deals them. It is a simulation: memory bandwidth, shared caches, the\n"
    "frequency of a busy processor and the waking of threads are left out, so real threads are slower.";

}  // namespace

BenchCommand::BenchCommand(CLI::App& app) : command_(app.add_subcommand("bench", "Measure how fast this machine trains.")) {
  command_->footer(kFormula);
  command_->add_option("--experiment", options_.experiment, "algorithmic, images, language or sequences; empty: what the task belongs to");
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

}  // namespace longreach
