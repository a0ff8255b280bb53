// What all processes know by name, as data: tasks, encodings, metrics, presets and published tables. Compiled in.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longreach::catalog {

// Level in the Chomsky hierarchy; `kNone` for tasks outside of it.
enum class Level { kNone, kRegular, kDeterministicContextFree, kContextSensitive };

// How many output tokens belong to a number of input tokens.
enum class OutputLength { kSingle, kInput, kInputPlusOne, kTwiceInput, kHalfRoundedUp, kFive };

struct Task {
  std::string_view name;
  std::string_view label;
  Level level;
  int input_vocabulary;   // Without the token of empty output positions, whose id it is in an encoder.
  int output_vocabulary;
  OutputLength output_length;
  bool permutation_invariant;
  int revision;

  // Accuracy, in percent, of guessing: one output token as likely as another, at each place that counts. That is exact, however often each token is
  // the answer. Whoever knows how often may guess better. The paper's captions have 50 for solve_equation (20 here) and for the tasks of three
  // output tokens (a third).
  double ChancePercent() const { return 100.0 / output_vocabulary; }
  // Tokens that a model reads, without the one whose id it is: of empty output positions in an encoder; in a decoder (model.causal), which reads the
  // outputs that are behind it, too, of the begin of the outputs. Output y is then the token input_vocabulary + y.
  int TokensRead(bool causal) const { return input_vocabulary + (causal ? output_vocabulary : 0); }
  // Input tokens that a requested length gives: modular_arithmetic makes the length odd, all others keep it.
  int64_t InputTokens(int64_t requested_length) const;
  // Output tokens for a number of input tokens (not: requested length).
  int64_t OutputTokens(int64_t input_tokens) const;
  // Input and output tokens for a requested length.
  int64_t Tape(int64_t requested_length) const;
};

// A task whose data is imported.
struct DataTask {
  std::string_view name;
  std::string_view label;
  std::string_view experiment;  // The only kind that computes it.
  int input_vocabulary;
  int output_vocabulary;
  int revision;
};

// Positions that an encoding admits; a set of bits.
enum Positions : unsigned { kConsecutive = 1, kRandomized = 2, kShifted = 4 };

// What the scheduler and the trainer have to know of an encoding before they make one; a set of bits.
enum EncodingTraits : unsigned {
  kNoTraits = 0,
  kOfDistance = 1,  // Distances are all it looks at, so randomized ones may be drawn one by one (positions.randomized_by).
  kTrained = 2,     // It has parameters, which fit into no other encoding.
  kEvenWidth = 4,   // Half of the model's width holds sines and half cosines.
  kEvenHeads = 8,   // It turns pairs within a head.
};

struct Encoding {
  std::string_view name;
  std::string_view label;
  unsigned positions;
  unsigned traits;
  int revision;

  bool Has(EncodingTraits trait) const { return (traits & trait) != 0; }
};

enum class Better { kHigher, kLower, kNeither };

struct Metric {
  std::string_view name;
  std::string_view label;
  std::string_view unit;
  double factor;
  Better better;
  int revision;
};

// A coordinate of a measurement's slice, "layer" of "layer=3,head=0": an axis of tables and figures.
struct SliceAxis {
  std::string_view name;
  std::string_view label;
};

// A file of proto/catalog/presets or proto/catalog/published.
struct File {
  std::string_view name;  // Without folder and suffix.
  std::string_view text;
};

// One cell of a published table: the last column of its file, and what the other columns say it belongs to.
struct PublishedValue {
  // By the axis of a measured table, or "data", the data set of its jobs; an encoding is NAME or NAME:randomized. Keys of its own
  // ("best_of_ruoss_2023") belong to no job.
  std::map<std::string, std::string, std::less<>> keys;
  double value = 0;  // In the unit of the file's last column.
  // As the file has it: "14.5"; ">1000", of which no more is known; "3.3?", which is uncertain.
  std::string text;
};

// Ascending by name.
std::span<const Task> Tasks();
std::span<const DataTask> DataTasks();
std::span<const Encoding> Encodings();
std::span<const Metric> Metrics();
std::span<const SliceAxis> SliceAxes();
std::span<const File> Presets();
std::span<const File> PublishedTables();

// nullptr when there is none.
const Task* FindTask(std::string_view name);
const DataTask* FindDataTask(std::string_view name);
const Encoding* FindEncoding(std::string_view name);
const Metric* FindMetric(std::string_view name);
// The aggregate of jobs where nobody names one: "max" or "min", which is the best, or "mean" where neither is. nullptr is taken for an accuracy.
std::string_view UsualAggregate(const Metric* metric);
// The metric that a job's score is, over all lengths. Empty: no such experiment kind is known.
std::string_view MainMetric(std::string_view experiment);
const SliceAxis* FindSliceAxis(std::string_view name);
const File* FindPreset(std::string_view name);
const File* FindPublishedTable(std::string_view name);

// "R", "DCF", "CS", as in the paper's first column; "" for kNone.
std::string_view Abbreviation(Level level);

// The key of a slice's axis for what is measured over all of it: a slice that does not name the axis.
inline constexpr std::string_view kWholeSlice = "all";
// "layer=3,head=0" by axes. Text without '=' names itself.
std::map<std::string, std::string, std::less<>> SliceKeys(std::string_view slice);

// All values of a published table; empty when there is none of this name.
std::vector<PublishedValue> PublishedValues(std::string_view table);

// The tasks of Table B.1, which are those of the reference implementation, too. Ascending by name.
std::vector<const Task*> TasksOfTableB1();

// Revision of the models (worker/trainer/model): raised when its numbers may change.
inline constexpr int kModelRevision = 1;

}  // namespace longreach::catalog
