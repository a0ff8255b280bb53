#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "proto/base/sha256.h"
#include "store/maintenance.h"
#include "store/migrate.h"
#include "store/pack_file.h"

namespace longreach::store {
namespace {

// Adds the rows of a query, the first column each, and says so when there are more than can be shown.
absl::Status AddRows(sql::Connection& db, std::string_view query, Concern concern, CheckReport& report) {
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(query));
  int64_t count = 0;
  while (rows.Next()) {
    if (++count <= kMaxViolations) report.Add(rows.Get<std::string>(0), concern);
  }
  RETURN_IF_ERROR(rows.status());
  report.SayHowManyMore(count);
  return absl::OkStatus();
}

// What SQLite itself finds. It names no row where a value is not admitted, so that of one cause there may be as many equal lines as rows.
absl::Status AddFaults(sql::Connection& db, CheckReport& report) {
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(fmt::format("PRAGMA integrity_check({})", kMostFaults)));
  std::map<std::string, int64_t> times;
  int64_t faults = 0, others = 0;
  while (rows.Next()) {
    auto line = rows.Get<std::string>(0);
    if (line == "ok") continue;
    ++faults;
    if (const auto known = times.find(line); known != times.end()) {
      ++known->second;
    } else if (times.size() < static_cast<size_t>(kMaxViolations)) {
      times.emplace(line, 1);
      report.Add(std::move(line), Concern::kFile);
    } else {
      ++others;
    }
  }
  RETURN_IF_ERROR(rows.status());
  report.SayHowManyMore(others == 0 ? 0 : kMaxViolations + others);
  if (faults >= kMostFaults) report.violations.push_back(fmt::format("... and perhaps more: SQLite was asked for the first {} faults of the file", kMostFaults));
  std::erase_if(times, [](const auto& one) { return one.second == 1; });
  report.times = std::move(times);
  return absl::OkStatus();
}

absl::Status RunLedgerChecks(sql::Connection& db, CheckReport& report) {
  constexpr std::string_view kMark = "-- check", kOfResults = " of results: ";
  std::string_view text = CheckSql();
  size_t at = text.find(kMark);
  while (at != std::string_view::npos) {
    text.remove_prefix(at + kMark.size());
    const Concern concern = text.starts_with(kOfResults) ? Concern::kResults : Concern::kWork;
    text.remove_prefix(text.find('\n') + 1);
    at = text.find(kMark);
    RETURN_IF_ERROR(AddRows(db, text.substr(0, at), concern, report));
  }
  return absl::OkStatus();
}

// SQL has no SHA-256.
absl::Status CheckIds(sql::Connection& db, std::string_view table, CheckReport& report) {
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(fmt::format("SELECT id, spec FROM {} ORDER BY num", table)));
  int64_t count = 0;
  while (rows.Next()) {
    if (Sha256Of(rows.Get<std::string_view>(1)) == rows.Get<std::string_view>(0)) continue;
    if (++count <= kMaxViolations) report.Add(fmt::format("{}: the id {} is not the SHA-256 of its specification", table, rows.Get<std::string>(0)), Concern::kFile);
  }
  RETURN_IF_ERROR(rows.status());
  report.SayHowManyMore(count);
  return absl::OkStatus();
}

// integrity_check looks each row up in each index, and by their ids jobs lie all over one. Of a large store that is more than a reader's cache, and
// a page is read from the file for every row.
class CacheOfCheck {
 public:
  static absl::StatusOr<CacheOfCheck> Enlarge(sql::Connection& db) {
    ASSIGN_OR_RETURN(const int64_t before, db.One<int64_t>("PRAGMA cache_size"));  // Below 0: KiB; else pages.
    if (before > -kKib) RETURN_IF_ERROR(Set(db, -kKib));
    return CacheOfCheck(db, before);
  }
  CacheOfCheck(CacheOfCheck&& other) noexcept : db_(std::exchange(other.db_, nullptr)), before_(other.before_) {}
  CacheOfCheck& operator=(CacheOfCheck&&) = delete;
  ~CacheOfCheck() {
    if (db_ != nullptr && before_ > -kKib) Set(*db_, before_).IgnoreError();  // It is but slower, or has more memory.
  }

 private:
  static constexpr int64_t kKib = 16'384;
  CacheOfCheck(sql::Connection& db, int64_t before) : db_(&db), before_(before) {}
  static absl::Status Set(sql::Connection& db, int64_t size) { return db.Execute(fmt::format("PRAGMA cache_size = {}", size)); }

  sql::Connection* db_;
  int64_t before_;
};

