// Of the trainer's program alone.
#include <cstdio>
#include <cstdlib>

#include "proto/base/build_info.h"
#include "worker/agent/devices.h"
#include "worker/devices_command.h"
#include "worker/trainer/train.h"

namespace longreach {

int DevicesCommand::Run() const {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  agent::DeviceReport report{.build = BuildDescription(), .devices = trainer::LookAtDevices(trainer::OwnCudaPlugin()), .driver = agent::LookAtNvidiaDriver("/"), .visible = {}};
  if (visible != nullptr) report.visible = visible;
  std::fputs((json() ? agent::DevicesAsJson(report) : agent::DevicesAsText(report)).c_str(), stdout);
  return agent::AllCompute(report.devices) ? 0 : 1;
}

}  // namespace longreach
