#include "client/doctor/disk.h"

#include <fmt/format.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <fstream>
#include <string_view>
#include <system_error>

#include "client/output/text.h"
#include "proto/base/nearest_there.h"

namespace longreach::client {
namespace {

// A checkpoint of a large model has gigabytes, and a store that cannot grow refuses every change.
constexpr double kLittleRoom = 5e9;
constexpr double kNoRoom = 100e6;

struct KnownFileSystem {
  uint32_t magic;
  FileSystem::Kind kind;
  const char* name;
};
using Kind = FileSystem::Kind;
// man 2 statfs, and the headers of those that are not part of Linux.
constexpr KnownFileSystem kKnown[] = {
    {0xEF53, Kind::kLocal, "ext4"},          {0x58465342, Kind::kLocal, "xfs"},       {0x9123683E, Kind::kLocal, "btrfs"},     {0x2FC12FC1, Kind::kLocal, "zfs"},
    {0xF2F52010, Kind::kLocal, "f2fs"},      {0x794C7630, Kind::kLocal, "overlay"},   {0x01021994, Kind::kMemory, "tmpfs"},    {0x858458F6, Kind::kMemory, "ramfs"},
    {0x65735546, Kind::kPassed, "fuse"},     {0x01021997, Kind::kPassed, "9p"},       {0x786F4256, Kind::kPassed, "vboxsf"},   {0x6969, Kind::kNetwork, "nfs"},
    {0x517B, Kind::kNetwork, "smb"},         {0xFF534D42, Kind::kNetwork, "cifs"},    {0xFE534D42, Kind::kNetwork, "smb2"},    {0x0BD00BD0, Kind::kNetwork, "lustre"},
    {0x47504653, Kind::kNetwork, "gpfs"},    {0x00C36400, Kind::kNetwork, "ceph"},    {0x19830326, Kind::kNetwork, "beegfs"},  {0x5346414F, Kind::kNetwork, "afs"},
    {0x6B414653, Kind::kNetwork, "kafs"},    {0x73757245, Kind::kNetwork, "coda"},    {0xAAD7AAEA, Kind::kNetwork, "panfs"},   {0x20030528, Kind::kNetwork, "orangefs"},
    {0x01161970, Kind::kNetwork, "gfs2"},    {0x7461636F, Kind::kNetwork, "ocfs2"},
};

// Of a store's file, as the scheduler calls it (store/artifacts_folder.h): behind a link it lies beside what that names.
std::filesystem::path ArtifactsBeside(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(file, error);
  return (error ? file : real).string() + ".artifacts";
}

bool May(const std::filesystem::path& path, int how) { return ::access(path.c_str(), how) == 0; }

// Whether a file begins as a store does: as an SQLite database of this application (store/migrate.h). Of one with a write-ahead log nothing is known, as its
// beginning may be in there. One that is empty is a store to come: 'longreach run' makes it one.
bool BeginsAsStore(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::exists(file.string() + "-wal", ignored) || std::filesystem::file_size(file, ignored) == 0) return true;
  constexpr size_t kApplicationAt = 68;  // https://www.sqlite.org/fileformat.html
  constexpr std::string_view kSqlite("SQLite format 3\0", 16), kApplication = "LRch";
  std::string begin(kApplicationAt + kApplication.size(), '\0');
  std::ifstream in(file, std::ios::binary);
  return in.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin.starts_with(kSqlite) && begin.ends_with(kApplication);
}

// Whether this user may make what is not there: in the nearest above it that is, which has to be a folder.
bool MayMake(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path above = NearestThere(path);
  return std::filesystem::is_directory(above, ignored) && May(above, W_OK | X_OK);
}

// SQLite's write-ahead log lies in memory that all who have the file open share, which they do on one machine alone.
void AddFileSystem(const StoreSeen& store, Findings& findings) {
  const FileSystem& file_system = store.folder.file_system;
  constexpr std::string_view kAdvice = "name a store on a disk of this machine with --store FILE, and take copies elsewhere by 'longreach store backup'";
  switch (file_system.kind) {
    case Kind::kLocal: findings.Add(CheckState::kOk, file_system.name); break;
    case Kind::kMemory:
      findings.Add(CheckState::kWarning, fmt::format("the file system ({}) is this machine's memory: what is in it is gone when the machine is switched off", file_system.name), kAdvice);
      break;
    case Kind::kPassed:
      findings.Add(CheckState::kWarning, fmt::format("what is behind the file system ({}) cannot be seen; a store must lie on a local one", file_system.name),
                   "if that is a network or another machine, name a store on a disk of this one with --store FILE");
      break;
    case Kind::kNetwork:
      // Where there is none, none need lie there.
      findings.Add(store.named || store.exists ? CheckState::kFailed : CheckState::kWarning, fmt::format("the file system ({}) is one of a network; a store must lie on a local one", file_system.name),
                   kAdvice);
      break;
  }
}

}  // namespace

FileSystem FileSystemOf(uint32_t magic) {
  for (const KnownFileSystem& known : kKnown) {
    if (known.magic == magic) return {.kind = known.kind, .name = known.name};
  }
  return {.kind = Kind::kLocal, .name = fmt::format("{:#x}", magic)};
}