absl::Status ReadExpected(sql::Connection& db, ExpectedFiles& expected) {
  ASSIGN_OR_RETURN(sql::Rows rows,
                   db.Query("SELECT sha256, bytes, min(kind), count(*) FROM artifacts GROUP BY sha256, bytes ORDER BY sha256, bytes"));
  while (rows.Next()) {
    expected.named.push_back({.sha256 = rows.Get<std::string>(0), .bytes = rows.Get<int64_t>(1), .kind = ParseArtifactKind(rows.Get<std::string_view>(2)), .rows = rows.Get<int64_t>(3)});
  }
  RETURN_IF_ERROR(rows.status());
  ASSIGN_OR_RETURN(expected.unused, db.All<std::string>("SELECT sha256 FROM unused_files ORDER BY sha256"));
  return absl::OkStatus();
}

struct Fault {
  std::string why{};     // Why the file is not as its rows say; empty: it is.
  bool is_lost = false;  // Nothing brings it back: not what a file is that cannot be looked at now.
  bool of_size = false;  // It may be whole, and its rows have a wrong number.
};

Fault FaultOf(const ArtifactFiles& files, const NamedFile& file, bool read, const std::stop_token& stop) {
  if (!IsSha256(file.sha256)) return {.why = fmt::format("'{}' is not a hash", file.sha256), .is_lost = true};
  const std::filesystem::path path = files.PathOf(file.sha256);
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error == std::errc::no_such_file_or_directory) return {.why = fmt::format("its file is missing ('{}')", path.string()), .is_lost = files.IsThere()};
  if (error) return {.why = fmt::format("its file cannot be looked at ('{}': {})", path.string(), error.message())};
  if (static_cast<int64_t>(size) != file.bytes) return {.why = fmt::format("its file has {} bytes instead of {}", size, file.bytes), .is_lost = true, .of_size = true};
  if (!read) return {};
  const absl::Status whole = files.Verify(file.sha256, stop);
  return {.why = std::string(whole.message()), .is_lost = absl::IsDataLoss(whole)};
}

// Why the file is not what this row says of it; empty: it is. Weights are of the end, whatever their row calls it.
std::string WhyNotOf(const PackFile& file, const NamedPart& part) {
  if (file.kind != Word(part.kind)) return fmt::format("the file says that it is '{}'", file.kind);
  if (part.kind == ArtifactKind::kCheckpoint && file.step != part.step) {
    return fmt::format("the file says that it is of step {}, and its row of step {}", file.step ? fmt::format("{}", *file.step) : "none", part.step);
  }
  if (part.member < 0 || part.member >= std::ssize(file.jobs)) return fmt::format("the file has {} members and none with the number {}", file.jobs.size(), part.member);
  const std::string& whose = file.jobs[static_cast<size_t>(part.member)];
  return whose == part.id ? "" : fmt::format("its member {} is of job {}", part.member, whose.substr(0, 8));
}

void FindUnnamed(const ArtifactFiles& files, const ExpectedFiles& expected, std::vector<UnnamedFile>& unnamed) {
  std::vector<std::string> marked = files.Unsettled();
  std::ranges::sort(marked);
  for (std::string& hash : files.List()) {
    if (std::ranges::binary_search(expected.named, hash, {}, &NamedFile::sha256) || std::ranges::binary_search(expected.unused, hash) || std::ranges::binary_search(marked, hash)) continue;
    std::error_code error;
    const auto bytes = std::filesystem::file_size(files.PathOf(hash), error);
    if (!error) unnamed.push_back({.sha256 = std::move(hash), .bytes = static_cast<int64_t>(bytes)});
  }
}

}  // namespace

void CheckReport::Add(std::string line, Concern concern) {
  concerns.emplace(line, concern);
  violations.push_back(std::move(line));
}

void CheckReport::SayHowManyMore(int64_t count) {
  if (count > kMaxViolations) violations.push_back(fmt::format("... and {} more of this kind", count - kMaxViolations));
}

bool CheckReport::Has(Concern concern) const {
  return std::ranges::any_of(violations, [&](const std::string& line) {
    const auto found = concerns.find(line);
    return found != concerns.end() && found->second == concern;
  });
}

std::string CheckReport::Told(const std::string& violation) const {
  const auto found = times.find(violation);
  return found == times.end() ? violation : fmt::format("{} ({} times)", violation, found->second);
}

std::string NamedFile::What() const { return fmt::format("{} {} of {} jobs", kind ? Word(*kind) : "file", sha256.substr(0, 8), rows); }

absl::StatusOr<std::vector<NamedPart>> PartsOf(sql::Connection& db, const NamedFile& file) {
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query("SELECT f.job, j.id, f.kind, f.step, f.attempt, f.member FROM artifacts AS f CROSS JOIN jobs AS j ON j.num = f.job "
                                            "WHERE f.sha256 = ? AND f.bytes = ? AND f.kind IN ('checkpoint', 'weights') ORDER BY f.job, f.kind, f.step, f.attempt",
                                            file.sha256, file.bytes));
  std::vector<NamedPart> parts;
  while (rows.Next()) {
    parts.push_back({.job = rows.Get<int64_t>(0),
                     .id = rows.Get<std::string>(1),
                     .kind = ParseArtifactKind(rows.Get<std::string_view>(2)).value_or(ArtifactKind::kCheckpoint),
                     .step = rows.Get<int>(3),
                     .attempt = rows.Get<int64_t>(4),
                     .member = rows.Get<int>(5)});
  }
  RETURN_IF_ERROR(rows.status());
  return parts;
}

