// SQLite in C++: connections, statements, transactions. Values out, Status for errors, no exceptions.
//
//   ASSIGN_OR_RETURN(int changed, tx.Run("UPDATE jobs SET state = ? WHERE num = ?", "queued", num));
//   ASSIGN_OR_RETURN(sql::Rows rows, db.Query("SELECT num, id FROM jobs WHERE state = ? ORDER BY num", "queued"));
//   while (rows.Next()) use(rows.Get<int64_t>(0), rows.Get<std::string>(1));
//   RETURN_IF_ERROR(rows.status());
//
// Codes: RESOURCE_EXHAUSTED the disk is full; DATA_LOSS the file is damaged or not a database; UNAVAILABLE it is locked
// by somebody else, or cannot be read or written just now, or a stop was requested; ALREADY_EXISTS a UNIQUE or PRIMARY KEY rule;
// FAILED_PRECONDITION not writable; INTERNAL any other rule of the schema, or a mistake of ours.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <stop_token>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "proto/base/clock.h"
#include "proto/base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace longreach::sql {

// The status of an SQLite result code. `what` says what was being done.
absl::Status StatusOfCode(int code, std::string_view message, std::string_view what);
// Of a query, or of anything else that may take long, which was ended because a stop was requested.
absl::Status Stopped();
// What is wrong with the disk, where a status says that it is full or cannot be read or written; empty for all other errors.
std::string DiskTrouble(const absl::Status& status);

namespace internal {
struct Handle;  // The open database and its prepared statements.

// A statement in use, and the list of idle ones with the same text that it goes back to.
struct Prepared {
  sqlite3_stmt* statement = nullptr;
  std::vector<sqlite3_stmt*>* home = nullptr;
};

// SQLite's result codes. A text that there is no memory for would otherwise be taken for NULL.
int Bind(sqlite3_stmt* statement, int index, std::nullptr_t);
int Bind(sqlite3_stmt* statement, int index, int64_t value);
int Bind(sqlite3_stmt* statement, int index, double value);
int Bind(sqlite3_stmt* statement, int index, std::string_view value);

template <typename T>
int BindAny(sqlite3_stmt* statement, int index, const T& value) {
  if constexpr (std::is_same_v<T, WallTime>) {
    return Bind(statement, index, static_cast<int64_t>(value.time_since_epoch().count()));
  } else if constexpr (std::is_integral_v<T>) {  // Also bool: 0 or 1.
    return Bind(statement, index, static_cast<int64_t>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return Bind(statement, index, static_cast<double>(value));
  } else if constexpr (std::is_same_v<T, std::nullptr_t> || std::is_same_v<T, std::nullopt_t>) {
    return Bind(statement, index, nullptr);
  } else {
    return Bind(statement, index, std::string_view(value));
  }
}

template <typename T>
int BindAny(sqlite3_stmt* statement, int index, const std::optional<T>& value) {
  return value.has_value() ? BindAny(statement, index, *value) : Bind(statement, index, nullptr);
}

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};
}  // namespace internal

// The rows of a running query. Not to be kept beyond the connection; two queries of the same text may run at once.
class Rows {
 public:
  Rows(Rows&& other) noexcept;
  Rows& operator=(Rows&&) = delete;
  ~Rows();

  // Goes to the next row (at first: the first). false: no more, or an error, which status() has.
  bool Next();
  const absl::Status& status() const { return status_; }

  // The value in a column, from 0. T: int64_t, int, bool, uint32_t, double, std::string, WallTime, or an optional of these.
  // A text that there is no memory for is empty, and status() says so.
  template <typename T>
  T Get(int column) const {
    if constexpr (internal::IsOptional<T>::value) {
      if (IsNull(column)) return std::nullopt;
      return Get<typename T::value_type>(column);
    } else if constexpr (std::is_same_v<T, WallTime>) {
      return WallTime(std::chrono::microseconds(Integer(column)));
    } else if constexpr (std::is_same_v<T, bool>) {
      return Integer(column) != 0;
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(Integer(column));
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(Real(column));
    } else {
      return T(TextOf(column));
    }
  }
  bool IsNull(int column) const;

 private:
  friend class Connection;
  explicit Rows(internal::Prepared prepared) : prepared_(prepared) {}
  int64_t Integer(int column) const;
  double Real(int column) const;
  std::string_view TextOf(int column) const;

  internal::Prepared prepared_;
  mutable absl::Status status_;
};

enum class Mode {
  kReadOnly,         // The file must exist.
  kReadWrite,        // The file must exist.
  kReadWriteCreate,  // Made when absent.
};

// One open database file. Used by one thread at a time.
class Connection {
 public:
  // NOT_FOUND, PERMISSION_DENIED, DATA_LOSS (not a database), UNAVAILABLE with the path.
  // Sets foreign_keys, busy_timeout (10 s) and, for writers, synchronous=FULL. The journal mode is the store's to set.
  static absl::StatusOr<Connection> Open(const std::filesystem::path& file, Mode mode);
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  ~Connection();

