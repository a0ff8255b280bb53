#include "client/commands/follow_log.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "client/absence.h"
#include "client/commands/outcome.h"
#include "client/commands/suggestions.h"
#include "client/interrupt.h"
#include "client/log_stream.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/types/wire_limits.h"

namespace longreach::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Between two looks whether a job runs by now.
constexpr milliseconds kBetweenJobLooks{2000};

// Also of a quiet command: that a job failed is no talk.
void TellOfFailure(Session& session, const std::string& line) { *session.environment().err << line << std::endl; }

// True: a signal came first.
bool Interrupted(const InterruptScope& interrupt, milliseconds time) {
  const auto end = steady_clock::now() + time;
  while (interrupt.count() == 0) {
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{.fd = interrupt.fd(), .events = POLLIN, .revents = 0};
    poll(&waiting, 1, static_cast<int>(left));
  }
  return true;
}

// It is as long as what is kept of one, less a character that was cut in two. Bytes that are no UTF-8 take more room here than they did.
bool MayLackItsBeginning(const v1::GetLogResponse& left) {
  constexpr size_t kRestOfCharacter = 3;
  return left.text().size() + kRestOfCharacter >= kLogBytes;
}

bool HasEnded(const v1::Job& job) { return job.state() == "succeeded" || job.state() == "failed" || job.state() == "cancelled"; }

// What goes to standard output, and what is said beside it.
class Printed {
 public:
  explicit Printed(Session& session) : session_(session) {}

  // 0: nothing was printed yet.
  uint32_t attempt() const { return attempt_; }

  // The next stream begins, at the beginning of the log.
  void BeginStream() { at_ = 0; }

  // A part of the stream. False: it is of another attempt, and not printed.
  bool Add(const v1::LogPart& part) {
    if (attempt_ == 0) session_.Say(fmt::format("this is {} attempt {}{}", part.ended() ? "the log of" : "what", part.attempt(), part.ended() ? "" : " prints"));
    else if (part.attempt() != attempt_) return false;
    attempt_ = part.attempt();
    const double begin = at_ + part.skipped_bytes(), skipped = std::max(0.0, begin - shown_);
    const bool at_the_beginning = shown_ == 0;
    at_ = begin + static_cast<double>(part.text().size());
    std::string_view text = part.text();
    // A stream that is opened again begins with what was printed before.
    if (begin < shown_) {
      text.remove_prefix(std::min(text.size(), static_cast<size_t>(shown_ - begin)));
      while (!text.empty() && IsWithinCharacter(text.front())) text.remove_prefix(1);
    }
    shown_ = std::max(shown_, at_);
    const bool is_known = text.empty() && !part.text().empty();
    if (session_.json()) {
      if (is_known && !part.ended()) return true;
      v1::LogPart news = part;
      news.set_text(std::string(text));
      news.set_skipped_bytes(skipped);
      session_.out() << JsonDocument(news) << std::flush;
      return true;
    }
    if (skipped > 0) session_.Say(LeftOut(skipped, at_the_beginning));
    if (text.empty()) return true;
    line_is_open_ = !text.ends_with('\n');
    PrintLogText(session_, std::string(text));
    session_.out() << std::flush;
    return true;
  }

  // The log that an attempt has left, of which nothing was printed before.
  void AddLeft(const v1::GetLogResponse& left) {
    if (session_.json()) {
      attempt_ = left.attempt();
      session_.Say(fmt::format("this is the log of attempt {}", attempt_));
      session_.out() << LeftLogAsJson(left) << std::flush;
      return;
    }
    v1::LogPart part;
    part.set_attempt(left.attempt());
    part.set_text(left.text());
    part.set_ended(true);
    Add(part);
    End();
    SayIfMoreWasPrinted(session_, left);
  }

  void End() {
    if (std::exchange(line_is_open_, false)) session_.out() << "\n" << std::flush;
  }

 private:
  Session& session_;
  uint32_t attempt_ = 0;
  // In the log, in bytes; bytes of no character, which are sent as U+FFFD, count as three. Where the stream is,
  double at_ = 0;
  double shown_ = 0;  // and where what was printed ends.
  bool line_is_open_ = false;
};

class Following {
 public:
  Following(Session& session, Connection& connection, std::string job) : session_(session), connection_(connection), printed_(session), absence_(session.Patience()) { request_.set_job(std::move(job)); }

