#include "worker/trainer/checkpoint/checkpoint.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "proto/base/sha256.h"
#include "proto/base/text.h"
#include "worker/trainer/checkpoint/member_checkpoint.h"
#include "worker/trainer/checkpoint/settings_hash.h"
#include "worker/trainer/pair_shape.h"

namespace longreach::trainer {

namespace {

constexpr std::string_view kFormat = "longreach-trainer/1";
constexpr const char* kSymbols = "symbols_sha256";
constexpr std::string_view kHeadScales = "attn.scales";

// All that members may change of a published model's weights is the scales of its heads.
bool ScalesAlone(const PackSettings& settings, const PackState& state) {
  const bool frozen = settings.training.steps == 0 || settings.training.trainable == PackSettings::Training::Trainable::kHeadScales;
  return !settings.model.folder.empty() && frozen && !state.others_weights;
}

// A job's parameters, but for those that are a published model's as it is.
bool HasScalesAlone(const SafetensorsFile& file, const ParameterLayout& layout) {
  return std::ranges::none_of(layout.parameters(), [&](const Parameter& parameter) {
    return parameter.name != kHeadScales && file.Find("param/" + parameter.name) != nullptr;
  });
}

// Members' values of a parameter that are copied at a time, where those of one are not more by themselves.
constexpr int64_t kBytesAtATime = 16 << 20;

// Of [E, N] on any device, from which they come some members at a time: all of them, of all parameters, are as much as the state is. One
// member's on the host are not copied at all.
TensorBytes BytesOf(const Tensor& values) {
  const int64_t members = values.size(0), of_member = values.size(1) * static_cast<int64_t>(sizeof(float));
  const int64_t at_a_time = std::max<int64_t>(1, kBytesAtATime / std::max<int64_t>(1, of_member));
  return {static_cast<uint64_t>(members * of_member), [=](const TakeBytes& take) -> absl::Status {
            for (int64_t m = 0; m < members; m += at_a_time) {
              const Tensor some = values.narrow(0, m, std::min(at_a_time, members - m)).to(at::kCPU).contiguous();
              RETURN_IF_ERROR(take({reinterpret_cast<const char*>(some.const_data_ptr<float>()), some.nbytes()}));
            }
            return absl::OkStatus();
          }};
}

// The parts of a file that is being made.
class Parts {
 public:
  // Of a flat buffer that holds the last floats of each member, parameter by parameter. It stays as it is until the file is written.
  void AddBuffer(const std::string& prefix, const ParameterLayout& layout, const Tensor& flat, bool scales_alone) {
    const int64_t first = layout.stride() - flat.size(1);
    for (const Parameter& parameter : layout.parameters()) {
      if (parameter.offset < first || (scales_alone && parameter.name != kHeadScales)) continue;
      std::vector<int64_t> shape = parameter.shape;
      shape.insert(shape.begin(), flat.size(0));
      parts_.push_back({.name = prefix + parameter.name, .dtype = "F32", .shape = std::move(shape),
                        .bytes = BytesOf(flat.narrow(1, parameter.offset - first, parameter.size))});
    }
  }

