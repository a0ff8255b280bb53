// `longreach list fields` has all that a sweep file can say.
#include "client/spec/field_notes.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "client/spec/field_paths.h"
#include "longreach/v1/spec.pb.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

FieldNote NoteOf(const std::string& path) {
  for (FieldNote& note : FieldNotes()) {
    if (note.path == path) return std::move(note);
  }
  ADD_FAILURE() << "nothing of " << path;
  return {};
}

TEST(FieldNotesTest, HasEachFieldOnceWithItsMeaning) {
  std::vector<std::string> expected = SettablePaths(*v1::SweepSpec::descriptor());
  expected.insert(expected.end(), {"inputs", "systems"});
  std::vector<std::string> paths;
  for (const FieldNote& note : FieldNotes()) {
    paths.push_back(note.path);
    EXPECT_NE(note.text, "") << note.path;
    EXPECT_EQ(note.text.find('\n'), std::string::npos);
  }
  EXPECT_THAT(paths, UnorderedElementsAreArray(expected));
}

TEST(FieldNotesTest, SaysTypesDefaultsAndWhoseAFieldIs) {
  const FieldNote steps = NoteOf("training.steps");
  EXPECT_EQ(steps.type, "whole number");
  EXPECT_EQ(steps.standard, "2000000");
  EXPECT_EQ(steps.kind, "");
  EXPECT_THAT(steps.text, HasSubstr("Updates of the parameters."));
  EXPECT_EQ(NoteOf("training.lengths").type, "list of whole numbers");
  EXPECT_EQ(NoteOf("learning_rate").type, "list of numbers");
  EXPECT_EQ(NoteOf("model.kerple_shared").type, "yes or no");
  EXPECT_EQ(NoteOf("systems").type, "list of groups");
  EXPECT_EQ(NoteOf("model.learned_rows").kind, "");
  EXPECT_EQ(NoteOf("model.decoder_layers").kind, "images");
  EXPECT_EQ(NoteOf("model.pixel_embedding").kind, "images");
  EXPECT_EQ(NoteOf("model.kv_heads").kind, "llama");
  EXPECT_EQ(NoteOf("evaluation.longbench_beams").kind, "llama");
  EXPECT_EQ(NoteOf("training.schedule").kind, "algorithmic, llama or sequences");
  EXPECT_EQ(NoteOf("model.causal").kind, "algorithmic or sequences");
  EXPECT_EQ(NoteOf("model.norm").kind, "algorithmic or sequences");
  EXPECT_EQ(NoteOf("positions.relative_as_released").kind, "");
  EXPECT_EQ(NoteOf("training.schedule").standard, "\"constant\"; of the kind llama \"cosine\"");
  EXPECT_EQ(NoteOf("evaluation.attention_lengths").kind, "");
}

}  // namespace
}  // namespace longreach::client