  absl::StatusOr<int> Run() {
    while (true) {
      if (ReaderIsGone(session_.environment().out_fd)) return kReaderGone;
      absl::StatusOr<v1::ExplainJobResponse> now = connection_.Call(&Connection::Stub::ExplainJob, request_);
      if (interrupt_.count() > 0) return interrupt_.exit_code();
      if (!now.ok()) {
        const std::optional<milliseconds> pause = PauseAfter(now.status().code());
        if (!pause) return now.status();
        if (Interrupted(interrupt_, *pause)) return interrupt_.exit_code();
        continue;
      }
      const v1::Job& job = now->job();
      if (job.state() != "leased") IsBack();  // Else the stream says whether it is.
      request_.set_job(job.id());
      std::optional<absl::StatusOr<int>> ended;
      if (printed_.attempt() != 0 && job.state() != "leased") ended = EndedUnseen(job);
      else if (job.state() == "leased" && session_.embedded() == nullptr) ended = ReadStream(job);
      else if (HasEnded(job)) ended = PrintLast(job);
      else ended = WaitFor(*now);
      if (ended) return *std::move(ended);
    }
  }

 private:
  // Waits a moment. Nothing: look again.
  std::optional<absl::StatusOr<int>> WaitFor(const v1::ExplainJobResponse& now) {
    const v1::Job& job = now.job();
    if (session_.embedded() != nullptr) {
      return Error(absl::StatusCode::kFailedPrecondition,
                   fmt::format("nothing works on {}, where the state of job {} is '{}'", Printable(session_.store()), ShortId(job.id()), job.state()), kWhatGoesOn);
    }
    if (std::exchange(waits_in_, job.state()) != job.state()) {
      std::vector<std::string> reasons;
      for (const std::string& reason : now.reasons()) reasons.push_back(WithFlags(Printable(reason), session_));
      session_.Say(fmt::format("job {} is {}, and its log is followed once it runs. {}", ShortId(job.id()), ShownState(job.state()), Join(reasons, " ")));
    }
    refused_before_ = false;
    if (Interrupted(interrupt_, kBetweenJobLooks)) return interrupt_.exit_code();
    return std::nullopt;
  }

  // Of a job that runs. Nothing: look again how it stands.
  std::optional<absl::StatusOr<int>> ReadStream(const v1::Job& job) {
    const int out_fd = session_.environment().out_fd;
    LogStream stream(connection_, job.id(), &interrupt_, {}, out_fd);
    printed_.BeginStream();
    v1::LogPart part;
    while (stream.Read(part)) {
      IsBack();
      refused_before_ = false;
      if (!printed_.Add(part)) return EndedUnseen(job);
      if (!session_.out()) return kReaderGone;  // The reader of a pipe went away.
      if (part.ended()) {
        printed_.End();
        return AskHowItStands();
      }
    }
    if (interrupt_.count() > 0) {
      printed_.End();
      return interrupt_.exit_code();
    }
    if (ReaderIsGone(out_fd)) return kReaderGone;
    grpc::Status status = stream.Finish();
    // One that ends in order before the attempt does: the scheduler shuts down.
    if (status.ok()) status = grpc::Status(grpc::StatusCode::UNAVAILABLE, "the scheduler ended the stream");
    if (const std::optional<milliseconds> pause = PauseAfter(static_cast<absl::StatusCode>(status.error_code()))) {
      if (Interrupted(interrupt_, *pause)) return interrupt_.exit_code();
      return std::nullopt;
    }
    // It may have come to its end in between, which the next look says.
    if (status.error_code() == grpc::StatusCode::FAILED_PRECONDITION && !std::exchange(refused_before_, true)) return std::nullopt;
    return connection_.Translate(status);
  }

  // Its attempts have ended.
  absl::StatusOr<int> PrintLast(const v1::Job& job) {
    v1::GetLogRequest request;
    request.set_job(job.id());
    const absl::StatusOr<v1::GetLogResponse> log = connection_.Call(&Connection::Stub::GetLog, request);
    if (log.ok()) {
      printed_.AddLeft(*log);
    } else if (log.status().code() != absl::StatusCode::kNotFound) {
      return log.status();
    }
    return HowItStands(job);
  }

