// The door to the trainer: plain structs in, plain structs out. No torch header here, and nothing of gRPC,
// SQLite or protobuf behind it; worker/agent and the bench program call it, and it can be built and run
// alone.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "proto/base/status.h"

namespace longreach::trainer {

struct LlamaConfig;
struct PairShape;

// Everything that the members of a pack share. Fields and defaults as in proto/longreach/v1/spec.proto, whose
// comments say what they mean; the trainer checks them again, because it can be called without a scheduler.
struct PackSettings {
  std::string experiment = "algorithmic";
  std::string task;
  std::string encoding;
  bool randomized = false;
  // Name of the data set; empty for experiments that make their own.
  std::string data;

  struct Model {
    int layers = 5;
    int embedding_dim = 64;
    int heads = 8;
    int mlp_dim = 256;
    double dropout = 0.1;
    bool kerple_shared = false;
    bool break_symmetry = false;
    int sandwich_dim = 128;
    int learned_rows = 2048;
    bool causal = false;
    enum class Norm { kPost, kPre } norm = Norm::kPost;
    int t5_buckets = 32;
    int t5_max_distance = 128;
    int fire_width = 32;
    int fire_threshold = 16;
    bool fire_shared = false;
    int decoder_layers = 8;
    int classes = 1000;
    bool row_delimiter = true;
    bool count_delimiters = true;
    enum class PixelEmbedding { kLookup, kLinear } pixel_embedding = PixelEmbedding::kLookup;
    int kv_heads = 1;
    double rope_theta = 10'000;
    double attention_scale = 1;
    int attention_scale_from = 0;
    double attention_scale_growth = 0;
    // Name of the data set that holds a published model; sizes of 0, and a rope_theta of 0, are then those of its config.json.
    std::string folder = {};
    enum class LengthScaling { kNone, kLog, kLogBeyond } length_scaling = LengthScaling::kNone;
    int length_scaling_from = 0;  // 0: the longest tape of the training.
    // Known once the data sets have been looked at, which Train() does: of a folder, what its config.json says and which tokenizer it has; of tokens, how many
    // there are.
    std::shared_ptr<const LlamaConfig> config = nullptr;
    std::string tokenizer_sha256 = {};  // Of its tokenizer.model; empty: the folder has none.
    int vocabulary = 256;
    // The same of a data set of pairs of sequences (pair_shape.h).
    std::shared_ptr<const PairShape> pairs = nullptr;
  } model;

  struct Positions {
    int max_position = 2048;
    enum class RandomizedBy { kDistance, kPosition } randomized_by = RandomizedBy::kDistance;
    bool relative_as_released = false;
    int shift_max = 0;  // 0: L - T.
    enum class ShiftAtTest { kRandom, kFixed, kZero } shift_at_test = ShiftAtTest::kRandom;
    std::string rope_scaling = "none";
    double rope_factor = 1;
    int original_length = 0;
    enum class RopeScalingAt { kTests, kAlways } rope_scaling_at = RopeScalingAt::kTests;
    int data_rows = 0;   // 0: positions of the data are not read.
    int data_shift = 0;  // The furthest that these are moved up in training.
    int none_every = 0;  // Every such layer has no positional encoding; 0: all have it.
  } positions;

  struct Training {
    int steps = 2'000'000;
    int batch_size = 128;
    std::vector<int> lengths;  // Ascending, never empty unless steps is 0.
    double clip_norm = 1.0;
    uint32_t data_seed = 0;
    std::optional<int> warmup_steps = {};  // None: the experiment kind's own (learning_rate.h).
    double final_rate = 0.1;
    enum class Schedule { kConstant, kCosine, kLinear };
    std::optional<Schedule> schedule = {};  // None: the experiment kind's own.
    double weight_decay = 0.1;
    enum class Trainable { kAll, kHeadScales } trainable = Trainable::kAll;
    enum class ScaleBound { kNone, kRelu, kClamp } scale_bound = ScaleBound::kClamp;
    double scale_lower_bound = 1;
    std::vector<std::string> mixture = {};     // Names of data sets to train on, instead of `data`; none: `data`.
    std::vector<double> mixture_weights = {};  // Of each of them.
  } training;

