#include "scheduler/experiments/registry.h"

#include <fmt/format.h>

#include "proto/catalog/catalog.h"
#include "proto/types/meant_name.h"

namespace longreach::experiments {

// Every kind, ascending by name; X(Algorithmic) stands for `const Kind& Algorithmic()` in algorithmic.cc.
#define LONGREACH_EXPERIMENTS(X) \
  X(Algorithmic)                 \
  X(Images)                      \
  X(Language)                    \
  X(Llama)                       \
  X(Noop)                        \
  X(Sequences)

#define X(function) const Kind& function();
LONGREACH_EXPERIMENTS(X)
#undef X

namespace {

const std::vector<const Kind*>& Kinds() {
  static const std::vector<const Kind*> kinds = {
#define X(function) &function(),
      LONGREACH_EXPERIMENTS(X)
#undef X
  };
  return kinds;
}

}  // namespace

std::string_view Kind::MainMetric() const { return catalog::MainMetric(Name()); }

const Kind* FindKind(std::string_view name) {
  for (const Kind* kind : Kinds()) {
    if (kind->Name() == name) return kind;
  }
  return nullptr;
}

std::vector<std::string> KindNames() {
  std::vector<std::string> names;
  for (const Kind* kind : Kinds()) names.emplace_back(kind->Name());
  return names;
}

namespace {

// The kind that computes a task; "" of none. Not noop, which takes the tasks of all.
std::string_view KindOfTask(std::string_view task) {
  if (catalog::FindTask(task) != nullptr) return "algorithmic";
  const catalog::DataTask* of_data = catalog::FindDataTask(task);
  return of_data == nullptr ? std::string_view() : of_data->experiment;
}

}  // namespace

absl::Status UnknownTask(std::string_view field, std::string_view kind, std::string_view task, const std::vector<std::string>& known,
                         std::string_view advice) {
  std::string meant;
  if (const std::string_view other = KindOfTask(task); !other.empty()) {
    meant = fmt::format("it is one of 'experiment: {}'; ", other);
  } else if (meant = MeantName("task", task, known); !meant.empty()) {
    meant += ' ';
  }
  return absl::InvalidArgumentError(fmt::format("{}: the kind '{}' has no task '{}'\n  {}{}", field, kind, task, meant, advice));
}

absl::Status UnknownWord(std::string_view field, std::string_view what, std::string_view value,
                         const std::vector<std::string>& known, std::string_view advice) {
  const std::string meant = MeantName(what, value, known);
  return absl::InvalidArgumentError(fmt::format("{}: unknown {} '{}'\n  {}{}{}", field, what, value, meant, meant.empty() ? "" : " ", advice));
}

}  // namespace longreach::experiments