  template <typename T>
  void AddValues(std::string name, std::string dtype, std::vector<int64_t> shape, const std::vector<T>& values) {
    const std::string& bytes = storage_.emplace_back(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    parts_.push_back({.name = std::move(name), .dtype = std::move(dtype), .shape = std::move(shape), .bytes = std::string_view(bytes)});
  }

  const std::vector<SafetensorsPart>& all() const { return parts_; }

 private:
  std::vector<SafetensorsPart> parts_;
  std::deque<std::string> storage_;  // Stays where it is as more is added.
};

absl::Status Write(const std::filesystem::path& file, const std::string& kind, const PackSettings& settings,
                   const std::vector<Member>& members, const PackState& state, const Parts& parts) {
  // The hash is in the header, before what it is of. So all is gone through twice, from a GPU too: that takes no memory, and whoever writes the
  // format need not know of hashes.
  Sha256 hash;
  const auto add = [&](std::string_view piece) {
    hash.Update(piece);
    return absl::OkStatus();
  };
  for (const SafetensorsPart& part : parts.all()) RETURN_IF_ERROR(part.GiveTo(add));
  std::vector<std::string> jobs;
  for (const Member& member : members) jobs.push_back(member.job);
  std::map<std::string, std::string> header = {{"format", std::string(kFormat)},
                                               {"kind", kind},
                                               {"step", std::to_string(state.step)},
                                               {"jobs", Join(jobs, "\n")},
                                               {"settings", SettingsHash(settings)},
                                               {"loss_updates", std::to_string(state.loss_updates)},
                                               {"payload_sha256", hash.Finish()}};
  if (settings.model.pairs != nullptr) header[kSymbols] = settings.model.pairs->symbols_sha256;
  return WriteSafetensors(file, header, parts.all());
}

// One member's part of [E, ..] tensors and the row of a flat buffer that it belongs to, which holds the last floats of a member. With
// `published` the file may have head scales alone.
struct MemberTensors {
  const SafetensorsFile* file = nullptr;
  std::string prefix;
  int member = 0;
  Tensor row;
};

// Calls `use` with where in the payload each tensor's values begin and with their place, once they were found to be there as they must be.
using UseTensor = std::function<absl::Status(uint64_t begin, std::span<float> to)>;
absl::Status ForEachTensor(const MemberTensors& from, const ParameterLayout& layout, bool published, const UseTensor& use) {
  const int64_t first = layout.stride() - from.row.size(0);
  for (const Parameter& parameter : layout.parameters()) {
    if (parameter.offset < first) continue;
    const std::string name = from.prefix + parameter.name;
    const SafetensorsEntry* entry = from.file->Find(name);
    if (entry == nullptr && published && parameter.name != kHeadScales) continue;
    if (entry == nullptr) return absl::InvalidArgumentError(Text("has no tensor '", name, "'"));
    if (entry->dtype != "F32" || entry->shape.size() != parameter.shape.size() + 1 ||
        !std::equal(parameter.shape.begin(), parameter.shape.end(), entry->shape.begin() + 1)) {
      return absl::InvalidArgumentError(
          Text("tensor '", name, "' has another type or shape than this model"));
    }
    if (from.member < 0 || from.member >= entry->shape[0]) {
      return absl::InvalidArgumentError(
          Text("tensor '", name, "' has ", entry->shape[0], " members, not the member ", from.member));
    }
    const size_t size = static_cast<size_t>(parameter.size);
    RETURN_IF_ERROR(use(entry->begin + static_cast<uint64_t>(from.member) * size * sizeof(float),
                        {from.row.data_ptr<float>() + parameter.offset - first, size}));
  }
  return absl::OkStatus();
}

// Nothing of it where something does not fit; what cannot be read (DATA_LOSS, NOT_FOUND) may leave a part of it behind.
absl::Status Copy(const std::vector<MemberTensors>& all, const ParameterLayout& layout, bool published) {
  for (const MemberTensors& one : all) {
    RETURN_IF_ERROR(ForEachTensor(one, layout, published, [](uint64_t, std::span<float>) { return absl::OkStatus(); }));
  }
  for (const MemberTensors& one : all) {
    RETURN_IF_ERROR(ForEachTensor(one, layout, published, [&one](uint64_t begin, std::span<float> to) {
      return one.file->Read(begin, {reinterpret_cast<char*>(to.data()), to.size_bytes()});
    }));
  }
  return absl::OkStatus();
}

// A file that was found whole, or why not. Nobody writes into it meanwhile: the agent fetches a file before the trainer hears of it, and what is
// written here is another file until it is whole.
class FileCache {
 public:
  absl::StatusOr<const SafetensorsFile*> Get(const std::filesystem::path& path) {
    auto found = files_.find(path);
    if (found == files_.end()) found = files_.emplace(path, ReadWhole(path)).first;
    RETURN_IF_ERROR(found->second.status());
    return &*found->second;
  }

 private:
  absl::StatusOr<SafetensorsFile> ReadWhole(const std::filesystem::path& path) const {
    ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(path));
    const std::string expected = file.Metadata("payload_sha256");
    if (file.Metadata("format") != kFormat) {
      return absl::InvalidArgumentError(
          Text(path.string(), ": its format is '", file.Metadata("format"), "', not '", kFormat, "'"));
    }
    Sha256 hash;
    RETURN_IF_ERROR(file.Give(0, file.payload_bytes(), [&hash](std::string_view piece) {
      hash.Update(piece);
      return absl::OkStatus();
    }));
    if (hash.Finish() != expected) {
      return absl::DataLossError(
          Text(path.string(), ": its bytes are not those that were written (SHA-256 differs)"));
    }
    return file;
  }

