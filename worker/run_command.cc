#include "worker/run_command.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <stop_token>

#include "proto/base/build_info.h"
#include "proto/base/duration.h"
#include "proto/base/parse_errors.h"
#include "proto/base/processors.h"
#include "proto/base/status.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/catalog/packs.h"
#include "worker/agent/abilities.h"
#include "worker/agent/log.h"
#include "worker/agent/trainer_program.h"
#include "worker/agent/transfers.h"
#include "worker/announced_data.h"
#include "worker/data/data_folder.h"
#include "worker/data/verified_data.h"
#include "worker/data_command.h"
#include "worker/device_option.h"
#include "worker/refused.h"
#include "worker/trainer/train.h"

namespace longreach {
namespace {

constexpr size_t kMaxName = 256;  // Of the scheduler's.
// A trainer whose steps are fast tells of itself five times a second (child.cc): with less, and on a busy machine, it would be killed in good health.
constexpr double kLeastHangAfterS = 1;

std::string CheckAddress(const std::string& address) { return std::string(agent::CheckAddress(address).message()); }

std::string CheckName(const std::string& name) {
  if (name.size() > kMaxName) return "a name has at most " + std::to_string(kMaxName) + " bytes";
  if (FirstNotUtf8(name)) return "a name is text in UTF-8";
  return OnOneLine(name) == name ? "" : "a name has one line, and no control characters";
}

// On a slow disk it is what the first job waits for. Its stamp.
absl::StatusOr<std::string> VerifyAndSay(data::VerifiedData& verified, const std::string& data_set, const std::stop_token& stop, std::atomic<int64_t>& read) {
  const auto start = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(data::Verified found, verified.Verify(data_set, stop, read));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (found.bytes_read > 0) agent::LogInfo(fmt::format("the data set '{}' is as it was imported: {} bytes read in {:.1f} s", data_set, found.bytes_read, took.count()));
  return std::move(found.stamp);
}

// What would train on a CPU. LibTorch is not loaded for it: of a look at options that is most of the time, and a trainer that starts right after loads it again.
absl::StatusOr<std::string> TrainerOnProcessor() {
  RETURN_IF_ERROR(agent::FindTrainerLibraries());
  return DescribeOwnProcessor();
}

}  // namespace

RunCommand::RunCommand(CLI::App& app) : command_(app.add_subcommand("run", "Work for a scheduler until told to leave (SIGTERM, Ctrl-C).")) {
  AddConnection();
  AddTraining();
  command_->add_flag("--until-stdin-closes", until_stdin_closes_, "Leave when standard input comes to its end; a line 'ready' on standard output says that it has its device");
  command_->add_option("--leave-when-idle", options_.leave_when_idle_s,
                       "Leave after so long without work while the scheduler answers, or up to 5 s later: seconds, or 90s, 5min, 1h; 0: as soon as it has none (default: stay)")
      ->type_name("TIME")->transform(CLI::Validator(SecondsOfDuration, ""))->check(CLI::Range(0.0, 1e9))->check(RefuseNan);
  command_->add_flag("--check", check_,
                     "Only see whether it could start with these options, and end: credentials, a GPU and the place of the state folder are looked at as at a start, on a CPU the libraries of longreach-trainer are looked for, no scheduler is called, and nothing is written");
}

void RunCommand::AddConnection() {
  options_.scheduler = "localhost:7070";
  options_.state = agent::DefaultStateFolder();
  options_.data_folder = data::DefaultDataFolder();
  command_->add_option("--scheduler", options_.scheduler, "Its address: host:port or unix:PATH")
      ->check(CheckAddress)->envname("LONGREACH_SCHEDULER")->capture_default_str();
  access::CredentialFiles& files = options_.credentials;
  command_->add_option("--ca", files.ca, "Authority of the scheduler's certificate: TLS is spoken")->envname("LONGREACH_CA");
  command_->add_option("--certificate", files.certificate, "The worker's own certificate")->envname("LONGREACH_CERTIFICATE");
  command_->add_option("--key", files.key, "Its key")->envname("LONGREACH_KEY");
  token_file_ = command_->add_option("--token-file", files.token_file, "A bearer token [or LONGREACH_TOKEN itself]")->envname("LONGREACH_TOKEN_FILE");
  command_->add_option("--state", options_.state, "Folder of this worker alone: who it is, and results not yet handed in")
      ->capture_default_str();
  AddDataFolder(*command_, options_.data_folder);
  command_->add_option("--name", options_.name, "What people see (default: the machine's name, and the number of the GPU where --device has one)")
      ->check(CheckName);
}

void RunCommand::AddTraining() {
  command_->add_option("--threads", options_.threads, "Threads to train with, of all packs together; 0: all cores")
      ->check(CLI::Range(0, 4096))->capture_default_str();
  command_->add_option("--packs", options_.packs,
                       "Packs to train at a time, each with its share of the threads (at least one) and of the memory: on a CPU in processes of their own, on a GPU in one, where they compute at the same time")
      ->check(CLI::Range(1, catalog::kMaxPacksAtATime))->capture_default_str();
  AddDevice(*command_, device_);
  command_->add_option("--engine", options_.engine,
                       "What computes the updates: libtorch; on a CPU lanes, or with rounded operands lanes-bf16 (faster where the processor multiplies bfloat16) and lanes-tf32 (to see what rounding does); on a GPU libtorch-tf32 (its products in TF32), or own kernels: spread (14 multiprocessors to a job, bfloat16 operands), resident (one to a job), and spread-fp16 and resident-fp16 (float16 operands, three bits more); empty: the fastest in float32 on a CPU, spread-fp16 on a GPU, and libtorch for what these do not know");
  command_->add_option("--pack-limit", pack_limit_,
                       "The most jobs to train together; 'measured': the least number that is nearly as fast as any, by some seconds of training at the start (default: 16, on a GPU measured)")
      ->check(catalog::CheckPackLimit)->type_name("N");
  command_->add_option("--checkpoint-every-s", options_.checkpoint_every_s, "Time between checkpoints: seconds, or 90s, 5min, 1h; 0: only when stopping")
      ->type_name("TIME")->transform(CLI::Validator(SecondsOfDuration, ""))->check(CLI::Range(0.0, 1e9))->check(RefuseNan)->capture_default_str();
  command_->add_option("--hang-after-s", options_.hang_floor_s,
                       "A trainer that gives no sign of life for so long (seconds, or 90s, 5min, 1h), or for 20 of its usual steps if that is longer, is killed; ten times as long before its first step or file of a kind")
      ->type_name("TIME")->transform(CLI::Validator(SecondsOfDuration, ""))->check(CLI::Range(kLeastHangAfterS, 1e9))->check(RefuseNan)->capture_default_str();
}

bool RunCommand::OnCpu() const { return !catalog::ParseDevice(device_).value_or(catalog::Device{}).cuda; }

int RunCommand::Run(const std::function<absl::StatusOr<std::string>(const agent::AgentOptions& options)>& open_gpu) const {
  agent::AgentOptions options = options_;
  // Not from the command line, which everybody on the machine can see.
  if (const char* token = std::getenv("LONGREACH_TOKEN"); token != nullptr && token_file_->count() == 0) options.credentials.token = token;
  umask(S_IRWXG | S_IRWXO);  // The state folder is its owner's alone, whatever the caller's umask.
  if (const absl::Status folder = data::CheckDataFolder(options.data_folder); !folder.ok()) return Refused(folder, false);
  const absl::StatusOr<catalog::Device> device = TakeDevice(device_);
  if (!device.ok()) return Refused(device.status(), false);
  options.cuda = device->cuda;
  options.one_process = device->cuda;  // What a GPU does at the same time is of one process.
  // Workers of one machine's GPUs are told apart.
  if (options.name.empty() && device->gpu.has_value()) options.name = agent::HostName() + "-gpu-" + std::to_string(*device->gpu);
  std::string pack_limit = pack_limit_;
  if (pack_limit.empty() && options.cuda) pack_limit = catalog::kMeasured;
  if (!pack_limit.empty()) options.pack_limit = pack_limit == catalog::kMeasured ? 0 : static_cast<int>(*ParseInteger(pack_limit));
  if (const absl::Status known = trainer::CheckEngine(options.engine, options.cuda); !known.ok()) return Refused(known, false);
  options.cuda_plugin = trainer::OwnCudaPlugin();
  if (check_ && options.cuda) return agent::CheckWorker(options, [&] { return open_gpu(options); });
  const absl::StatusOr<std::filesystem::path> trainer_program = agent::OpenTrainerProgram();
  if (!trainer_program.ok()) return Refused(trainer_program.status(), false);
  if (check_) return agent::CheckWorker(options, TrainerOnProcessor);
  const auto verified = std::make_shared<data::VerifiedData>(options.data_folder);
  options.add_data_sets = AnnouncedData(options.data_folder, verified);
  options.verify_data = [verified](const std::string& data_set, const std::stop_token& stop, std::atomic<int64_t>& read) {
    return VerifyAndSay(*verified, data_set, stop, read);
  };
  options.doubt_data = [verified](const std::string& data_set) { verified->Doubt(data_set); };
  options.binary = *trainer_program;
  options.build = BuildDescription();
  return agent::RunWorker(options, until_stdin_closes_);
}

}  // namespace longreach