FolderSeen LookAtFolder(const std::filesystem::path& path) {
  std::error_code ignored;
  FolderSeen seen{.path = path};
  seen.exists = std::filesystem::exists(path, ignored);
  seen.is_folder = std::filesystem::is_directory(path, ignored);
  seen.readable = May(path, R_OK | X_OK);
  seen.writable = May(path, W_OK | X_OK);
  seen.can_be_made = seen.exists || MayMake(path);
  std::error_code unknown;
  const std::filesystem::space_info space = std::filesystem::space(path, unknown);
  if (!unknown) seen.free_bytes = static_cast<double>(space.available);
  struct statfs about {};
  if (statfs(path.c_str(), &about) == 0) seen.file_system = FileSystemOf(static_cast<uint32_t>(about.f_type));
  return seen;
}

StoreSeen LookAtStore(const std::filesystem::path& file, bool named) {
  std::error_code ignored;
  StoreSeen seen{.file = file, .named = named, .folder = {}};
  seen.exists = std::filesystem::exists(file, ignored);
  seen.is_file = std::filesystem::is_regular_file(file, ignored);
  seen.readable = May(file, R_OK);
  seen.writable = May(file, W_OK);
  seen.may_be_store = !seen.is_file || !seen.readable || BeginsAsStore(file);
  const bool has_bytes = seen.is_file && std::filesystem::file_size(file, ignored) > 0;
  seen.lacks_artifacts = has_bytes && !std::filesystem::is_directory(ArtifactsBeside(file), ignored);
  const std::filesystem::path absolute = std::filesystem::absolute(file, ignored);
  seen.folder = LookAtFolder(absolute.empty() ? "." : absolute.parent_path());
  return seen;
}

void AddRoom(const FolderSeen& folder, std::string_view what, Findings& findings, CheckState without) {
  if (!folder.free_bytes.has_value()) return;
  const std::string seen = fmt::format("{} free", HumanBytes(*folder.free_bytes));
  const std::string advice = fmt::format("make room in {}, where {}", folder.path.string(), what);
  if (*folder.free_bytes < kNoRoom) findings.Add(without, seen, advice);
  else if (*folder.free_bytes < kLittleRoom) findings.Add(CheckState::kWarning, seen, advice);
  else findings.Add(CheckState::kOk, seen);
}

Check JudgeStore(const StoreSeen& store) {
  Findings findings("store");
  const std::string file = store.file.string(), folder = store.folder.path.string();
  // That nobody named is one more that can be named.
  const CheckState cannot = store.named || store.exists ? CheckState::kFailed : CheckState::kWarning;
  if (!store.folder.is_folder) {
    findings.Add(cannot, fmt::format("there is no folder {}", folder), "make it, or name another store with --store FILE");
    return findings.check();
  }
  if (store.exists && !store.is_file) {
    findings.Add(cannot, fmt::format("{} is no file", file), "name another store with --store FILE");
  } else if (store.exists && !store.readable) {
    findings.Add(cannot, fmt::format("{} may not be read by this user", file), "see whose it is, or name another store with --store FILE");
  } else if (store.exists && !store.may_be_store) {
    findings.Add(cannot, fmt::format("{} is no store", file), "name another store with --store FILE; if it was one, put the last copy of it in its place (docs/OPERATIONS.md, Restore)");
  } else if (store.exists && !(store.writable && store.folder.writable)) {
    findings.Add(CheckState::kWarning, fmt::format("{} may not be written by this user", file),
                 "commands that only look read a copy of it, and others are refused; 'longreach store merge' takes it over into a store of your own");
  } else if (store.exists) {
    findings.Add(CheckState::kOk, file);
  } else if (!store.folder.writable) {
    findings.Add(cannot, fmt::format("there is no {}, and this user may not make one in {}", file, folder), "name a store in a folder of your own with --store FILE");
  } else {
    findings.Add(CheckState::kOk, fmt::format("{} is not there yet; 'longreach run' makes it", file));
  }
  if (store.readable && store.may_be_store && store.lacks_artifacts) {
    findings.Add(CheckState::kWarning, fmt::format("there is no folder {}", ArtifactsBeside(store.file).string()),
                 "checkpoints, weights and logs lie in it: if it was moved away or its disk is not mounted, bring it back before the store is opened; 'longreach store check' names files that are missing. "
                 "A copy of a store, as 'longreach store backup' writes, and one whose scheduler has --artifacts, do without");
  }
  // Nothing grows where nothing is written: commands read a copy of such a store.
  if (!store.folder.writable || (store.exists && !store.writable)) return findings.check();
  AddRoom(store.folder, "a store and its artifacts grow", findings, cannot);
  AddFileSystem(store, findings);
  return findings.check();
}

Check JudgeStateFolder(const FolderSeen& folder) {
  Findings findings("state_folder");
  const std::string path = folder.path.string();
  if (!folder.exists && !folder.can_be_made) {
    findings.Add(CheckState::kWarning, fmt::format("there is no {}, and this user may not make it", path),
                 "it lies beside the store: 'longreach run' needs one in a folder of your own, with --store FILE");
    return findings.check();
  }
  if (!folder.exists) {
    findings.Add(CheckState::kOk, fmt::format("{} is not there yet; 'longreach run' makes it", path));
    return findings.check();
  }
  if (!folder.is_folder) {
    findings.Add(CheckState::kFailed, fmt::format("{} is no folder", path), "move it away: the worker of 'longreach run' keeps its results there until they are handed in");
  } else if (!folder.readable || !folder.writable) {
    findings.Add(CheckState::kFailed, fmt::format("{} may not be written by this user", path), "see whose it is: the worker of 'longreach run' keeps its results there until they are handed in");
  } else {
    findings.Add(CheckState::kOk, path);
  }
  AddRoom(folder, "a worker keeps checkpoints and results until they are handed in", findings);
  return findings.check();
}

}  // namespace longreach::client
