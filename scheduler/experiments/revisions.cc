#include "scheduler/experiments/revisions.h"

#include <charconv>

#include <fmt/format.h>

#include "proto/catalog/catalog.h"

namespace longreach::experiments {
namespace {

constexpr std::string_view kMark = "revisions.";

int At(const std::map<std::string, int, std::less<>>& revisions, std::string_view name) {
  const auto found = revisions.find(name);
  return found == revisions.end() ? 1 : found->second;
}

void AddAbove1(std::string_view name, int revision, std::map<std::string, int, std::less<>>& to) {
  if (revision > 1) to.insert_or_assign(std::string(name), revision);
}

// Takes in "revisions.encoding.rope=2"; false if the line is none of these.
bool ReadLine(std::string_view line, Revisions& to) {
  if (!line.starts_with(kMark)) return false;
  line.remove_prefix(kMark.size());
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view path = line.substr(0, equals), value = line.substr(equals + 1);
  int revision = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), revision);
  if (error != std::errc() || end != value.data() + value.size() || revision <= 1) return false;
  if (path == "model") {
    to.model = revision;
  } else if (path.starts_with("encoding.")) {
    AddAbove1(path.substr(std::string_view("encoding.").size()), revision, to.encoding);
  } else if (path.starts_with("task.")) {
    AddAbove1(path.substr(std::string_view("task.").size()), revision, to.task);
  } else {
    return false;
  }
  return true;
}

}  // namespace

v1::Revisions Revisions::Of(std::string_view task_name, std::string_view encoding_name) const {
  v1::Revisions of_job;
  of_job.set_task(At(task, task_name));
  of_job.set_encoding(At(encoding, encoding_name));
  of_job.set_model(model);
  return of_job;
}

void Revisions::Add(const v1::JobSpec& job) {
  AddAbove1(job.task(), job.revisions().task(), task);
  AddAbove1(job.encoding(), job.revisions().encoding(), encoding);
  if (job.revisions().model() > 1) model = job.revisions().model();
}

Revisions CatalogRevisions() {
  Revisions revisions{.model = catalog::kModelRevision};
  for (const catalog::Task& task : catalog::Tasks()) AddAbove1(task.name, task.revision, revisions.task);
  for (const catalog::DataTask& task : catalog::DataTasks()) AddAbove1(task.name, task.revision, revisions.task);
  for (const catalog::Encoding& encoding : catalog::Encodings()) AddAbove1(encoding.name, encoding.revision, revisions.encoding);
  return revisions;
}

std::string ToLines(const Revisions& revisions) {
  std::string lines;
  for (const auto& [name, revision] : revisions.encoding) lines += fmt::format("{}encoding.{}={}\n", kMark, name, revision);
  if (revisions.model > 1) lines += fmt::format("{}model={}\n", kMark, revisions.model);
  for (const auto& [name, revision] : revisions.task) lines += fmt::format("{}task.{}={}\n", kMark, name, revision);
  return lines;
}

SweepText SplitSweepText(std::string_view canonical) {
  SweepText text;
  while (!canonical.empty()) {
    const size_t newline = canonical.find('\n');
    const std::string_view line = canonical.substr(0, newline);
    const size_t end = newline == std::string_view::npos ? canonical.size() : newline + 1;
    if (!ReadLine(line, text.revisions)) text.specification += canonical.substr(0, end);
    canonical.remove_prefix(end);
  }
  return text;
}

}  // namespace longreach::experiments