  // While the scheduler was away.
  absl::StatusOr<int> EndedUnseen(const v1::Job& job) {
    printed_.End();
    session_.Say(fmt::format("attempt {0} has ended meanwhile; 'longreach logs {1} --attempt {0}{2}' shows its log, if it has left one", printed_.attempt(), ShortId(job.id()), WhereFlags(session_)));
    return HowItStands(job);
  }

  absl::StatusOr<int> AskHowItStands() {
    while (true) {
      const absl::StatusOr<v1::ExplainJobResponse> now = connection_.Call(&Connection::Stub::ExplainJob, request_);
      if (now.ok()) return HowItStands(now->job());
      if (interrupt_.count() > 0) return interrupt_.exit_code();
      const std::optional<milliseconds> pause = PauseAfter(now.status().code());
      if (!pause) return now.status();
      if (Interrupted(interrupt_, *pause)) return interrupt_.exit_code();
    }
  }

  absl::StatusOr<int> HowItStands(const v1::Job& job) {
    printed_.End();
    const std::string id = ShortId(job.id());
    const std::string attempt = printed_.attempt() == 0 ? "" : fmt::format("attempt {} has ended: ", printed_.attempt());
    const std::string where = WhereFlags(session_);
    if (job.state() == "succeeded") {
      session_.Say(fmt::format("{}job {} has {}", attempt, id, job.diverged() ? "diverged, which is its result" : "succeeded"));
      return kDone;
    }
    if (job.state() == "failed") TellOfFailure(session_, fmt::format("{}job {} has failed: {}", attempt, id, Printable(job.failure())));
    else if (job.state() == "cancelled") session_.Say(fmt::format("{}job {} is cancelled", attempt, id));
    else if (job.state() == "leased") session_.Say(fmt::format("{}job {} runs again; 'longreach logs {} --follow{}' follows that", attempt, id, id, where));
    else session_.Say(fmt::format("{}job {} is {} again; 'longreach explain {}{}' says why, and 'longreach logs {} --follow{}' follows its next attempt", attempt, id, job.state(), id, where, id, where));
    return kFailed;
  }

  // A call has ended so. How long to pause before the next, where the scheduler is away and waited for; that it is lost is said once.
  std::optional<milliseconds> PauseAfter(absl::StatusCode code) {
    if (code != absl::StatusCode::kUnavailable) return std::nullopt;
    const bool is_known = absence_.lasts();
    const std::optional<milliseconds> pause = absence_.Miss(steady_clock::now());
    if (pause && !is_known) {
      printed_.End();
      session_.Say(fmt::format("lost the scheduler at {}; trying again", connection_.address()));
    }
    return pause;
  }
  void IsBack() {
    if (absence_.End()) session_.Say("the scheduler answers again");
  }

  Session& session_;
  Connection& connection_;
  v1::GetJobRequest request_;
  const InterruptScope interrupt_;
  Printed printed_;
  Absence absence_;
  std::string waits_in_;  // The state that was told of.
  bool refused_before_ = false;
};

}  // namespace

void PrintLogText(Session& session, const std::string& text) {
  session.out() << (session.environment().out_is_terminal ? Printable(text, /*keep_lines=*/true) : text);
}

std::string LeftLogAsJson(const v1::GetLogResponse& left) {
  return JsonDocument({{"attempt", fmt::to_string(left.attempt())},
                       {"text", JsonText(left.text())},
                       {"skipped_bytes", MayLackItsBeginning(left) ? "null" : "0"},
                       {"ended", "true"}});
}

void SayIfMoreWasPrinted(Session& session, const v1::GetLogResponse& left) {
  if (MayLackItsBeginning(left)) session.Say(fmt::format("of what attempt {} has printed, this is the end: the last {} KiB are kept", left.attempt(), kLogBytes >> 10));
}

std::string LeftOut(double bytes, bool at_the_beginning) {
  const std::string many = Count(static_cast<int64_t>(bytes), "byte");
  return at_the_beginning ? fmt::format("{} at the beginning left out", many) : fmt::format("{} left out here", many);
}

absl::StatusOr<int> FollowLog(Session& session, Connection& connection, const std::string& job) {
  return Following(session, connection, job).Run();
}

}  // namespace longreach::client
