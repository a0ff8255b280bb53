#include "store/sql/connection.h"

#include <array>
#include <functional>

#include <fmt/format.h>
#include <sqlite3.h>

namespace longreach::sql {
namespace internal {

struct Handle {
  sqlite3* database = nullptr;
  std::filesystem::path file;
  // Idle statements by their text. Nodes of a map stay where they are, so Rows may point at its lists.
  using Idle = std::map<std::string, std::vector<sqlite3_stmt*>, std::less<>>;
  Idle idle;
  // Where the texts that were asked for last are in it, by where they lie in memory: most are literals, and looking through the
  // map takes as long as some statements do.
  std::array<Idle::iterator, 256> recent;

  Handle() { recent.fill(idle.end()); }
  Idle::iterator Find(std::string_view sql) {
    Idle::iterator& place = recent[(std::hash<const char*>()(sql.data()) >> 3) % recent.size()];
    if (place == idle.end() || place->first != sql) {
      place = idle.find(sql);
      if (place == idle.end()) place = idle.emplace(std::string(sql), std::vector<sqlite3_stmt*>()).first;
    }
    return place;
  }
  ~Handle() {
    for (const auto& [text, statements] : idle) {
      for (sqlite3_stmt* statement : statements) sqlite3_finalize(statement);
    }
    sqlite3_close_v2(database);
  }
};

int Bind(sqlite3_stmt* statement, int index, std::nullptr_t) { return sqlite3_bind_null(statement, index); }
int Bind(sqlite3_stmt* statement, int index, int64_t value) { return sqlite3_bind_int64(statement, index, value); }
int Bind(sqlite3_stmt* statement, int index, double value) { return sqlite3_bind_double(statement, index, value); }
int Bind(sqlite3_stmt* statement, int index, std::string_view value) {
  // A null pointer would be NULL and not the empty text.
  return sqlite3_bind_text64(statement, index, value.data() == nullptr ? "" : value.data(), value.size(), SQLITE_TRANSIENT,
                             SQLITE_UTF8);
}

}  // namespace internal

namespace {

// In the payload of a status, so that it goes with it through callers that know nothing of disks.
constexpr char kDiskTrouble[] = "longreach/disk";

absl::Status WithDiskTrouble(absl::Status status, std::string_view trouble) {
  status.SetPayload(kDiskTrouble, absl::Cord(std::string(trouble)));
  return status;
}

}  // namespace

absl::Status Stopped() { return absl::UnavailableError("the scheduler is shutting down; try again later"); }

std::string DiskTrouble(const absl::Status& status) { return std::string(status.GetPayload(kDiskTrouble).value_or(absl::Cord())); }

absl::Status StatusOfCode(int code, std::string_view message, std::string_view what) {
  const std::string text = fmt::format("{}: {} (SQLite {})", what, message, code);
  switch (code) {
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_ROWID:
      return absl::AlreadyExistsError(text);
    default:
      break;
  }
  // What makes the file -shm longer has failed. SQLite does not keep the system's reason, and there is hardly another.
  if (code == SQLITE_IOERR_SHMSIZE) {
    return WithDiskTrouble(absl::ResourceExhaustedError(fmt::format("{}: the disk is full: there is no room for SQLite's file -shm beside the store; free some (SQLite {})", what, code)),
                           "the disk is full");
  }
  switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
      return absl::OkStatus();
    case SQLITE_FULL:
      return WithDiskTrouble(absl::ResourceExhaustedError(fmt::format("{}: the disk is full", what)), "the disk is full");
    case SQLITE_NOMEM:
      return absl::ResourceExhaustedError(fmt::format("{}: out of memory", what));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      // Whichever query met it.
      return absl::DataLossError(fmt::format("the store's file is damaged; put a copy from before in its place (docs/OPERATIONS.md, Restore), or see what "
                                             "sqlite3's '.recover' saves of it (SQLite {}: {})", code, message));
    case SQLITE_IOERR:
      return WithDiskTrouble(absl::UnavailableError(text), fmt::format("its disk cannot be read or written ({})", message));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return absl::UnavailableError(text);
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      return absl::PermissionDeniedError(text);
    case SQLITE_INTERRUPT:
      return Stopped();
    case SQLITE_READONLY:
      return absl::FailedPreconditionError(text);
    default:
      return absl::InternalError(text);
  }
}

