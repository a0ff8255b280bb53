// longreach-scheduler: keeps the store and hands its jobs to workers.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <new>
#include <optional>
#include <stop_token>
#include <string_view>
#include <thread>

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/build_info.h"
#include "proto/base/duration.h"
#include "proto/base/parse_errors.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/manual/help_text.h"
#include "proto/manual/man_page.h"
#include "scheduler/service/access/refusals.h"
#include "scheduler/service/listen.h"
#include "scheduler/service/memory.h"
#include "scheduler/service/ordered_clock.h"
#include "scheduler/service/run_program.h"
#include "scheduler/service/server.h"
#include "store/file_lock.h"
#include "store/store.h"

namespace longreach {
namespace {

// Calls `at_end` when standard input is closed. A thread of its own, since a file or /dev/null cannot be waited for by
// an event loop.
class StdinWatch {
 public:
  explicit StdinWatch(std::function<void()> at_end) : stop_(eventfd(0, EFD_CLOEXEC)), thread_([this, at_end] { Watch(at_end); }) {}
  ~StdinWatch() {
    const uint64_t one = 1;
    if (write(stop_, &one, sizeof one) != sizeof one) std::abort();
    thread_.join();
    close(stop_);
  }

 private:
  void Watch(const std::function<void()>& at_end) const {
    while (true) {
      pollfd files[2] = {{STDIN_FILENO, POLLIN, 0}, {stop_, POLLIN, 0}};
      if (poll(files, 2, -1) < 0 && errno != EINTR) return at_end();
      if (files[1].revents != 0) return;
      if (files[0].revents == 0) continue;
      char ignored[4096];
      if (read(STDIN_FILENO, ignored, sizeof ignored) <= 0) return at_end();
    }
  }

  const int stop_;
  std::thread thread_;
};

// The folder that a parent has made for the socket. It removes it itself, unless Ctrl-C was its end; then this program is the last to
// know of it.
class SocketFolder {
 public:
  explicit SocketFolder(std::string_view listen) {
    constexpr std::string_view kUnix = "unix:";
    if (listen.starts_with(kUnix)) folder_ = std::filesystem::path(listen.substr(kUnix.size())).parent_path();
  }
  SocketFolder(const SocketFolder&) = delete;
  SocketFolder& operator=(const SocketFolder&) = delete;
  // Fails, as it should, where anything else is in it.
  ~SocketFolder() {
    if (!folder_.empty()) rmdir(folder_.c_str());
  }

 private:
  std::filesystem::path folder_;
};

std::chrono::microseconds Seconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::duration<double>(seconds));
}

// Two descriptors for each connection: as many as the system lets this process have.
void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void FromEnvironment(const CLI::Option& option, const char* name, std::string& value) {
  const char* const text = std::getenv(name);
  if (option.count() == 0 && text != nullptr && *text != '\0') value = text;
}

int Fail(const std::string& text) {
  std::string line;
  for (const std::string& part : Split(text, '\n')) line += (line.empty() ? "" : "; ") + std::string(Trim(part));
  std::cerr << "error: " << line << std::endl;
  return 1;
}

// What was typed makes no sense.
int FailUsage(std::string_view text) {
  fmt::print(stderr, "error: {}\n  'longreach-scheduler --help' shows how it is used\n", text);
  return 2;
}

constexpr const char* kHeldSoonFree = "soon-free";
constexpr const char* kHeldMoment = "moment";

// What is asked for. Times become options (SetTimes) once they are known to fit each other.
struct CommandLine {
  service::ServerOptions options;
  std::string artifacts;
  std::string notify;
  std::string held;
  bool until_stdin_closes = false;
  bool copy_to_read = false;
  bool copy_always = false;
  double lease_term_s = 15;
  double renew_every_s = 5;
};

