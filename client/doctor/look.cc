#include "client/doctor/look.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <system_error>
#include <utility>

#include "client/connection.h"
#include "client/doctor/json_members.h"
#include "client/embedded.h"
#include "client/errors.h"
#include "client/output/text.h"
#include "client/process.h"
#include "client/program_answer.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

// LibTorch's libraries are large, and may come over a network; CUDA takes seconds for each GPU to begin, and more where no driver is kept loaded.
constexpr std::chrono::seconds kProgramPatience{120};
constexpr std::chrono::seconds kCallPatience{10};

// The program's standard output. INTERNAL: it cannot be started, does not end, or ended otherwise than with one of these exit codes.
absl::StatusOr<std::string> AnswerOfProgram(const std::string& path, const std::string& program, const std::vector<std::string>& arguments, bool any_exit_code,
                                            const InterruptScope& interrupt) {
  absl::StatusOr<Process> process = Process::Start(path, arguments);
  if (!process.ok()) return absl::InternalError(process.status().message());
  ProgramAnswer answer = AnswerOf(*process, kProgramPatience, interrupt);
  if (answer.end == ProgramAnswer::End::kInterrupted) return absl::InternalError("it was interrupted");
  if (answer.end == ProgramAnswer::End::kGaveUp) return absl::InternalError(fmt::format("it did not end within {} s", kProgramPatience.count()));
  if (answer.exit_code != 0 && !(any_exit_code && !answer.out.empty())) return absl::InternalError(LastWords(*process, program));
  return std::move(answer.out);
}

// UNAVAILABLE: it cannot be asked, as the check of that program says too.
absl::Status CanBeAsked(const ProgramSeen& seen) {
  const std::string program = std::filesystem::path(seen.path).filename();
  if (!seen.there) return absl::UnavailableError(fmt::format("there is no {} to ask", program));
  if (!seen.problem.empty()) return absl::UnavailableError(fmt::format("{} does not start", program));
  return absl::OkStatus();
}

Check CheckCertificateFile(std::string_view check, const std::string& file, const std::string& what) {
  if (file.empty()) return NotAsked(check, "none is named");
  return JudgeCertificate({.check = std::string(check), .what = fmt::format("{} {}", what, file), .text = access::ReadSmallFile(file)},
                          std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
}

}  // namespace

ProgramSeen LookAtProgram(const std::filesystem::path& binaries, const std::string& program, const InterruptScope& interrupt) {
  ProgramSeen seen{.path = (binaries / program).string()};
  std::error_code ignored;
  seen.there = std::filesystem::exists(seen.path, ignored);
  if (!seen.there) return seen;
  const absl::StatusOr<std::string> answer = AnswerOfProgram(seen.path, program, {"--version"}, /*any_exit_code=*/false, interrupt);
  if (answer.ok()) seen.build = Printable(Trim(answer->substr(0, answer->find('\n'))));
  else seen.problem = Printable(std::string(answer.status().message()));
  return seen;
}

absl::StatusOr<std::string> AskWorker(const ProgramSeen& worker, const std::vector<std::string>& arguments, const InterruptScope& interrupt) {
  RETURN_IF_ERROR(CanBeAsked(worker));
  // It tells of a device that does not compute by its exit code too.
  absl::StatusOr<std::string> answer = AnswerOfProgram(worker.path, "longreach-worker", arguments, /*any_exit_code=*/true, interrupt);
  if (answer.ok()) return answer;
  // Asked for JSON, it refuses in JSON.
  const std::string words(answer.status().message()), message = TextOf(Member(ParsedObject(words), "error"), "message");
  return absl::InternalError(Printable(message.empty() ? words : message));
}

absl::StatusOr<std::string> AskForDevices(const ProgramSeen& worker, const ProgramSeen& trainer, const InterruptScope& interrupt) {
  RETURN_IF_ERROR(CanBeAsked(worker));
  RETURN_IF_ERROR(CanBeAsked(trainer));
  return AskWorker(worker, {"devices", "-o", "json"}, interrupt);
}

SchedulerSeen LookAtScheduler(const Settings& settings) {
  SchedulerSeen seen{.address = settings.scheduler, .named = settings.scheduler_named, .answered = {}};
  absl::StatusOr<std::unique_ptr<Connection>> connection = Connection::Open(settings.scheduler, settings.credentials);
  if (!connection.ok()) {
    seen.answered = connection.status();
    return seen;
  }
  seen.asked_at = std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  const auto began = std::chrono::steady_clock::now();
  const absl::StatusOr<v1::GetInfoResponse> info = (*connection)->Call(&Connection::Stub::GetInfo, v1::GetInfoRequest(), kCallPatience);
  seen.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (info.ok()) seen.info = *info;
  else seen.answered = info.status();
  return seen;
}

std::vector<Check> CheckCredentialFiles(const access::CredentialFiles& files) {
  return {CheckCertificateFile("authority", files.ca, "the authority"), CheckCertificateFile("certificate", files.certificate, "certificate"),
          JudgeCredentials(files, access::ReadCredentials(files).status())};
}

}  // namespace longreach::client