  std::map<std::filesystem::path, absl::StatusOr<SafetensorsFile>> files_;
};

absl::StatusOr<MemberCheckpoint> ReadMember(FileCache& cache, const MemberFile& source, const std::string& job,
                                            const std::string& settings) {
  ASSIGN_OR_RETURN(const SafetensorsFile* file, cache.Get(source.file));
  absl::StatusOr<MemberCheckpoint> found = ReadMemberCheckpoint(*file, source.member, job, settings);
  if (!found.ok()) {
    return absl::Status(found.status().code(), Text(source.file.string(), ": ", found.status().message()));
  }
  return found;
}

}  // namespace

PackState InitialState(const ParameterLayout& layout, const std::vector<Member>& members, bool draw, int64_t first_trained) {
  const int64_t count = static_cast<int64_t>(members.size());
  PackState state;
  state.parameters = at::zeros({count, layout.stride()}, at::kFloat);
  state.moment1 = at::zeros({count, layout.stride() - first_trained}, at::kFloat);
  state.moment2 = at::zeros_like(state.moment1);
  state.members.resize(members.size());
  // A seed's values are drawn once: in a sweep members with other learning rates have them too.
  std::map<uint32_t, const float*> drawn;
  for (size_t m = 0; m < members.size(); ++m) {
    if (members[m].weights || !draw) continue;
    float* row = state.parameters.data_ptr<float>() + static_cast<int64_t>(m) * layout.stride();
    const auto [known, first] = drawn.emplace(members[m].seed, row);
    if (first) {
      Initialise(layout, members[m].seed, {row, static_cast<size_t>(layout.stride())});
    } else {
      std::copy_n(known->second, layout.stride(), row);
    }
  }
  return state;
}

namespace {

// Of each member `count`, with zeros for the tests that one took no part in. Where a problem does not score exact matches there is no tensor of them.
void AddScores(const PackState& state, std::string_view prefix, TestScores MemberState::*scores, int count, Parts& parts) {
  const auto add = [&](std::string_view name, std::vector<double> TestScores::*values) {
    std::vector<double> all;
    for (const MemberState& member : state.members) {
      std::vector<double> of_member = member.*scores.*values;
      of_member.resize(static_cast<size_t>(count));
      all.insert(all.end(), of_member.begin(), of_member.end());
    }
    parts.AddValues(Text(prefix, name), "F64", {state.size(), count}, all);
  };
  add("accuracy", &TestScores::accuracy);
  add("loss", &TestScores::loss);
  const bool scored = std::ranges::any_of(state.members, [&](const MemberState& member) { return !(member.*scores).exact_match.empty(); });
  if (scored) add("exact_match", &TestScores::exact_match);
}

}  // namespace

absl::Status WriteCheckpoint(const std::filesystem::path& file, const PackSettings& settings,
                             const ParameterLayout& layout, const std::vector<Member>& members,
                             const PackState& state) {
  Parts parts;
  const bool scales_alone = ScalesAlone(settings, state);
  parts.AddBuffer("param/", layout, state.parameters, scales_alone);
  parts.AddBuffer("adam_m/", layout, state.moment1, scales_alone);
  parts.AddBuffer("adam_v/", layout, state.moment2, scales_alone);
  std::vector<int32_t> flags;
  std::vector<double> loss_sum, curve, passkey, longbench;
  const size_t cells = static_cast<size_t>(state.cells_done), samples = static_cast<size_t>(state.samples_done);
  size_t curve_row = 0;
  for (const MemberState& member : state.members) curve_row = std::max(curve_row, member.curve.size());
  for (const MemberState& member : state.members) {
    flags.insert(flags.end(), {member.live, member.dropped, member.diverged, member.diverged_at,
                               static_cast<int32_t>(member.curve.size())});
    loss_sum.push_back(member.loss_sum);
    curve.insert(curve.end(), member.curve.begin(), member.curve.end());
    curve.resize(curve.size() + curve_row - member.curve.size());
    for (size_t i = 0; i < cells; ++i) passkey.push_back(i < member.passkey.size() ? member.passkey[i] : 0);
    for (size_t i = 0; i < samples; ++i) longbench.push_back(i < member.longbench.size() ? member.longbench[i] : 0);
  }
  parts.AddValues("member/flags", "I32", {state.size(), kCheckpointFlags}, flags);
  parts.AddValues("member/loss_sum", "F64", {state.size()}, loss_sum);
  parts.AddValues("member/curve", "F64", {state.size(), static_cast<int64_t>(curve_row)}, curve);
  AddScores(state, "test/", &MemberState::at_end, state.lengths_done, parts);
  // Files of jobs without such tests stay as they were before there could be any.
  if (state.curve_tests > 0) AddScores(state, "on_the_way/", &MemberState::on_the_way, state.curve_tests, parts);
  if (cells > 0) parts.AddValues("test/passkey", "F64", {state.size(), state.cells_done}, passkey);
  if (samples > 0) parts.AddValues("test/longbench", "F64", {state.size(), state.samples_done}, longbench);
  return Write(file, "checkpoint", settings, members, state, parts);
}

absl::Status WriteWeights(const std::filesystem::path& file, const PackSettings& settings,
                          const ParameterLayout& layout, const std::vector<Member>& members,
                          const PackState& state) {
  Parts parts;
  parts.AddBuffer("param/", layout, state.parameters, ScalesAlone(settings, state));
  return Write(file, "weights", settings, members, state, parts);
}

namespace {

// A checkpoint that a member can be at `point` with: tests change no parameter, so a later one of the same update will do, the one with the
// fewest tests first. Null: there is none.
const MemberCheckpoint* FindAt(const std::vector<MemberCheckpoint>& of_member, const CheckpointPoint& point) {
  const MemberCheckpoint* least = nullptr;
  for (const MemberCheckpoint& found : of_member) {
    if (found.point.step != point.step || found.point < point) continue;
    if (least == nullptr || found.point < least->point) least = &found;
  }
  return least;
}

// Without what it has been tested on since.
MemberState StateAt(const MemberCheckpoint& checkpoint, const CheckpointPoint& point) {
  MemberState state = checkpoint.state;
  const auto keep = [](std::vector<double>& values, int count) { values.resize(std::min(values.size(), static_cast<size_t>(count))); };
  for (const auto& [scores, count] : {std::pair<TestScores*, int>{&state.on_the_way, point.curve_tests}, {&state.at_end, point.lengths_done}}) {
    keep(scores->accuracy, count);
    keep(scores->loss, count);
    keep(scores->exact_match, count);
  }
  keep(state.passkey, point.cells_done);
  keep(state.longbench, point.samples_done);
  return state;
}

using Log = std::function<void(const std::string&)>;

// All that can be used, member by member.
std::vector<std::vector<MemberCheckpoint>> ReadCandidates(FileCache& cache, const std::vector<Member>& members, const std::string& settings, const Log& log) {
  std::vector<std::vector<MemberCheckpoint>> candidates(members.size());
  for (size_t m = 0; m < members.size(); ++m) {
    for (const MemberFile& source : members[m].checkpoints) {
      absl::StatusOr<MemberCheckpoint> found = ReadMember(cache, source, members[m].job, settings);
      if (found.ok()) {
        candidates[m].push_back(*std::move(found));
      } else {
        log(Text("checkpoint skipped: ", found.status().message()));
      }
    }
  }
  return candidates;
}

// The points that some member has, the latest first.
std::set<CheckpointPoint, std::greater<>> PointsOf(const std::vector<std::vector<MemberCheckpoint>>& candidates) {
  std::set<CheckpointPoint, std::greater<>> points;
  for (const std::vector<MemberCheckpoint>& of_member : candidates) {
    for (const MemberCheckpoint& found : of_member) points.insert(found.point);
  }
  return points;
}

// One of each member; none: not all of them have one.
std::vector<const MemberCheckpoint*> ChooseAt(const std::vector<std::vector<MemberCheckpoint>>& candidates, const CheckpointPoint& point) {
  std::vector<const MemberCheckpoint*> chosen;
  for (const std::vector<MemberCheckpoint>& of_member : candidates) {
    const MemberCheckpoint* const found = FindAt(of_member, point);
    if (found == nullptr) return {};
    chosen.push_back(found);
  }
  return chosen;
}

// As Copy(). With `published`, what a file lacks of a published model is there already.
absl::Status CopyTensors(const std::vector<const MemberCheckpoint*>& chosen, const ParameterLayout& layout, bool published, PackState& state) {
  std::vector<MemberTensors> tensors;
  for (size_t m = 0; m < chosen.size(); ++m) {
    for (const auto& [prefix, buffer] : {std::pair<std::string, const Tensor*>{"param/", &state.parameters},
                                         {"adam_m/", &state.moment1},
                                         {"adam_v/", &state.moment2}}) {
      tensors.push_back({.file = chosen[m]->file, .prefix = prefix, .member = chosen[m]->member, .row = (*buffer)[static_cast<int64_t>(m)]});
    }
  }
  return Copy(tensors, layout, published);
}

// All of the state but the tensors.
void PutAt(const std::vector<const MemberCheckpoint*>& chosen, const CheckpointPoint& point, PackState& state) {
  for (size_t m = 0; m < chosen.size(); ++m) state.members[m] = StateAt(*chosen[m], point);
  state.step = point.step;
  state.curve_tests = point.curve_tests;
  state.lengths_done = point.lengths_done;
  state.cells_done = point.cells_done;
  state.samples_done = point.samples_done;
  state.loss_updates = chosen[0]->loss_updates;
}

}  // namespace

absl::Status RestoreCheckpoints(const PackSettings& settings, const ParameterLayout& layout,
                                const std::vector<Member>& members, PackState& state,
                                const std::function<absl::Status()>& begin_anew,
                                const std::function<void(const std::string&)>& log) {
  FileCache cache;
  const std::vector<std::vector<MemberCheckpoint>> candidates = ReadCandidates(cache, members, SettingsHash(settings), log);
  for (const CheckpointPoint& point : PointsOf(candidates)) {
    const std::vector<const MemberCheckpoint*> chosen = ChooseAt(candidates, point);
    if (chosen.empty()) continue;
    const absl::Status status = CopyTensors(chosen, layout, /*published=*/!settings.model.folder.empty(), state);
    if (status.ok()) {
      PutAt(chosen, point, state);
      return absl::OkStatus();
    }
    log(Text("checkpoint of step ", point.step, " skipped: ", status.message()));
    // A part of it may have been read.
    if (status.code() != absl::StatusCode::kInvalidArgument) RETURN_IF_ERROR(begin_anew());
  }
  if (std::ranges::any_of(members, [](const Member& member) { return !member.checkpoints.empty(); })) {
    log("no checkpoint can be used: the pack starts anew");
  }
  return absl::OkStatus();
}

namespace {

// All members of a file fit the model: those of the wrong one would make a result that looks like any other.
absl::Status CheckWhose(const SafetensorsFile& file, const MemberFile& source) {
  const std::vector<std::string> jobs = Split(file.Metadata("jobs"), '\n');
  const size_t member = static_cast<size_t>(source.member);
  if (source.job.empty() || (source.member >= 0 && member < jobs.size() && jobs[member] == source.job)) return absl::OkStatus();
  return absl::InvalidArgumentError(Text("weights ", source.file.string(), ": its member ", source.member, " is not job ", source.job));
}

// What a file has besides is of a model that computes more: without it another one would be tested or tuned, in silence.
absl::Status CheckHasNothingElse(const SafetensorsFile& file, const ParameterLayout& layout) {
  constexpr std::string_view kPrefix = "param/";
  for (const auto& [name, entry] : file.entries()) {
    if (!name.starts_with(kPrefix) || layout.Find(std::string_view(name).substr(kPrefix.size())) != nullptr) continue;
    return absl::InvalidArgumentError(Text("has a tensor '", name, "', which this model has not"));
  }
  return absl::OkStatus();
}

// With others a token would mean something else. Files of before say nothing of it.
absl::Status CheckSymbols(const SafetensorsFile& file, const PairShape* pairs) {
  const std::string theirs = file.Metadata(kSymbols);
  if (pairs == nullptr || theirs.empty()) return absl::OkStatus();
  if (theirs != pairs->symbols_sha256) {
    return absl::InvalidArgumentError("were trained on a data set with other symbols than this job's\n"
                                      "  they go on with a data set of the same input and output symbols alone");
  }
  // An end is a class, and no symbol.
  const auto head = file.entries().find("param/out.b");
  if (head == file.entries().end() || head->second.shape.empty() || head->second.shape.back() == pairs->Classes()) return absl::OkStatus();
  return absl::InvalidArgumentError(Text("were trained on outputs ", pairs->ends ? "without ends, and this job's data set has ends" : "with ends, and this job's data set has none",
                                         "\n  they go on with a data set ", pairs->ends ? "where all outputs of inputs of one length are of one length" : "whose outputs have ends, too"));
}

}  // namespace

absl::Status LoadWeights(const ParameterLayout& layout, const std::vector<Member>& members,
                         PackState& state, bool published, const PairShape* pairs) {
  FileCache cache;
  for (size_t m = 0; m < members.size(); ++m) {
    if (!members[m].weights) continue;
    const MemberFile& source = *members[m].weights;
    ASSIGN_OR_RETURN(const SafetensorsFile* file, cache.Get(source.file));
    RETURN_IF_ERROR(CheckWhose(*file, source));
    const Tensor row = state.parameters[static_cast<int64_t>(m)];
    absl::Status copied = CheckSymbols(*file, pairs);
    if (copied.ok()) copied = CheckHasNothingElse(*file, layout);
    if (copied.ok()) copied = Copy({{.file = file, .prefix = "param/", .member = source.member, .row = row}}, layout, published);
    if (!copied.ok()) return {copied.code(), Text("weights ", source.file.string(), ": ", copied.message())};
    if (!HasScalesAlone(*file, layout)) state.others_weights = true;
  }
  return absl::OkStatus();
}

}  // namespace longreach::trainer
