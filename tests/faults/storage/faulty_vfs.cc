#include "tests/faults/storage/faulty_vfs.h"

#include <sqlite3.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <string>

#include "tests/faults/storage/injector.h"
#include "tests/faults/storage/trace.h"

namespace longreach::faults {
namespace {

sqlite3_vfs* real_vfs = nullptr;

struct File {
  sqlite3_file base;
  int64_t number;       // In the trace; 0: not traced.
  bool sync_folder;     // With the first sync: SQLite's own VFS does so for a new journal.
  char folder[1024];    // Of the trace.
  sqlite3_file* real;   // Lies behind this.
};

File* Of(sqlite3_file* file) { return reinterpret_cast<File*>(file); }
sqlite3_file* RealOf(sqlite3_file* file) { return Of(file)->real; }
const sqlite3_io_methods* MethodsOf(sqlite3_file* file) { return RealOf(file)->pMethods; }

// SQLite's code for a failed call: `io` where the device is to blame.
int CodeOf(Harm harm, int io) {
  switch (harm) {
    case Harm::kFull: return SQLITE_FULL;
    case Harm::kNoMemory: return SQLITE_IOERR_NOMEM;
    default: return io;
  }
}

int Close(sqlite3_file* file) {
  const int code = MethodsOf(file)->xClose(RealOf(file));
  file->pMethods = nullptr;
  return code;
}

int Read(sqlite3_file* file, void* to, int bytes, sqlite3_int64 offset) {
  if (const auto harm = Strike(Layer::kCalls)) {
    // There is no "full" for a read.
    return CodeOf(*harm == Harm::kFull ? Harm::kIo : *harm, SQLITE_IOERR_READ);
  }
  return MethodsOf(file)->xRead(RealOf(file), to, bytes, offset);
}

void NoteWrite(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 offset) {
  if (Of(file)->number == 0 || !Tracing()) return;
  Note({.kind = Step::Kind::kWrite, .file = Of(file)->number, .offset = offset,
        .bytes = std::string(static_cast<const char*>(from), static_cast<size_t>(bytes))});
}

int Write(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 offset) {
  if (const auto harm = Strike(Layer::kCalls)) {
    if (*harm == Harm::kFull) (void)MethodsOf(file)->xWrite(RealOf(file), from, bytes / 2, offset);
    return CodeOf(*harm, SQLITE_IOERR_WRITE);
  }
  NoteWrite(file, from, bytes, offset);
  return MethodsOf(file)->xWrite(RealOf(file), from, bytes, offset);
}

int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (const auto harm = Strike(Layer::kCalls)) return CodeOf(*harm, SQLITE_IOERR_TRUNCATE);
  if (Of(file)->number != 0) Note({.kind = Step::Kind::kTruncate, .file = Of(file)->number, .offset = size});
  return MethodsOf(file)->xTruncate(RealOf(file), size);
}

int Sync(sqlite3_file* file, int flags) {
  if (const auto harm = Strike(Layer::kCalls)) return CodeOf(*harm, SQLITE_IOERR_FSYNC);
  if (Of(file)->number == 0 || !Tracing()) return MethodsOf(file)->xSync(RealOf(file), flags);
  Note({.kind = Step::Kind::kSync, .file = Of(file)->number});
  if (Of(file)->sync_folder) Note({.kind = Step::Kind::kSyncFolder, .path = Of(file)->folder});
  Of(file)->sync_folder = false;
  return SQLITE_OK;
}

int FileSize(sqlite3_file* file, sqlite3_int64* size) { return MethodsOf(file)->xFileSize(RealOf(file), size); }
int Lock(sqlite3_file* file, int level) { return MethodsOf(file)->xLock(RealOf(file), level); }
int Unlock(sqlite3_file* file, int level) { return MethodsOf(file)->xUnlock(RealOf(file), level); }
int CheckReservedLock(sqlite3_file* file, int* out) { return MethodsOf(file)->xCheckReservedLock(RealOf(file), out); }
int FileControl(sqlite3_file* file, int what, void* argument) {
  return MethodsOf(file)->xFileControl(RealOf(file), what, argument);
}
int SectorSize(sqlite3_file* file) { return MethodsOf(file)->xSectorSize(RealOf(file)); }
int Characteristics(sqlite3_file* file) { return MethodsOf(file)->xDeviceCharacteristics(RealOf(file)); }

int ShmMap(sqlite3_file* file, int page, int bytes, int extend, void volatile** out) {
  if (const auto harm = Strike(Layer::kCalls)) {
    *out = nullptr;
    return CodeOf(*harm, SQLITE_IOERR_SHMMAP);
  }
  return MethodsOf(file)->xShmMap(RealOf(file), page, bytes, extend, out);
}
int ShmLock(sqlite3_file* file, int offset, int count, int flags) {
  return MethodsOf(file)->xShmLock(RealOf(file), offset, count, flags);
}
void ShmBarrier(sqlite3_file* file) { MethodsOf(file)->xShmBarrier(RealOf(file)); }
int ShmUnmap(sqlite3_file* file, int remove) { return MethodsOf(file)->xShmUnmap(RealOf(file), remove); }

// Version 2: without memory-mapped reads, which would pass by this.
constexpr sqlite3_io_methods kMethods = {
    2,      Close,      Read,        Write,           Truncate, Sync,    FileSize, Lock,       Unlock, CheckReservedLock,
    FileControl, SectorSize, Characteristics, ShmMap, ShmLock,  ShmBarrier, ShmUnmap, nullptr, nullptr};

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* flags_out) {
  file->pMethods = nullptr;
  if (const auto harm = Strike(Layer::kCalls)) return CodeOf(*harm, SQLITE_CANTOPEN);
  File* ours = new (file) File{};
  ours->real = reinterpret_cast<sqlite3_file*>(ours + 1);
  std::string relative;
  const bool traced = name != nullptr && InTrace(name, relative);
  const bool is_new = traced && !std::filesystem::exists(name);
  const int code = real_vfs->xOpen(real_vfs, name, ours->real, flags, flags_out);
  if (code != SQLITE_OK) {
    // As documented: methods that are set ask to be closed.
    if (ours->real->pMethods != nullptr) ours->real->pMethods->xClose(ours->real);
    return code;
  }
  if (traced) {
    ours->number = FileNumber(name);
    const std::string folder = std::filesystem::path(relative).parent_path().string();
    std::strncpy(ours->folder, folder.c_str(), sizeof ours->folder - 1);
    const bool journal = (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL)) != 0;
    ours->sync_folder = is_new && journal;
    if (is_new) Note({.kind = Step::Kind::kCreate, .file = ours->number, .path = relative});
  }
  file->pMethods = &kMethods;
  return SQLITE_OK;
}