namespace {

absl::Status LastError(sqlite3* database, std::string_view what) {
  return StatusOfCode(sqlite3_extended_errcode(database), sqlite3_errmsg(database), what);
}

}  // namespace

Rows::Rows(Rows&& other) noexcept
    : prepared_(std::exchange(other.prepared_, {})), status_(std::move(other.status_)) {}

Rows::~Rows() {
  if (prepared_.statement == nullptr) return;
  sqlite3_reset(prepared_.statement);
  sqlite3_clear_bindings(prepared_.statement);
  prepared_.home->push_back(prepared_.statement);
}

bool Rows::Next() {
  if (!status_.ok()) return false;
  const int code = sqlite3_step(prepared_.statement);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) {
    status_ = LastError(sqlite3_db_handle(prepared_.statement), sqlite3_sql(prepared_.statement));
  }
  return false;
}

bool Rows::IsNull(int column) const { return sqlite3_column_type(prepared_.statement, column) == SQLITE_NULL; }
int64_t Rows::Integer(int column) const { return sqlite3_column_int64(prepared_.statement, column); }
double Rows::Real(int column) const { return sqlite3_column_double(prepared_.statement, column); }
std::string_view Rows::TextOf(int column) const {
  // The text first: asking for the size before might refer to another encoding.
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(prepared_.statement, column));
  if (text != nullptr) return {text, static_cast<size_t>(sqlite3_column_bytes(prepared_.statement, column))};
  // Either it is NULL, or there was no memory to make it a text.
  sqlite3* database = sqlite3_db_handle(prepared_.statement);
  if (sqlite3_errcode(database) == SQLITE_NOMEM) status_ = LastError(database, sqlite3_sql(prepared_.statement));
  return {};
}

Connection::Connection(std::unique_ptr<internal::Handle> handle) : handle_(std::move(handle)) {}
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;

