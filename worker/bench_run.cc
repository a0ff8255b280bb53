// Of the trainer's program alone.
#include "worker/bench_command.h"
#include "worker/device_option.h"
#include "worker/refused.h"

namespace longreach {

int BenchCommand::Run() const {
  agent::BenchOptions options = options_;
  const absl::StatusOr<catalog::Device> device = TakeDevice(device_);
  if (!device.ok()) return Refused(device.status(), json());
  options.cuda = device->cuda;
  options.json = json();
  return agent::RunBench(options);
}

}  // namespace longreach
