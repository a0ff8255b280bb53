// What processors a process computes on, and which, so that two that share them are known to do so.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace longreach {

struct ProcessorKind {
  std::string model;      // "AMD EPYC 9B14"; "CPU" where the system does not say.
  std::string registers;  // "AVX-512": the widest that it has.
};
ProcessorKind OwnProcessorKind();
// "AMD EPYC 9B14, AVX-512".
std::string DescribeOwnProcessor();

// A text that processes have in common that compute on the same processors of one machine, in containers as well; of at most 256 bytes. It is made of
// the machine's start, which containers share and copies of a machine do not, as its name and the id on its disk may; of the processors that this process may
// use; and, where a control group gives them less time than there is, of that group. Empty: the system does not say which start this is.
std::string OwnProcessors();

// The same of these processors, ascending. Files are looked for below `root`: "/", but for tests.
std::string ProcessorsText(const std::filesystem::path& root, std::span<const int> processors);

}  // namespace longreach
