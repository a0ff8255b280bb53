// Kills a process that writes a checkpoint over an older one, at each of its file calls in turn: before the call, after it,
// and for a write in its middle. Whoever reads the file afterwards finds the old checkpoint or the new one, whole; and where
// the writer said that it had written, the new one.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tests/support/temporary_folder.h"
#include "worker/trainer/checkpoint/safetensors.h"

namespace {

namespace fs = std::filesystem;
using longreach::trainer::SafetensorsFile;

enum class Moment { kBefore, kMiddle, kAfter };

// In the child only: the call that is its last, counted from 1, and when.
int fatal_call = 0;
Moment fatal_moment = Moment::kBefore;
int calls = 0;

bool Dies(Moment moment) { return calls == fatal_call && moment == fatal_moment; }
void DieIf(Moment moment) {
  if (Dies(moment)) kill(getpid(), SIGKILL);
}

// Makes a file call, unless it dies of it.
template <typename Call>
auto Led(Call call) {
  ++calls;
  DieIf(Moment::kBefore);
  const auto result = call();
  DieIf(Moment::kMiddle);
  DieIf(Moment::kAfter);
  return result;
}

constexpr int kDone = 10;  // The child's exit code when the writer returned OK.
constexpr int kRefused = 11;

// Step `step` of some members: as many values as a small model has, all of them made of the step.
absl::Status WriteStep(const fs::path& file, int step) {
  std::minstd_rand engine(static_cast<unsigned>(step));
  std::vector<float> values(20'000);
  for (float& value : values) value = static_cast<float>(engine()) * 1e-9f;
  const std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  const std::vector<longreach::trainer::SafetensorsPart> parts = {
      {.name = "parameters", .dtype = "F32", .shape = {10'000}, .bytes = bytes.substr(0, bytes.size() / 2)},
      {.name = "moments", .dtype = "F32", .shape = {2, 5'000}, .bytes = bytes.substr(bytes.size() / 2)}};
  return longreach::trainer::WriteSafetensors(file, {{"step", std::to_string(step)}}, parts);
}

// Step and values of what can be read; "" where not all of it can.
std::string Contents(const SafetensorsFile& file) {
  std::string contents = file.Metadata("step");
  const absl::Status read = file.Give(0, file.payload_bytes(), [&contents](std::string_view piece) {
    contents += piece;
    return absl::OkStatus();
  });
  return read.ok() ? contents : "";
}

// The bytes that WriteStep(step) makes, written where nothing is killed.
std::string Whole(const fs::path& folder, int step) {
  const fs::path file = folder / "whole.safetensors";
  if (!WriteStep(file, step).ok()) return "";
  const auto read = SafetensorsFile::Open(file);
  return read.ok() ? Contents(*read) : "";
}

// What is wrong after a child that wrote `step` over `step - 1` and ended with `status`; "" when nothing is.
std::string WrongWith(const fs::path& folder, int step, int status) {
  const auto read = SafetensorsFile::Open(folder / "checkpoint.safetensors");
  if (!read.ok()) return std::string(read.status().message());
  const std::string found = Contents(*read);
  const bool is_new = found == Whole(folder, step);
  if (WIFEXITED(status) && WEXITSTATUS(status) != kDone) return "the writer was refused without a reason";
  if (WIFEXITED(status) && !is_new) return "the writer said that it was done, and the old one is there";
  return is_new || found == Whole(folder, step - 1) ? "" : "neither the old checkpoint nor the new one";
}

}  // namespace

extern "C" {

int __real_open(const char* path, int flags, ...);
ssize_t __real_write(int fd, const void* data, size_t size);
int __real_fsync(int fd);
int __real_rename(const char* from, const char* to);

int __wrap_open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(more, int) : 0;
  va_end(more);
  return Led([&] { return __real_open(path, flags, mode); });
}

ssize_t __wrap_write(int fd, const void* data, size_t size) {
  return Led([&] { return __real_write(fd, data, Dies(Moment::kMiddle) ? size / 2 : size); });
}

int __wrap_fsync(int fd) {
  return Led([&] { return __real_fsync(fd); });
}

int __wrap_rename(const char* from, const char* to) {
  return Led([&] { return __real_rename(from, to); });
}

}  // extern "C"

int main(int argc, char** argv) {
  CLI::App app("Kills the trainer's writer of checkpoints at each of its file calls.");
  int kills = 100;
  app.add_option("--kills", kills, "How many")->capture_default_str()->check(CLI::Range(1, 10'000'000));
  CLI11_PARSE(app, argc, argv);

  const longreach::testing::TemporaryFolder folder{longreach::testing::InMemory()};
  const fs::path file = folder / "checkpoint.safetensors";
  int killed = 0, finished = 0, failures = 0, last_call = 0, step = 1;
  if (!WriteStep(file, 0).ok()) return 1;
  // The writer is given more calls to live for until it survives; then from the first again, at another moment.
  for (int call = 1, moment = 0; killed < kills; ++step) {
    const pid_t child = fork();
    if (child == 0) {
      fatal_call = call;
      fatal_moment = static_cast<Moment>(moment);
      calls = 0;
      _exit(WriteStep(file, step).ok() ? kDone : kRefused);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
      std::perror("cannot run the writer");
      return 1;
    }
    if (const std::string wrong = WrongWith(folder.path(), step, status); !wrong.empty()) {
      ++failures;
      std::printf("killed at call %d, moment %d: %s\n", call, moment, wrong.c_str());
    }
    if (WIFSIGNALED(status)) {
      ++killed;
      last_call = std::max(last_call, call++);
    } else {
      ++finished;
      call = 1;
      moment = (moment + 1) % 3;
    }
    // The next one writes over this step, whatever of it is there.
    if (!WriteStep(file, step).ok()) return 1;
  }
  std::printf("{\"kills\": %d, \"calls\": %d, \"finished\": %d, \"failures\": %d}\n", killed, last_call, finished, failures);
  return failures == 0 ? 0 : 1;
}