absl::StatusOr<Connection> Connection::Open(const std::filesystem::path& file, Mode mode) {
  std::error_code error;
  if (mode != Mode::kReadWriteCreate && !std::filesystem::exists(file, error)) {
    return absl::NotFoundError(fmt::format("there is no file '{}'", file.string()));
  }
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  switch (mode) {
    case Mode::kReadOnly: flags |= SQLITE_OPEN_READONLY; break;
    case Mode::kReadWrite: flags |= SQLITE_OPEN_READWRITE; break;
    case Mode::kReadWriteCreate: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE; break;
  }
  // Nobody asks how much memory SQLite has, and counting it takes a lock of the whole process with every allocation. Of no effect,
  // and no harm, once SQLite has begun.
  static const int not_counted = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  (void)not_counted;
  auto handle = std::make_unique<internal::Handle>();
  handle->file = file;
  const std::string what = fmt::format("cannot open '{}'", file.string());
  const int code = sqlite3_open_v2(file.c_str(), &handle->database, flags, nullptr);
  if (code != SQLITE_OK) {
    return StatusOfCode(code, handle->database == nullptr ? "out of memory" : sqlite3_errmsg(handle->database), what);
  }
  sqlite3_busy_timeout(handle->database, 10'000);
  sqlite3_db_config(handle->database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  Connection connection(std::move(handle));
  // The schema is read here: a file that is no database is found out now, with its name in the message.
  if (absl::StatusOr<int64_t> tables = connection.One<int64_t>("SELECT count(*) FROM sqlite_schema"); !tables.ok()) {
    return absl::Status(tables.status().code(), fmt::format("{}: {}", what, std::string(tables.status().message())));
  }
  RETURN_IF_ERROR(connection.Execute("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF"));
  return connection;
}

absl::StatusOr<internal::Prepared> Connection::Prepare(std::string_view sql, int parameters) {
  std::vector<sqlite3_stmt*>& home = handle_->Find(sql)->second;
  sqlite3_stmt* statement = nullptr;
  if (!home.empty()) {
    statement = home.back();
    home.pop_back();
  } else {
    const int code = sqlite3_prepare_v3(handle_->database, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) return LastError(handle_->database, sql);
  }
  if (statement == nullptr || sqlite3_bind_parameter_count(statement) != parameters) {
    if (statement != nullptr) home.push_back(statement);
    return absl::InternalError(fmt::format("{} parameters given to: {}", parameters, sql));
  }
  return internal::Prepared{statement, &home};
}

int Connection::Changes() const { return sqlite3_changes(handle_->database); }

absl::Status Connection::Execute(std::string_view script) {
  const std::string text(script);
  const char* rest = text.c_str();
  while (*rest != '\0') {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(handle_->database, rest, -1, &statement, &rest) != SQLITE_OK) {
      return LastError(handle_->database, "a statement of a script");
    }
    if (statement == nullptr) continue;  // Blanks or a comment.
    int code = SQLITE_ROW;
    while (code == SQLITE_ROW) code = sqlite3_step(statement);
    absl::Status status;
    if (code != SQLITE_DONE) status = LastError(handle_->database, sqlite3_sql(statement));
    sqlite3_finalize(statement);
    RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

int64_t Connection::LastInsertRow() const { return sqlite3_last_insert_rowid(handle_->database); }
const std::filesystem::path& Connection::file() const { return handle_->file; }
sqlite3* Connection::raw() const { return handle_->database; }
bool Connection::InAutocommit() const { return sqlite3_get_autocommit(handle_->database) != 0; }

void StopQueries::Interrupt::operator()() const { sqlite3_interrupt(database); }

StopQueries::StopQueries(Connection& connection, std::stop_token stop) : database_(connection.raw()), stop_(std::move(stop)) {
  if (!stop_.stop_possible()) return;  // Nobody will request it.
  // Between two queries there is nothing to interrupt, so the next one looks for itself, now and then.
  constexpr int kInstructions = 1000;
  const auto stopped = [](void* token) { return static_cast<int>(static_cast<const std::stop_token*>(token)->stop_requested()); };
  sqlite3_progress_handler(database_, kInstructions, stopped, const_cast<std::stop_token*>(&stop_));
  interrupt_.emplace(stop_, Interrupt{database_});
}

StopQueries::~StopQueries() {
  if (!interrupt_.has_value()) return;
  interrupt_.reset();
  sqlite3_progress_handler(database_, 0, nullptr, nullptr);
}

absl::StatusOr<Transaction> Transaction::Begin(Connection& connection) {
  // Left over when there was no memory for the end of the one before.
  if (!connection.InAutocommit()) RETURN_IF_ERROR(connection.Run("ROLLBACK").status());
  // IMMEDIATE: whoever else writes is met here and not in the middle.
  RETURN_IF_ERROR(connection.Run("BEGIN IMMEDIATE").status());
  return Transaction(connection);
}

Transaction::~Transaction() {
  if (connection_ != nullptr && !connection_->InAutocommit()) connection_->Run("ROLLBACK").status().IgnoreError();
}

absl::Status Transaction::Commit() {
  // After some errors (disk full, I/O) SQLite has taken the whole transaction back by itself.
  if (connection_->InAutocommit()) return absl::UnavailableError("the transaction was taken back after an earlier error");
  absl::Status status = connection_->Run("COMMIT").status();
  if (!status.ok() && !connection_->InAutocommit()) connection_->Run("ROLLBACK").status().IgnoreError();
  connection_ = nullptr;
  return status;
}

absl::StatusOr<Savepoint> Savepoint::Begin(Transaction& transaction) {
  RETURN_IF_ERROR(transaction.Run("SAVEPOINT part").status());
  return Savepoint(transaction.connection());
}

Savepoint::~Savepoint() {
  if (connection_ != nullptr) RollBack().IgnoreError();
}

absl::Status Savepoint::RollBack() {
  if (!connection_->InAutocommit()) {
    RETURN_IF_ERROR(connection_->Run("ROLLBACK TO part").status());
    RETURN_IF_ERROR(connection_->Run("RELEASE part").status());
  }
  connection_ = nullptr;
  return absl::OkStatus();
}

absl::Status Savepoint::Release() {
  RETURN_IF_ERROR(connection_->Run("RELEASE part").status());
  connection_ = nullptr;
  return absl::OkStatus();
}

}  // namespace longreach::sql
