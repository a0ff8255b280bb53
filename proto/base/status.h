// Early return on errors. The only part of Abseil that Longreach uses is Status: its codes are gRPC's codes.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define LONGREACH_CONCAT_INNER(a, b) a##b
#define LONGREACH_CONCAT(a, b) LONGREACH_CONCAT_INNER(a, b)

// Returns from the calling function when `expression`, an absl::Status, is not OK.
#define RETURN_IF_ERROR(expression)                              \
  do {                                                           \
    if (::absl::Status status_ = (expression); !status_.ok()) {  \
      return status_;                                            \
    }                                                            \
  } while (false)

// ASSIGN_OR_RETURN(int rows, Count()): declares or assigns the value of a StatusOr, or returns its status.
#define ASSIGN_OR_RETURN(lhs, expression) \
  LONGREACH_ASSIGN_OR_RETURN(LONGREACH_CONCAT(status_or_, __LINE__), lhs, expression)

#define LONGREACH_ASSIGN_OR_RETURN(status_or, lhs, expression) \
  auto status_or = (expression);                               \
  if (!status_or.ok()) {                                       \
    return std::move(status_or).status();                      \
  }                                                            \
  lhs = std::move(status_or).value()