  struct Evaluation {
    std::vector<int> lengths;  // Ascending.
    int examples = 500;
    bool dropout = false;
    uint32_t seed = 0;
    std::vector<int> attention_lengths = {};  // Ascending, all of them among lengths.
    int curve_every = 0;                      // 0: nothing is tested on the way.
    std::vector<int> curve_lengths = {};      // Ascending, all of them among lengths; none: all of these.
    std::vector<int> output_lengths = {};     // Ascending, all of them among lengths.
    int stride = 0;
    enum class PerplexityProtocol { kNope, kNopeInOrder, kYarn } perplexity_protocol = PerplexityProtocol::kNope;
    int position_bins = 0;
    std::vector<double> attention_scales = {};  // Ascending.
    std::vector<int> passkey_lengths = {};      // Ascending.
    int passkey_depths = 10;
    int passkey_tests = 10;
    std::string passkey_prompts = "nope";  // Or "landmark", which has no depths.
    std::string longbench = {};                     // Name of the data set; empty: none.
    std::vector<std::string> longbench_tasks = {};  // In the catalog's order; none: all of them.
    int longbench_window = 0;
    int longbench_beams = 5;
    int longbench_samples = 0;
  } evaluation;
};

// One member's part of a file with a member axis.
struct MemberFile {
  std::filesystem::path file;
  int member = 0;
  std::string job = {};  // Whose part it has to be, where that is known: of another job's weights. Of checkpoints it is the member's own.
};

// Where a pack's data sets lie on this machine.
struct DataSource {
  std::filesystem::path folder;   // The machine's data folder; empty: the usual one (worker/data/data_folder.h).
  std::string sha256;             // The identity that the job asks for; empty: any.
  std::string model_sha256 = {};  // The same of settings.model.folder.
  std::string longbench_sha256 = {};  // And of settings.evaluation.longbench.
  std::vector<std::string> mixture_sha256 = {};  // And of settings.training.mixture, in its order; empty: any of them.
  // Those with these stamps (worker/data/data_stamp.h) have been compared with their import: Train() does not read them for that. Of others it reads what was written after the import.
  std::vector<std::string> verified_stamps = {};
};

// One job of the pack.
struct Member {
  std::string job;  // Its id: written into checkpoints, and checked when one is read.
  double learning_rate = 0;
  uint32_t seed = 0;
  // To go on from, the newest first; one that cannot be read is skipped with a line in the log. All members
  // must find a checkpoint of the same step, else all start anew.
  std::vector<MemberFile> checkpoints;
  // Initial parameters from another job's "weights" artifact, instead of drawing them.
  std::optional<MemberFile> weights;
  // The scale of attention that another job measured, in place of model.attention_scale.
  std::optional<double> attention_scale;
};

struct PackRequest {
  PackSettings settings;
  std::vector<Member> members;        // 1 to catalog::kMaxJobsOfPack.
  std::filesystem::path folder;       // Exists; checkpoints and weights are written into it.
  DataSource data;                    // Of settings.data, model.folder, evaluation.longbench and training.mixture.
  int threads = 0;                    // 0: all cores.
  double memory_bytes = 0;            // What it may take, where that is estimated beforehand; 0: all that the machine has.
  bool cuda = false;                  // The plugin must have been loaded (LoadCudaPlugin) and a device found.
  double checkpoint_every_s = 60;     // Steady-clock seconds between checkpoints; 0: none but at a stop.
  std::string engine = {};            // By a name that CheckEngine() takes; "libtorch" takes its place where it does not know the settings.
};

struct LossPoint {
  int member = 0;  // Index into PackRequest::members.
  int step = 0;    // Updates done.
  double loss = 0; // Mean over the updates since the member's point before.
};

struct Progress {
  // Others know the last one as "uploading": the job's files are handed in then.
  enum class Phase { kStarting, kTraining, kEvaluating, kWriting, kCount } phase = Phase::kStarting;
  bool waits_for_room = false;  // Of kWriting: the disk has none for what is computed, which is tried again and again.
  int step = 0;  // Updates done.
  double steps_per_second = 0;  // 0: not known yet.
  // Evaluated lengths, cells of passkey retrieval, and samples of LongBench.
  int lengths_done = 0;
  int passkey_cells_done = 0;
  int longbench_samples_done = 0;
  // New points, at most 1000 per member over a whole run; a function of the job alone. When all is done, all
  // of them again.
  std::vector<LossPoint> points;
};

// What the trainer asks and tells while it runs. Called from the thread that called Train(), between steps,
// between evaluation batches and around checkpoints; must return quickly. While that thread computes a step of a large model, another one
// of the trainer's may call OnProgress() in its place: never two at a time.
class Observer {
 public:
  virtual ~Observer() = default;

