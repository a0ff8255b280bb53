// Writes a job's parameters as a folder that transformers loads (ExportModel() in train.h).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "proto/base/text.h"
#include "worker/data/data_folder.h"
#include "worker/data/files.h"
#include "worker/trainer/caught.h"
#include "worker/trainer/checkpoint/checkpoint.h"
#include "worker/trainer/llama/folder.h"
#include "worker/trainer/llama/published.h"
#include "worker/trainer/model/llama_network.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

namespace {

constexpr int64_t kMaxTokenizer = 64 << 20;
constexpr const char* kTokenizerFile = "tokenizer.model";

// A folder that is being written, and what it will be called. Without Finish() nothing of it stays.
class NewFolder {
 public:
  static absl::StatusOr<NewFolder> Begin(const std::filesystem::path& target) {
    std::error_code error;
    if (std::filesystem::exists(std::filesystem::symlink_status(target, error))) {
      return absl::AlreadyExistsError(Text("'", target.string(), "' is there already; name a folder that is not"));
    }
    NewFolder folder(target);
    if (!std::filesystem::create_directory(folder.path(), error)) {
      return data::SystemError("make", folder.path(), error ? error.value() : EEXIST);
    }
    folder.made_ = true;
    return folder;
  }
  NewFolder(NewFolder&& other) noexcept : target_(std::move(other.target_)), path_(std::move(other.path_)), made_(std::exchange(other.made_, false)) {}
  NewFolder& operator=(NewFolder&&) = delete;
  ~NewFolder() {
    std::error_code ignored;
    if (made_) std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

  absl::Status Finish() {
    RETURN_IF_ERROR(data::SyncFolder(path_));
    if (renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) != 0) {
      return data::SystemError("rename to", target_, errno);
    }
    made_ = false;
    return data::SyncFolder(target_.parent_path());
  }

 private:
  explicit NewFolder(const std::filesystem::path& target) : target_(std::filesystem::absolute(target).lexically_normal()) {
    if (!target_.has_filename()) target_ = target_.parent_path();  // "DIR/"
    path_ = target_;
    path_ += Text(".part-", getpid());
  }

  std::filesystem::path target_;
  std::filesystem::path path_;
  bool made_ = false;
};

struct StoredMember {
  int index = 0;
  int step = 0;
};

// Which member of the file a job is.
absl::StatusOr<StoredMember> FindMember(const ExportRequest& request) {
  ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(request.parameters));
  const std::string kind = file.Metadata("kind");
  if (kind != "weights" && kind != "checkpoint") {
    return absl::InvalidArgumentError(Text(request.parameters.string(), ": it holds no weights of a job and no checkpoint"));
  }
  const std::vector<std::string> jobs = Split(file.Metadata("jobs"), '\n');
  const auto found = std::ranges::find(jobs, request.job);
  if (found == jobs.end()) {
    return absl::InvalidArgumentError(Text(request.parameters.string(), ": it is not of job ", request.job, "; its first one is ", jobs.front()));
  }
  return StoredMember{.index = static_cast<int>(found - jobs.begin()), .step = static_cast<int>(ParseInteger(file.Metadata("step")).value_or(0))};
}

// Factors f [L, H] of the logits as factors of the queries.
void FoldScales(const LlamaConfig& config, const Tensor& factors, const ParameterLayout& layout, const ParameterSet& parameters) {
  for (size_t i = 0; i < layout.parameters().size(); ++i) {
    const std::string& name = layout.parameters()[i].name;
    if (!name.ends_with(".attn.q.w")) continue;
    const std::optional<int64_t> layer = ParseInteger(name.substr(5, name.find('.') - 5));  // "layer7.attn.q.w".
    parameters[i].view({-1, config.heads, config.head_dim}).mul_(factors[*layer].view({1, -1, 1}));
  }
}

// The longest text that the model was trained on, which its folder may know less of than the job. Of YaRN and a dynamic base it is the length
// that they begin with, which training at a longer one does not move.
int64_t LongestTrained(const LlamaConfig& config, const PackSettings::Training& training) {
  const RopeScaling::Kind kind = config.rope_scaling.kind;
  const bool begins_there = !config.nope && (kind == RopeScaling::Kind::kDynamic || kind == RopeScaling::Kind::kYarn);
  if (begins_there || training.steps == 0 || training.lengths.empty()) return config.max_positions;
  return std::max<int64_t>(config.max_positions, training.lengths.back());
}

absl::StatusOr<ExportedModel> Export(const ExportRequest& request) {
  if (request.settings.experiment != "llama") {
    return absl::InvalidArgumentError(Text("job ", request.job, " is of the kind '", request.settings.experiment,
                                           "', which has no form in transformers; only jobs of the kind 'llama' have"));
  }
  RETURN_IF_ERROR(Validate(request.settings));
  if (request.settings.model.attention_scale_from > 0) {
    return absl::InvalidArgumentError(Text("job ", request.job, " has model.attention_scale_from ", request.settings.model.attention_scale_from,
                                           ": config.json has no name for a scale that depends on the position; export the job whose weights it tests"));
  }
  PackRequest pack{.settings = request.settings, .members = {}, .folder = {}, .data = request.data};
  RETURN_IF_ERROR(ReadPublished(pack));
  ASSIGN_OR_RETURN(const StoredMember member, FindMember(request));
  ASSIGN_OR_RETURN(NewFolder folder, NewFolder::Begin(request.target));
  pack.members.push_back({.job = request.job, .checkpoints = {}, .weights = MemberFile{request.parameters, member.index}, .attention_scale = {}});

  const LlamaNetwork network(pack.settings);
  const ParameterLayout& layout = network.layout();
  const bool published = !pack.settings.model.folder.empty();
  PackState state = InitialState(layout, pack.members, /*draw=*/false, /*first_trained=*/layout.stride());
  RETURN_IF_ERROR(LoadPublished(pack, layout, state));
  RETURN_IF_ERROR(LoadWeights(layout, pack.members, state, published));

  const torch::NoGradGuard no_gradient;
  LlamaModel model{.config = LlamaConfigOf(pack.settings), .parameters = state.parameters[0].narrow(0, 0, network.decoder().layout().stride()), .head_factors = {}};
  model.config.max_positions = LongestTrained(model.config, pack.settings.training);
  const ParameterSet parameters = ViewParameters(layout, state.parameters[0]);
  const Tensor factors = network.HeadFactors(parameters);
  const bool scaled = !(factors == 1).all().item<bool>();
  if (scaled && request.fold_scales) FoldScales(model.config, factors, layout, parameters);
  if (scaled && !request.fold_scales) model.head_factors = factors;

  RETURN_IF_ERROR(WriteLlama(folder.path(), model));
  ExportedModel exported{.step = member.step, .scales = model.head_factors.defined() ? factors.numel() : 0, .nope = model.config.nope,
                         .files = {"config.json", "model.safetensors"}};
  const std::filesystem::path tokenizer = DataSetPlace(pack, pack.settings.model.folder) / kTokenizerFile;
  std::error_code error;
  if (published && std::filesystem::exists(tokenizer, error)) {
    ASSIGN_OR_RETURN(const std::string bytes, data::ReadFile(tokenizer, kMaxTokenizer));
    RETURN_IF_ERROR(data::WriteFile(folder.path() / kTokenizerFile, bytes));
    exported.files.emplace_back(kTokenizerFile);
  }
  RETURN_IF_ERROR(folder.Finish());
  return exported;
}

}  // namespace

absl::StatusOr<ExportedModel> ExportModel(const ExportRequest& request) {
  return Caught<ExportedModel>([&] { return Export(request); });
}

}  // namespace longreach::trainer
