#include "proto/catalog/other_names.h"

#include <cstddef>

#include "proto/catalog/catalog.h"
#include "proto/catalog/encoding_name.h"

namespace longreach::catalog {
namespace {

struct OtherName {
  std::string_view name;
  std::string_view other;
};

constexpr OtherName kOtherNames[] = {
#define X(name, other) {#name, other},
#include "proto/catalog/other_names.def"
#undef X
};

// Small letters and digits alone: "sin/cos", "Sin-Cos" and "sin_cos" are one word.
std::string Bare(std::string_view text) {
  std::string bare;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') bare += static_cast<char>(c - 'A' + 'a');
    else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) bare += c;
  }
  return bare;
}

bool GoesBy(std::string_view name, std::string_view label, std::string_view bare) {
  if (bare == Bare(name) || bare == Bare(label)) return true;
  for (const OtherName& one : kOtherNames) {
    if (one.name == name && one.other == bare) return true;
  }
  return false;
}

template <typename Entries>
void AddCalled(const Entries& entries, std::string_view bare, std::vector<std::string>& called) {
  for (const auto& entry : entries) {
    if (!bare.empty() && GoesBy(entry.name, entry.label, bare)) called.emplace_back(entry.name);
  }
}

}  // namespace

std::vector<std::string> TasksCalled(std::string_view word) {
  std::vector<std::string> called;
  AddCalled(Tasks(), Bare(word), called);
  AddCalled(DataTasks(), Bare(word), called);
  return called;
}

std::vector<std::string> EncodingsCalled(std::string_view word) {
  std::string bare = Bare(word);
  std::vector<std::string> called;
  AddCalled(Encodings(), bare, called);
  if (!called.empty()) return called;
  // The second is what the code of the paper on randomized encodings says.
  for (const std::string_view randomized : {"randomized", "noisy"}) {
    const size_t at = bare.find(randomized);
    if (at == bare.npos) continue;
    bare.erase(at, randomized.size());
    AddCalled(Encodings(), bare, called);
    std::erase_if(called, [](const std::string& name) { return (FindEncoding(name)->positions & kRandomized) == 0; });
    for (std::string& name : called) name = ToText({.name = name, .randomized = true});
    return called;
  }
  return called;
}

}  // namespace longreach::catalog