  // Starts a query. `?` parameters take the arguments in order.
  template <typename... Args>
  absl::StatusOr<Rows> Query(std::string_view sql, const Args&... args) {
    ASSIGN_OR_RETURN(internal::Prepared prepared, Prepare(sql, sizeof...(args)));
    [[maybe_unused]] int index = 0;
    int code = 0;
    ((code = code == 0 ? internal::BindAny(prepared.statement, ++index, args) : code), ...);
    Rows rows(prepared);  // From here on it gives the statement back.
    if (code != 0) return StatusOfCode(code, "a parameter cannot be bound", sql);
    return rows;
  }

  // Runs one statement to its end; the number of rows that it inserted, updated or deleted (not those of triggers).
  template <typename... Args>
  absl::StatusOr<int> Run(std::string_view sql, const Args&... args) {
    ASSIGN_OR_RETURN(Rows rows, Query(sql, args...));
    while (rows.Next()) {
    }
    RETURN_IF_ERROR(rows.status());
    return Changes();
  }

  // The first column of the first row; nothing when there is no row.
  template <typename T, typename... Args>
  absl::StatusOr<std::optional<T>> First(std::string_view sql, const Args&... args) {
    ASSIGN_OR_RETURN(Rows rows, Query(sql, args...));
    std::optional<T> value;
    if (rows.Next()) value = rows.Get<T>(0);
    RETURN_IF_ERROR(rows.status());
    return value;
  }

  // The first column of the only row; INTERNAL when there is none.
  template <typename T, typename... Args>
  absl::StatusOr<T> One(std::string_view sql, const Args&... args) {
    ASSIGN_OR_RETURN(std::optional<T> value, (First<T>(sql, args...)));
    if (!value.has_value()) return absl::InternalError("no row from: " + std::string(sql));
    return *std::move(value);
  }

  // The first column of all rows.
  template <typename T, typename... Args>
  absl::StatusOr<std::vector<T>> All(std::string_view sql, const Args&... args) {
    ASSIGN_OR_RETURN(Rows rows, Query(sql, args...));
    std::vector<T> values;
    while (rows.Next()) values.push_back(rows.Get<T>(0));
    RETURN_IF_ERROR(rows.status());
    return values;
  }

  // Runs several statements, separated by ';', without parameters.
  absl::Status Execute(std::string_view script);

  // The row number of the last INSERT.
  int64_t LastInsertRow() const;
  const std::filesystem::path& file() const;
  // For what has no wrapper here (backup).
  sqlite3* raw() const;
  // No transaction is open.
  bool InAutocommit() const;

 private:
  explicit Connection(std::unique_ptr<internal::Handle> handle);
  absl::StatusOr<internal::Prepared> Prepare(std::string_view sql, int parameters);
  int Changes() const;

  std::unique_ptr<internal::Handle> handle_;
};

// While it lives, the connection's queries end with Stopped() once a stop is requested: the one that runs, and a later one soon after it
// has begun. Of a connection one at a time.
class StopQueries {
 public:
  StopQueries(Connection& connection, std::stop_token stop);
  ~StopQueries();
  StopQueries(const StopQueries&) = delete;
  StopQueries& operator=(const StopQueries&) = delete;

 private:
  struct Interrupt {
    sqlite3* database;
    void operator()() const;
  };
  sqlite3* const database_;
  const std::stop_token stop_;
  std::optional<std::stop_callback<Interrupt>> interrupt_;
};

// A write transaction: all of it is written or nothing. Rolled back unless committed.
// Functions that write take one; functions that only read take a Connection&, which a Transaction turns into.
class Transaction {
 public:
  static absl::StatusOr<Transaction> Begin(Connection& connection);
  Transaction(Transaction&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  // Once OK, the transaction is on disk. On an error nothing of it is.
  absl::Status Commit();

  operator Connection&() { return *connection_; }  // NOLINT: meant to be implicit.
  Connection& connection() { return *connection_; }

  template <typename... Args>
  absl::StatusOr<int> Run(std::string_view sql, const Args&... args) {
    return connection_->Run(sql, args...);
  }
  template <typename... Args>
  absl::StatusOr<Rows> Query(std::string_view sql, const Args&... args) {
    return connection_->Query(sql, args...);
  }
  template <typename T, typename... Args>
  absl::StatusOr<std::optional<T>> First(std::string_view sql, const Args&... args) {
    return connection_->First<T>(sql, args...);
  }
  template <typename T, typename... Args>
  absl::StatusOr<T> One(std::string_view sql, const Args&... args) {
    return connection_->One<T>(sql, args...);
  }
  template <typename T, typename... Args>
  absl::StatusOr<std::vector<T>> All(std::string_view sql, const Args&... args) {
    return connection_->All<T>(sql, args...);
  }

 private:
  explicit Transaction(Connection& connection) : connection_(&connection) {}
  Connection* connection_;
};

// A part of a transaction that can be taken back alone. Rolled back unless released.
class Savepoint {
 public:
  static absl::StatusOr<Savepoint> Begin(Transaction& transaction);
  Savepoint(Savepoint&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  Savepoint& operator=(Savepoint&&) = delete;
  ~Savepoint();
  absl::Status Release();
  // Not OK (no memory): the part is still there, so the transaction must not be committed.
  absl::Status RollBack();

 private:
  explicit Savepoint(Connection& connection) : connection_(&connection) {}
  Connection* connection_;
};

}  // namespace longreach::sql
