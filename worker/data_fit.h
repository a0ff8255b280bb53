// Whether the data sets of this machine are what jobs ask of them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace longreach {

// `jobs`: JobSpecs as JSON, of which only what concerns data sets is looked at, published models with what they read and their tests among them. A line "fits" on standard
// output for each, up to the first that does not: its error is that of the job's trainer (trainer::CheckPublished, CheckDataSets). The process's exit code.
int SayWhichFit(const std::filesystem::path& folder, const std::vector<std::string>& jobs, bool json);

}  // namespace longreach