void CheckParts(const ArtifactFiles& files, const NamedFile& file, const std::vector<NamedPart>& parts, CheckReport& report) {
  if (parts.empty()) return;
  const std::optional<PackFile> pack = ReadPackFile(files.PathOf(file.sha256));
  if (!pack) return;
  for (const NamedPart& part : parts) {
    const std::string why = WhyNotOf(*pack, part);
    if (why.empty()) continue;
    report.Add(fmt::format("{} {} of job {}: {}", Word(part.kind), file.sha256.substr(0, 8), part.id.substr(0, 8), why), Concern::kParts);
    std::optional<int> member = pack->MemberOf(part.id);
    NamedPart moved = part;
    moved.member = member.value_or(part.member);
    if (member && !WhyNotOf(*pack, moved).empty()) member.reset();
    report.misplaced.push_back({.sha256 = file.sha256, .part = part, .member = member});
  }
}

void CutFilesShort(CheckReport& report) {
  for (const Concern concern : {Concern::kArtifacts, Concern::kParts}) {
    int64_t count = 0;
    std::erase_if(report.violations, [&](const std::string& line) {
      const auto found = report.concerns.find(line);
      return found != report.concerns.end() && found->second == concern && ++count > kMaxViolations;
    });
    report.SayHowManyMore(count);
  }
}

absl::StatusOr<CheckReport> CheckRows(sql::Connection& db, ExpectedFiles& expected, const std::stop_token& stop, const CheckMore& more) {
  CheckReport report;
  const sql::StopQueries stopping(db, stop);
  if (stop.stop_requested()) return sql::Stopped();
  ASSIGN_OR_RETURN(const CacheOfCheck cache, CacheOfCheck::Enlarge(db));
  RETURN_IF_ERROR(AddFaults(db, report));
  RETURN_IF_ERROR(AddRows(db, "SELECT \"table\" || ' row ' || ifnull(rowid, '(no number)') || ' refers to a row of ' || parent || "
                              "' that does not exist' FROM pragma_foreign_key_check ORDER BY 1",
                          Concern::kFile, report));
  RETURN_IF_ERROR(RunLedgerChecks(db, report));
  RETURN_IF_ERROR(CheckIds(db, "jobs", report));
  RETURN_IF_ERROR(CheckIds(db, "sweeps", report));
  if (more) RETURN_IF_ERROR(more(db, report));
  RETURN_IF_ERROR(ReadExpected(db, expected));
  ASSIGN_OR_RETURN(report.sweeps, db.One<int64_t>("SELECT count(*) FROM sweeps"));
  ASSIGN_OR_RETURN(report.jobs, db.One<int64_t>("SELECT count(*) FROM jobs"));
  ASSIGN_OR_RETURN(report.attempts, db.One<int64_t>("SELECT count(*) FROM attempts"));
  ASSIGN_OR_RETURN(report.measurements, db.One<int64_t>("SELECT count(*) FROM measurements"));
  ASSIGN_OR_RETURN(report.artifacts, db.One<int64_t>("SELECT count(*) FROM artifacts"));
  return report;
}

absl::Status CheckFiles(const ArtifactFiles& files, ExpectedFiles expected, const AskParts& parts_of, const std::stop_token& stop, CheckReport& report) {
  const bool read = static_cast<bool>(parts_of);
  if (read) FindUnnamed(files, expected, report.unnamed);  // While all names are there.
  for (NamedFile& file : expected.named) {
    const Fault fault = FaultOf(files, file, read, stop);
    if (stop.stop_requested()) return sql::Stopped();
    // A repair gives the rows of one that is whole its size, and their parts with it.
    if (read && (fault.why.empty() || (fault.of_size && files.Verify(file.sha256, stop).ok()))) {
      ASSIGN_OR_RETURN(const std::vector<NamedPart> parts, parts_of(file));
      CheckParts(files, file, parts, report);
    }
    if (fault.why.empty()) continue;
    report.Add(fmt::format("{}: {}", file.What(), fault.why), Concern::kArtifacts);
    if (fault.is_lost) report.lost.push_back(std::move(file));
  }
  return absl::OkStatus();
}

absl::StatusOr<CheckReport> Check(sql::Connection& db, const ArtifactFiles& files, bool read_artifacts, const std::stop_token& stop, const CheckMore& more) {
  ExpectedFiles expected;
  ASSIGN_OR_RETURN(CheckReport report, CheckRows(db, expected, stop, more));
  const AskParts parts_of = [&db](const NamedFile& file) { return PartsOf(db, file); };
  RETURN_IF_ERROR(CheckFiles(files, std::move(expected), read_artifacts ? parts_of : AskParts(), stop, report));
  return report;
}

}  // namespace longreach::store