  // Called at least once per step, evaluation batch or written file, and within those of a large model: also the sign of life. The first time in a phase other
  // than kStarting, before anything is computed in it: the step is then that of the checkpoint that is gone on from, or 0.
  virtual void OnProgress(const Progress& progress) = 0;
  // A checkpoint of all members lies, synced, in `file`. Older files of this run may be removed by the
  // callee.
  virtual void OnCheckpoint(const std::filesystem::path& file, int step) = 0;
  // There is no space for a file. True: some was made, and the file is worth another try.
  virtual bool MakeRoom() { return false; }
  // What a reader of the pack's log should know, without the line's end.
  virtual void OnLine(const std::string& line) { std::fputs((line + "\n").c_str(), stderr); }

  struct Wish {
    // Write a checkpoint and return.
    bool stop = false;
    // Return without one: nobody wants anything of this pack any more.
    bool abandon = false;
    // Members to leave out from now on (indices); they get no result. Once dropped, always dropped.
    std::vector<int> dropped;
    // To compute with from now on, where that is less than PackRequest::threads; 0: all of them. Results do not depend on it.
    int threads = 0;
  };
  virtual Wish Poll() = 0;
};

struct Measurement {
  std::string metric;
  int length = 0;  // 0: over all lengths.
  std::string slice;
  double value = 0;
};

struct MemberResult {
  bool dropped = false;
  bool diverged = false;
  int diverged_at = 0;  // Updates done when loss or gradient was not finite.
  std::vector<Measurement> measurements;  // Empty when diverged or dropped.
};

// What one member measured in more numbers than measurements hold: its attention (attention_series.h), or the
// entropies of its attention heads by position, and losses at scales that were tried (llama/position_series.h).
struct SeriesFile {
  std::filesystem::path file;
  int member = 0;  // Index into PackRequest::members.
};

struct PackResult {
  bool stopped = false;  // Because Poll() asked; `results` is empty then.
  int step = 0;
  std::vector<MemberResult> results;   // In the order of the members.
  std::filesystem::path
      weights;  // Final parameters of all members, safetensors with a member axis; empty when stopped.
  std::vector<SeriesFile> series;      // Of the members that have one.
  std::string engine;                  // That trained it: "libtorch", or "lanes-avx512" and its like.
};

// Trains a pack to its last step and evaluates it, from its checkpoints if it has any.
//
// The bits of a member's result depend on its own settings, learning rate and seed only: not on pack, threads
// or where it was resumed (on one CPU build and instruction set; on CUDA for the same pack and kind of
// device). INVALID_ARGUMENT: settings that make no sense, with field and value. RESOURCE_EXHAUSTED: out of
// memory. INTERNAL: anything that LibTorch threw. A diverged loss is a result, not an error.
absl::StatusOr<PackResult> Train(const PackRequest& request, Observer& observer);

// Checks settings without training: what Train() would refuse.
absl::Status Validate(const PackSettings& settings);

// What settings ask of their published model, the corpora that are tested and trained on and LongBench tasks beyond that these are there, as Train() refuses it:
// a model without positions for 'rope', another tokenizer's tokens, documents too short for a window, a task that the data set lacks. Lengths that are left out
// are not looked at. Reads what is said of data sets and models and where documents end, and none of their contents. OK where there is no model.folder. Errors of
// Train().
// kBytes: by what the identities of data sets stand for alone, so that every machine that has these finds the same. Which tokenizer made a corpus is no part of its;
// and INVALID_ARGUMENT is not what is damaged on this machine, or cannot be read by this build.
enum class Known { kAll, kBytes };
absl::Status CheckPublished(const PackSettings& settings, const DataSource& data, Known known = Known::kAll);

// Whether what the identities of data sets stand for is what settings of any kind ask of it, as Train() refuses it. INVALID_ARGUMENT: it is not, and every machine
// that has these finds the same: data sets of another kind, windows longer than a text, images that were not imported at a size, and what CheckPublished() finds by kBytes. Others: the data
// sets cannot be used here.
absl::Status CheckDataSets(const PackSettings& settings, const DataSource& data);

// A published model as Hugging Face keeps it.
struct ModelFolder {
  std::vector<std::string> files;  // Those that belong to it: configuration, weights and, where it is there, the tokenizer.
  std::string description;         // "22 layers of width 2048, 1100048384 parameters (BF16), 32000 tokens".
  bool nope = false;               // config.json says that it has no positions.
  std::vector<std::string> skipped = {};  // What of it is not read, each with the reason.
};

// Reads all of a folder but the numbers in its tensors. NOT_FOUND: no such folder, or a file is missing. INVALID_ARGUMENT: a
// configuration, tensors or a tokenizer that the LLaMA decoder cannot use; says which and why. DATA_LOSS: a file is cut off or damaged.
absl::StatusOr<ModelFolder> CheckModelFolder(const std::filesystem::path& folder);

// A job of the kind "llama" as a folder that Hugging Face's transformers loads.
struct ExportRequest {
  PackSettings settings;             // The job's.
  std::string job;                   // Its id: which member of the file it is.
  std::filesystem::path parameters;  // Its final weights, or a checkpoint.
  DataSource data;                   // Of settings.model.folder.
  std::filesystem::path target;      // Is not there yet.
  // Scales of attention heads become a part of the queries, where every reader computes with them. Else they are tensors of
  // their own, as the NoPE paper's authors store them, which transformers by itself leaves out.
  bool fold_scales = false;
};
struct ExportedModel {
  int step = 0;           // Updates that the parameters have behind them.
  int64_t scales = 0;     // Of heads, stored as tensors of their own.
  bool nope = false;
  std::vector<std::string> files;
};
// Writes beside and renames: `target` is there whole or not at all. INVALID_ARGUMENT: another kind of job, or a file that is not of this job.
// ALREADY_EXISTS: `target` is there. DATA_LOSS: the file's bytes are not those that were written. NOT_FOUND, FAILED_PRECONDITION: the
// model's folder cannot be used.
absl::StatusOr<ExportedModel> ExportModel(const ExportRequest& request);

// What this trainer can do: names with revisions are those of proto/catalog.
struct Capabilities {
  std::vector<std::string> experiments;
  std::string device;  // "AMD EPYC 9B14, AVX-512" or the GPU's name.
  int threads = 0;
  double memory_bytes = 0;
  std::string device_id;  // Which one of its kind: what the GPU calls itself, or which processors of which machine. Empty: it does not say.
};
// FAILED_PRECONDITION: a GPU is asked for and no plugin is loaded. INTERNAL: the GPU does not say what it is.
absl::StatusOr<Capabilities> DescribeMachine(bool cuda);

// What a machine has to compute with, for people who want to know before they train.
struct CpuDevice {
  std::string model;      // "AMD EPYC 9B14".
  std::string registers;  // "AVX-512": the widest that it has.
  int threads = 0;
  double memory_bytes = 0;
  std::string engine;                // That is taken when nobody asks for one, where it knows the settings: "lanes-avx512".
  std::vector<std::string> engines;  // All that compute in float32.
  std::string problem;               // Why LibTorch does not compute; empty: it does.
};
struct GpuDevice {
  std::string name;
  double memory_bytes = 0;
  std::optional<double> memory_free_bytes;  // None: it was not told.
  std::string engine;                       // As that of the CPU.
  std::string problem;                      // Why it does not compute; empty: it does.
};
struct Devices {
  std::string libtorch;  // "2.11.0".
  CpuDevice cpu;
  std::vector<GpuDevice> gpus;  // By their numbers: cuda:0, cuda:1, ...
  std::string no_gpu;           // Why there are none; empty: there are some.
  std::string cuda;             // Of LibTorch: "13.0". Empty where it was not loaded.
};
// Loads the plugin first (LoadCudaPlugin, whose rules hold), and has each device compute a number.
Devices LookAtDevices(const std::filesystem::path& cuda_plugin);

// ../lib/liblongreach_cuda.so beside this program: where a build, and a bundle of one, have it.
std::filesystem::path OwnCudaPlugin();

// Loads liblongreach_cuda.so. Must be the first thing in a process that may use a GPU, before any other call
// of this library: LibTorch caches "there is no CUDA" on the first question. NOT_FOUND: no such file or
// library of it; FAILED_PRECONDITION: loaded, but no GPU answers.
//
// `packs`: so many are trained at the same time by this process. With several, it has 32 queues on the device, where CUDA by itself has eight: work of
// others in the same queue is waited for. And threads that wait for the GPU sleep, where else each looks all the time and takes a core.
absl::Status LoadCudaPlugin(const std::filesystem::path& plugin, int packs = 1);

// Whether the GPU still computes: after some faults it does nothing more for this process.
bool GpuAnswers();

// OK: an engine of this machine has that name, or it is empty, for the one that is taken when nobody asks. Else
// INVALID_ARGUMENT with the names that there are, or with what it needs.
absl::Status CheckEngine(const std::string& name, bool cuda);

struct BenchRequest {
  PackSettings settings;  // Steps and evaluation are ignored. A data set is not read: random bytes stand in for it.
  int pack = 1;
  // Packs of as many members that are trained at the same time as that of `settings`, each by a thread of its own (on a CPU with its share of the
  // threads). Updates alone are measured then, as with `begin`.
  std::vector<PackSettings> beside = {};
  double seconds = 10;
  // Numbers of threads, each from 1 to kMostSimulatedThreads, that updates are simulated on. If there are any, the pack is trained
  // by one thread whatever `threads` says.
  std::vector<int> simulated_threads = {};
  int threads = 0;
  bool cuda = false;
  std::string engine = "";  // By a name that CheckEngine() takes.
  // If it is there, updates alone are measured, from its return on: no peaks, phases or tests. So several processes begin together, and what
  // one does besides is not what another one waits for.
  std::function<void()> begin = {};
};
inline constexpr int kMostSimulatedThreads = 1024;

// An estimate from the times of an update's work items on one thread: they are dealt to so many threads. Memory bandwidth, shared
// caches, the frequency of a busy processor and the waking of threads are left out.
struct SimulatedRate {
  int threads = 0;
  double job_steps_per_second = 0;
  double speedup = 0;  // Over one thread, simulated too.
};

// Of an update's time.
struct PhaseShare {
  std::string phase;
  double share = 0;
};

struct PackRate {
  std::string engine;
  double updates_per_second = 0;
};

struct BenchResult {
  double job_steps_per_second = 0;  // Of all packs together.
  double gflops = 0;             // Matmuls only, by MatmulFlops().
  double gemm_peak_gflops = 0;   // Largest float32 GEMM rate seen in the same run.
  double eval_sequences_per_second = 0;
  // The same as processor time of all threads, which other work on the machine disturbs less. On CUDA the host's.
  double cpu_ms_per_job_step = 0;
  double cpu_ms_per_eval_sequence = 0;
  // In the order of the request.
  std::vector<SimulatedRate> simulated;
  double serial_ms_per_update = 0;  // Of them: what no thread helps with. Processor time.
  std::string engine;  // That of the first pack.
  // Of each pack, that of `settings` first. A rate is taken while all are trained.
  std::vector<PackRate> packs;
  // Of engines that know: what their updates must move to and from memory, beside the largest rate of a copy seen in the same run; and
  // where their time goes.
  double gigabytes_per_second = 0;
  double copy_peak_gigabytes_per_second = 0;
  std::vector<PhaseShare> phases;
};
absl::StatusOr<BenchResult> Bench(const BenchRequest& request);

// How many jobs are worth training together here: packs of 1, 2, 4, ... usual jobs (even_pairs, Log KERPLE, the paper's model and
// batch, sequences of 20 and of 40) are trained for a moment each, until more are no faster, memory runs out, or none is left to try.
struct PackLimitRequest {
  int threads = 0;
  bool cuda = false;
  std::string engine = "";
};
struct PackTrial {
  int jobs = 0;
  double job_steps_per_second = 0;
};
struct PackLimit {
  int jobs = 1;
  std::vector<PackTrial> trials;  // In the order of their sizes.
};
// INVALID_ARGUMENT: an engine that the machine lacks. RESOURCE_EXHAUSTED: not even one job has room.
absl::StatusOr<PackLimit> MeasurePackLimit(const PackLimitRequest& request);

// FLOP of the matrix products of one update of one member at a requested length with tape T (backward counted as twice
// forward, 2 FLOP per multiply-add). Algorithmic: 3 B [T (2 d (V_in+1) + layers (8 d^2 + 4 d mlp) + 2 d V_out) +
// 4 layers d T^2]. Language: the same, half of the last term. LLaMA: three matrices in the MLP, and fewer keys than queries.
// Images: the encoder's, and its decoder's.
double MatmulFlops(const PackSettings& settings, int length);

}  // namespace longreach::trainer
