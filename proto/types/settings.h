// The settings of jobs by their paths, as tables name them: "model.layers", "data". Those with one value; lists are none, nor are axes and
// inputs.
#pragma once

#include <google/protobuf/message.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "longreach/v1/spec.pb.h"

namespace longreach {

// By path.
using SettingValues = std::map<std::string, std::string, std::less<>>;
// Those of jobs under the same specification, by task and encoding (NAME or NAME:randomized): a job has only settings that its encoding uses.
using SettingsByJob = std::map<std::pair<std::string, std::string>, SettingValues>;

// Ascending.
const std::vector<std::string>& SettingPaths();
bool IsSettingPath(std::string_view path);
// Those of the group that a wrong path names ("model.layer": all of model); of an unknown group all.
std::vector<std::string> SettingPathsNear(std::string_view path);
// The path begins with a group's name, as "model.layer" does.
bool NamesSettingGroup(std::string_view path);
// For whoever named no group, in a hint: which there are, and what lists all settings. These would fill a screen.
std::string WhereSettingsAre();
// What a word may mean that is none of `axes` and no path: the nearest of these, or the paths whose last word is the nearest ("layers":
// model.layers). Empty: nothing is near.
std::vector<std::string> AxesMeant(std::string_view word, const std::vector<std::string>& axes);
// Its values are numbers.
bool IsNumberSetting(std::string_view path);
// Its values are true and false.
bool IsFlagSetting(std::string_view path);

// What a JobSpec or SweepSpec says, numbers as the shortest that read back the same. Empty: it says nothing.
std::string SettingOf(const google::protobuf::Message& spec, std::string_view path);
// Leaves what is no such setting: axes, lists, inputs. A group in which nothing is left is absent then.
void ClearSettings(v1::SweepSpec& spec);

}  // namespace longreach
