#include "tests/faults/storage/disk_model.h"

#include <algorithm>
#include <fstream>

namespace longreach::faults {
namespace {

constexpr size_t kSector = 512;

bool Coin(std::mt19937_64& random, double probability) { return std::uniform_real_distribution<>()(random) < probability; }

}  // namespace

std::string DiskModel::FolderOf(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

void DiskModel::AddFolder(const std::string& path) { folders_.push_back(path); }

int64_t DiskModel::Named(const std::string& path) const {
  Names now = names_;
  for (const NameChange& change : pending_) ChangeName(now, change);
  const auto found = now.find(path);
  return found == now.end() ? 0 : found->second;
}

void DiskModel::Apply(const Step& step) {
  switch (step.kind) {
    case Step::Kind::kCreate:
      files_[step.file] = {};  // The number may be that of a file that is gone.
      pending_.push_back({.path = step.path, .file = step.file});
      break;
    case Step::Kind::kWrite:
      files_[step.file].pending.push_back({.offset = step.offset, .bytes = step.bytes});
      break;
    case Step::Kind::kTruncate:
      files_[step.file].pending.push_back({.truncate = true, .offset = step.offset});
      break;
    case Step::Kind::kSync: {
      File& file = files_[step.file];
      for (const Change& change : file.pending) Change_(file.durable, change);
      file.pending.clear();
      break;
    }
    case Step::Kind::kMakeFolder:
      pending_folders_.push_back(step.path);
      break;
    case Step::Kind::kSyncFolder: {
      std::vector<NameChange> left;
      for (NameChange& change : pending_) {
        // A rename between folders needs both; the target's is taken to be enough, as for a journal of the file system.
        if (FolderOf(change.path) == step.path) ChangeName(names_, change);
        else left.push_back(std::move(change));
      }
      pending_ = std::move(left);
      std::erase_if(pending_folders_, [&](const std::string& folder) {
        if (FolderOf(folder) != step.path) return false;
        folders_.push_back(folder);
        return true;
      });
      break;
    }
    case Step::Kind::kRename:
      pending_.push_back({.path = step.to, .file = Named(step.path), .from = step.path});
      break;
    case Step::Kind::kLink:
      pending_.push_back({.path = step.to, .file = Named(step.path)});
      break;
    case Step::Kind::kRemove:
      pending_.push_back({.path = step.path});
      break;
    case Step::Kind::kSaid:
      break;
  }
}

void DiskModel::Change_(std::string& content, const Change& change) {
  const auto offset = static_cast<size_t>(change.offset);
  if (change.truncate) {
    content.resize(offset, '\0');
    return;
  }
  if (content.size() < offset + change.bytes.size()) content.resize(offset + change.bytes.size(), '\0');
  content.replace(offset, change.bytes.size(), change.bytes);
}

void DiskModel::ChangeName(Names& names, const NameChange& change) {
  if (change.file == 0) {
    names.erase(change.path);
    return;
  }
  names[change.path] = change.file;
  if (!change.from.empty()) names.erase(change.from);
}

std::string DiskModel::Survivor(const File& file, int pattern, std::mt19937_64& random) const {
  std::string content = file.durable;
  if (pattern == 0) return content;
  std::vector<Change> sectors;
  for (const Change& change : file.pending) {
    if (change.truncate || pattern == 1) {
      sectors.push_back(change);
      continue;
    }
    for (size_t at = 0; at < change.bytes.size();) {
      const size_t in_sector = (static_cast<size_t>(change.offset) + at) % kSector;
      const size_t bytes = std::min(kSector - in_sector, change.bytes.size() - at);
      sectors.push_back({.offset = change.offset + static_cast<int64_t>(at), .bytes = change.bytes.substr(at, bytes)});
      at += bytes;
    }
  }
  if (pattern == 2) sectors.resize(std::uniform_int_distribution<size_t>(0, sectors.size())(random));
  if (pattern > 2) {
    const double kept = std::uniform_real_distribution<>(0.05, 0.95)(random);
    std::erase_if(sectors, [&](const Change&) { return !Coin(random, kept); });
    if (pattern % 2 == 0) std::shuffle(sectors.begin(), sectors.end(), random);
  }
  for (const Change& sector : sectors) Change_(content, sector);
  return content;
}

void DiskModel::LosePower(int pattern, std::mt19937_64& random, const std::filesystem::path& target) const {
  Names names = names_;
  std::vector<std::string> folders = folders_;
  const double kept = pattern == 0 ? 0 : pattern == 1 ? 1 : std::uniform_real_distribution<>()(random);
  for (const std::string& folder : pending_folders_) {
    if (Coin(random, kept)) folders.push_back(folder);
  }
  for (const NameChange& change : pending_) {
    if (Coin(random, kept)) ChangeName(names, change);
  }
  for (const std::string& folder : folders) std::filesystem::create_directories(target / folder);
  for (const auto& [path, number] : names) {
    // A name in a folder that is not on disk itself is not there either.
    if (!std::filesystem::is_directory(target / FolderOf(path))) continue;
    const auto file = files_.find(number);
    std::ofstream(target / path, std::ios::binary) << (file == files_.end() ? std::string() : Survivor(file->second, pattern, random));
  }
}

}  // namespace longreach::faults
