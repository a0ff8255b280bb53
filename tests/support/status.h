// ASSERT_OK(status or StatusOr), ASSERT_OK_AND_ASSIGN(lhs, StatusOr): stop the test with the status's text.
#pragma once

#include <gtest/gtest.h>

#include "proto/base/status.h"

namespace longreach::testing {
inline absl::Status StatusOf(const absl::Status& status) { return status; }
template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}
template <typename T>
::testing::AssertionResult IsOk(const char* expression, const T& value) {
  const absl::Status status = StatusOf(value);
  if (status.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << expression << " is " << status;
}
}  // namespace longreach::testing

#define ASSERT_OK(expression) ASSERT_PRED_FORMAT1(::longreach::testing::IsOk, expression)
#define EXPECT_OK(expression) EXPECT_PRED_FORMAT1(::longreach::testing::IsOk, expression)

#define ASSERT_OK_AND_ASSIGN(lhs, expression) \
  LONGREACH_ASSERT_OK_AND_ASSIGN(LONGREACH_CONCAT(assert_ok_or_, __LINE__), lhs, expression)

#define LONGREACH_ASSERT_OK_AND_ASSIGN(result, lhs, expression) \
  auto result = (expression);                                   \
  ASSERT_TRUE(result.ok()) << result.status();                  \
  lhs = std::move(result).value()
