#include "worker/devices_command.h"

namespace longreach {

DevicesCommand::DevicesCommand(CLI::App& app)
    : command_(app.add_subcommand("devices", "Say what this machine computes with: its processor, its GPUs, or why it has none.")) {
  command_->footer(
      "Has LibTorch compute a number on the processor and on each GPU that CUDA_VISIBLE_DEVICES leaves. Engines are those that are taken when\n"
      "nobody asks for one, where they know a job's settings; libtorch takes their place elsewhere. Looking at a GPU takes some of its memory for\n"
      "that moment. Exit codes: 0; 1 where a device that is there does not compute. No GPU is no failure: 'no GPU' says why there is none.");
  command_->add_option("-o,--output", output_, "table or json")->check(CLI::IsMember({"table", "json"}))->capture_default_str();
}

}  // namespace longreach