void AddOptions(CLI::App& app, CommandLine& line) {
  app.add_option("--store", line.options.store, "The store's file, made when it is absent; ':memory:' leaves nothing on disk")->required();
  app.add_option("--artifacts", line.artifacts, "Folder for checkpoints, weights and logs [default: the one that was named before, else FILE.artifacts]");
  app.add_option("--listen", line.options.listen, "HOST:PORT (port 0: any that is free) or unix:PATH")->capture_default_str();
  app.add_option("--certificate", line.options.tls.certificate, "Speak TLS with this certificate (PEM); needed where other machines reach --listen");
  app.add_option("--key", line.options.tls.key, "Its key (PEM)");
  app.add_option("--client-ca", line.options.tls.client_ca, "Authority of callers' certificates (PEM)");
  app.add_option("--tokens", line.options.tokens, "Callers may show bearer tokens, whose hashes are in this file");
  app.add_option("--max-artifact-bytes", line.options.artifact_limits.all_bytes, "Refuse uploads beyond this, for example 500G; 0: as much as the disk has")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--notify", line.notify,
                 "Start PROGRAM, without a shell, when a sweep is done or has its first failed job, nobody works though jobs wait, a worker is gone or put aside, or a certificate ends soon: "
                 "a line of JSON on its standard input says what")
      ->type_name("PROGRAM");
  app.add_option("--held", line.held,
                 "What commands that want the store are told while it is open here: 'soon-free', to wait, and to ask here after a while if they only look; 'moment', to wait, and not where this one "
                 "listens [to ask here]")
      ->type_name("HOW")
      ->check([](const std::string& word) { return word == kHeldSoonFree || word == kHeldMoment ? "" : fmt::format("'{}' is neither {} nor {}", word, kHeldSoonFree, kHeldMoment); });
  CLI::Option* const copy_to_read =
      app.add_flag("--copy-to-read", line.copy_to_read, "For a parent that only looks: of a store that may not be written a copy is opened, and gone at the end");
  app.add_flag("--copy-always", line.copy_always, "With --copy-to-read: also of a store that may be written, which is neither changed nor held")
      ->needs(copy_to_read);
  CLI::Option* const merges =
      app.add_option("--merges", line.options.merges, "For a parent that has this one merge the store FILE next: where that would be refused, no store is made for it, nor is one opened while another scheduler holds FILE")
          ->type_name("FILE");
  CLI::Option* const repairs = app.add_flag("--repairs", line.options.repairs, "For a parent that has this one mend its store");
  CLI::Option* const of_a_parent = app.add_flag("--until-stdin-closes", line.until_stdin_closes, "End when standard input ends, and not by Ctrl-C; the folder of a unix:PATH goes with the socket if nothing else is in it");
  copy_to_read->needs(of_a_parent);
  merges->needs(of_a_parent);
  repairs->needs(of_a_parent);
  app.add_option("--lease-term-s", line.lease_term_s, "A lease ends when its worker was silent for so long: seconds, or 90s, 5min, 1h")
      ->type_name("TIME")
      ->transform(CLI::Validator(SecondsOfDuration, ""))
      ->check(CLI::Range(0.1, 86400.0))
      ->check(RefuseNan)
      ->capture_default_str();
  app.add_option("--renew-every-s", line.renew_every_s, "How often workers are asked to call: seconds, or 90s, 5min, 1h")
      ->type_name("TIME")
      ->transform(CLI::Validator(SecondsOfDuration, ""))
      ->check(CLI::Range(0.05, 28800.0))
      ->check(RefuseNan)
      ->capture_default_str();
  app.set_version_flag("--version", BuildDescription());
  AddManFlag(app, {"longreach", "longreach-worker"});
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.set_config("--config", "", "A file of these options, one a line: listen = \"0.0.0.0:7070\"");
  app.footer("The environment names what the command line does not: LONGREACH_LISTEN, LONGREACH_SERVER_CERTIFICATE, LONGREACH_SERVER_KEY,\n"
             "LONGREACH_CLIENT_CA, LONGREACH_TOKENS and LONGREACH_NOTIFY. 'longreach certs' makes certificates and tokens.");
}

void TakeEnvironment(const CLI::App& app, CommandLine& line) {
  service::ServerOptions& options = line.options;
  FromEnvironment(*app.get_option("--listen"), "LONGREACH_LISTEN", options.listen);
  FromEnvironment(*app.get_option("--certificate"), "LONGREACH_SERVER_CERTIFICATE", options.tls.certificate);
  FromEnvironment(*app.get_option("--key"), "LONGREACH_SERVER_KEY", options.tls.key);
  FromEnvironment(*app.get_option("--client-ca"), "LONGREACH_CLIENT_CA", options.tls.client_ca);
  FromEnvironment(*app.get_option("--tokens"), "LONGREACH_TOKENS", options.tokens);
  FromEnvironment(*app.get_option("--notify"), "LONGREACH_NOTIFY", line.notify);
}

// The program that is told of news: one that cannot be started is told of now, and not when there are some.
absl::Status SetNotify(CommandLine& line) {
  if (line.notify.empty()) return absl::OkStatus();
  std::error_code error;
  line.options.notify = std::filesystem::absolute(line.notify, error);
  if (error) return absl::FailedPreconditionError(fmt::format("'{}': {}", service::ForLog(line.notify), error.message()));
  return service::CheckCallable(line.options.notify);
}

