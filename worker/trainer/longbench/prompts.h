// What LongBench's tasks are asked in.
#pragma once

#include <string>
#include <string_view>

#include "worker/trainer/longbench/tasks.h"

namespace longreach::longbench {

// A sample's texts in the words of its task, as a model without a chat format reads them. Some tasks have no input.
std::string MakePrompt(const Task& task, std::string_view context, std::string_view input);

}  // namespace longreach::longbench
