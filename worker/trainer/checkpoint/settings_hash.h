// What a checkpoint says of the settings that it was made with.
#pragma once

#include <string>

#include "worker/trainer/train.h"

namespace longreach::trainer {

// A hash of everything that the members of a pack share: a checkpoint goes on only under the settings it was
// made with.
std::string SettingsHash(const PackSettings& settings);

}  // namespace longreach::trainer