// The exit code, where that is all: of --help, or of a line that makes no sense.
std::optional<int> ReadCommandLine(int argc, char** argv, CommandLine& line) {
  CLI::App app("Keeps a store of sweeps and hands its jobs to workers.", "longreach-scheduler");
  AddOptions(app, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return ExitWithHelp(app, error);
    return FailUsage(WordsOfParser(error.what()));
  }
  // A scheduler that a parent keeps for itself asks nobody for credentials that its parent does not know of, and a program hears of it only where it is told to.
  if (!line.until_stdin_closes) TakeEnvironment(app, line);
  if (const absl::Status listens = service::ParseListenAddress(line.options.listen).status(); !listens.ok()) {
    return FailUsage({listens.message().data(), listens.message().size()});
  }
  if (const absl::Status callable = SetNotify(line); !callable.ok()) return FailUsage(fmt::format("--notify {}", std::string(callable.message())));
  line.options.artifacts = line.artifacts;
  if (line.held == kHeldSoonFree) line.options.held = service::StoreHeld::kSoonFree;
  if (line.held == kHeldMoment) line.options.held = service::StoreHeld::kMoment;
  if (line.copy_to_read) line.options.copy = line.copy_always ? store::CopyWhen::kAlways : store::CopyWhen::kReadOnly;
  // A parent reads it there, line by line.
  const auto say = [](const std::string& far) { std::cout << "progress: " << OnOneLine(far) << std::endl; };
  if (!line.options.merges.empty()) line.options.say_of_merges = say;
  if (line.copy_to_read) line.options.say_of_copy = say;
  line.options.log_events = !line.until_stdin_closes;  // A parent shows the last words of one that fails, and no others.
  line.options.engine.awaits_workers = !line.until_stdin_closes;  // Its socket is a new one, which no worker of before knows.
  return std::nullopt;
}

// The exit code, where they do not fit each other.
std::optional<int> SetTimes(CommandLine& line) {
  service::EngineOptions& engine = line.options.engine;
  engine.lease_term = Seconds(line.lease_term_s);
  engine.renew_every = Seconds(line.renew_every_s);
  // A worker that keeps to its time must be in time on a clock that runs half as fast again.
  if (line.renew_every_s * 1.5 > line.lease_term_s) {
    return FailUsage(fmt::format("--renew-every-s {:g}: more than two thirds of --lease-term-s {:g}", line.renew_every_s, line.lease_term_s));
  }
  // A call that is held open must end before its worker's lease is in danger.
  engine.hold = std::min(engine.hold, engine.renew_every);
  return std::nullopt;
}

void SetUpProcess() {
  umask(S_IRWXG | S_IRWXO);  // Store, artifacts, sockets and backups are their owner's alone, whatever the caller's umask.
  RaiseFileLimit();
  std::set_new_handler(service::EndWithoutMemory);
  service::BoundWhatIsKept();
  std::signal(SIGPIPE, SIG_IGN);
}

int FailToStart(const absl::Status& status) {
  // For who started this one to look into a store that is in use, and can ask its scheduler instead.
  if (const auto held_at = status.GetPayload(store::kHeldAt); held_at.has_value()) {
    const bool soon_free = held_at->empty() || status.GetPayload(store::kSoonFree).has_value();
    std::cout << (status.GetPayload(store::kIsMerged).has_value() ? "the other is " : "") << (soon_free ? "held for a moment" : "held") << (held_at->empty() ? "" : " at ") << *held_at << std::endl;
  }
  return Fail(std::string(status.message().data(), status.message().size()));
}

// Until a signal comes, or standard input ends.
int Serve(service::ServerOptions options, bool until_stdin_closes) {
  boost::asio::io_context io;
  boost::asio::signal_set signals(io, SIGTERM);
  if (until_stdin_closes) {
    std::signal(SIGINT, SIG_IGN);
  } else {
    signals.add(SIGINT);
  }
  signals.async_wait([&io](const boost::system::error_code&, int) { io.stop(); });

  // From the beginning: no store is made for a parent that is gone.
  std::stop_source gone;
  options.stop = gone.get_token();
  std::optional<StdinWatch> watch;
  if (until_stdin_closes) {
    watch.emplace([&io, &gone] {
      gone.request_stop();
      boost::asio::post(io, [&io] { io.stop(); });
    });
  }
  const SystemClock machine;
  const service::OrderedClock clock(machine);
  absl::StatusOr<std::unique_ptr<service::Server>> server = service::Server::Start(options, clock);
  if (!server.ok()) return FailToStart(server.status());
  std::cout << "listening on " << (*server)->address() << std::endl;
  {
    const service::MemoryKeeper memory(io);
    io.run();
  }
  watch.reset();
  // Another signal ends it at once, as kill -9 would: nothing that was answered is lost.
  signals.clear();
  server->reset();
  return 0;
}

int Main(int argc, char** argv) {
  CommandLine line;
  if (const std::optional<int> ended = ReadCommandLine(argc, argv, line)) return *ended;
  std::optional<SocketFolder> folder;  // Outlives the server.
  if (line.until_stdin_closes) folder.emplace(line.options.listen);
  if (const std::optional<int> ended = SetTimes(line)) return *ended;
  SetUpProcess();
  return Serve(line.options, line.until_stdin_closes);
}

}  // namespace
}  // namespace longreach

int main(int argc, char** argv) { return longreach::Main(argc, argv); }