int Delete(sqlite3_vfs*, const char* name, int sync_folder) {
  if (const auto harm = Strike(Layer::kCalls)) return CodeOf(*harm, SQLITE_IOERR_DELETE);
  std::string relative;
  const bool traced = InTrace(name, relative) && std::filesystem::exists(name);
  const int code = real_vfs->xDelete(real_vfs, name, traced ? 0 : sync_folder);
  if (code == SQLITE_OK && traced) {
    Note({.kind = Step::Kind::kRemove, .path = relative});
    if (sync_folder != 0) {
      Note({.kind = Step::Kind::kSyncFolder, .path = std::filesystem::path(relative).parent_path().string()});
    }
  }
  return code;
}

}  // namespace

void UseFaultyVfs() {
  real_vfs = sqlite3_vfs_find(nullptr);
  static sqlite3_vfs ours = *real_vfs;  // What is not replaced below takes no part in what is stored.
  ours.zName = "faulty";
  ours.szOsFile = static_cast<int>(sizeof(File)) + real_vfs->szOsFile;
  ours.pNext = nullptr;
  ours.xOpen = Open;
  ours.xDelete = Delete;
  if (sqlite3_vfs_register(&ours, 1) != SQLITE_OK) std::abort();
}

}  // namespace longreach::faults
