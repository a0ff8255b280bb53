// `longreach plot` beside a scheduler that answers as the test says.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "client/errors.h"
#include "tests/client/support.h"

namespace longreach::client {

class PlotTest : public ::testing::Test {
 protected:
  PlotTest() {
    scheduler_.sweep.mutable_spec()->mutable_axes()->add_task("even_pairs");
    scheduler_.table.clear_columns();
    scheduler_.table.add_columns()->set_key("40");
  }
  Outcome Run(const std::string& file, std::vector<std::string> more = {}, const std::map<std::string, std::string>& variables = {}) {
    more.insert(more.begin(), {"plot", "last", "--file", (folder_.path() / file).string(), "--scheduler", scheduler_.address()});
    return RunCommandLine(more, variables);
  }
  std::string Written(const std::string& file) const {
    std::ifstream in(folder_.path() / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  FakeScheduler scheduler_;
  TempFolder folder_;
};

// As the scheduler has one, in words of this test's own.
inline void AddTypedNote(v1::Table& table, v1::TableNote::Kind kind, const std::string& axis, const std::string& text) {
  table.add_notes(text);
  v1::TableNote& note = *table.add_typed_notes();
  note.set_kind(kind);
  note.set_axis(axis);
  note.set_text(text);
}

}  // namespace longreach::client
