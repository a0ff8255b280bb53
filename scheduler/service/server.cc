#include "scheduler/service/file_id.h"
#include "scheduler/service/server.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <grpc/grpc.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>

#include "proto/access/keep_grpc.h"
#include "proto/base/build_info.h"
#include "proto/base/utf8.h"
#include "proto/types/wire_limits.h"
#include "scheduler/service/access/gate.h"
#include "scheduler/service/access/listener.h"
#include "scheduler/service/client_handlers.h"
#include "scheduler/service/event_log.h"
#include "scheduler/service/health/health.pb.h"
#include "scheduler/service/listen.h"
#include "scheduler/service/maintenance.h"
#include "scheduler/service/notifier.h"
#include "scheduler/service/table_cell.h"
#include "scheduler/service/upload_parts.h"
#include "scheduler/service/upload_room.h"
#include "scheduler/service/worker_handlers.h"
#include "store/database_file.h"
#include "store/jobs.h"
#include "store/log_keeper.h"
#include "store/migrate.h"
#include "store/store.h"
#include "store/writer.h"

namespace longreach::service {
namespace {

constexpr size_t kThreads = 4;
constexpr size_t kThreadsOfTransfers = 4;
// For calls that may take minutes (a large sweep, the whole store): what workers hand in goes by others.
constexpr size_t kThreadsOfLongCalls = 2;
constexpr size_t kThreadsOfSubmissions = 8;
constexpr size_t kThreadsOfMaintenance = 2;
// Files that are removed after a group of events: few, so that the next group does not wait.
constexpr int kFilesInGo = 16;
// What is still running when the server ends is cut off after this.
constexpr std::chrono::seconds kPatience{2};

void SetUp(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  builder.SetResourceQuota(grpc::ResourceQuota("longreach").Resize(kMaxNetworkBytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxHeaderBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxCallsOfConnection);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(std::chrono::milliseconds(kHandshakePatience).count()));
  // Without this, two schedulers could share a port in silence, and a worker would reach either.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Finds half-open connections within half a minute, and lets callers look for them more often.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 15'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
}

// Before anything is opened: nobody else's machine gets in without TLS and credentials.
absl::Status CheckAccess(const ListenAddress& address, const ServerOptions& options) {
  const TlsFiles& tls = options.tls;
  const auto refuse = [&address](std::string_view what) {
    return absl::FailedPreconditionError(fmt::format("cannot listen on {}: {}", address.text, what));
  };
  if (tls.certificate.empty() && tls.key.empty() && tls.client_ca.empty()) {
    ASSIGN_OR_RETURN(const bool within, IsWithinThisMachine(address));
    if (within) return absl::OkStatus();
    return refuse("other machines reach it, which takes TLS; make certificates with 'longreach certs init DIR' and give "
                  "--certificate DIR/server.crt --key DIR/server.key --client-ca DIR/ca.crt, or listen on localhost");
  }
  if (!address.socket.empty()) return refuse("a Unix socket speaks no TLS; leave --certificate, --key and --client-ca away");
  if (tls.certificate.empty() || tls.key.empty()) return refuse("TLS takes --certificate and --key, both");
  if (tls.client_ca.empty() && options.tokens.empty()) {
    return refuse("nobody could call; give --client-ca FILE for callers with certificates, or --tokens FILE, or both");
  }
  return absl::OkStatus();
}

// Whether a job runs or is to run. One that cannot be looked at may.
bool RunsOrIsToRun(sql::Connection& db, const std::string& job) {
  const absl::StatusOr<std::optional<store::State>> state = store::FindJobState(db, job);
  return !state.ok() || (state->has_value() && IsOpen(**state));
}

// Bytes of the disk that a folder is on; one that cannot be asked has none.
double SpaceLeft(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  return error ? 0 : static_cast<double>(space.available);
}

}  // namespace

// In order of construction: each uses those above it, and they go in the opposite order.
struct Server::Parts {
  Parts(const Clock& its_clock, const ServerOptions& options)
      : clock(its_clock), log_events(options.log_events), repairs(options.repairs), strangers(clock), cuts(clock) {
    if (!options.notify.empty()) notifier = std::make_unique<Notifier>(clock, TellProgram(options.notify), [this](const std::string& line) { Log(line); });
    if (log_events || notifier != nullptr) events = MakeEvents();
  }

  std::unique_ptr<EventLog> MakeEvents();
  absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> Admit(const ListenAddress& at, const ServerOptions& options);
  // Without events the log is for a parent, which knows the time.
  void Log(std::string_view line) const {
    if (log_events) WriteToLog(clock, line);
    else fmt::print(stderr, "{}\n", line);
  }
  absl::Status Decide(const ServerOptions& options);
  store::WriterOptions Writing();
  void MakeHandlers(const ServerOptions& options);
  absl::Status Listen(const ListenAddress& at, const std::shared_ptr<grpc::ServerCredentials>& credentials);

  const Clock& clock;
  const bool log_events;
  const bool repairs;  // By what is not sound nothing is decided, and no file removed, while it is mended.
  std::unique_ptr<Notifier> notifier;  // May be null,
  std::unique_ptr<EventLog> events;    // as may this.
  Refusals strangers;
  Refusals cuts;  // Apart, so that a flood of strangers does not hide whose connection was cut.
  std::unique_ptr<CheckedTlsFiles> tls;
  std::unique_ptr<TokenFile> tokens;
  std::unique_ptr<store::MergeSource> looked_at;  // Until the handlers have it.
  std::unique_ptr<store::Store> store;
  std::unique_ptr<Engine> engine;
  std::optional<Bell::Listening> ended;  // For the events.
  std::unique_ptr<UploadParts> upload_parts;
  std::unique_ptr<UploadRoom> room;
  std::unique_ptr<store::LogKeeper> log_keeper;
  std::string pruned_from, pruning_trouble;  // Of the writer's thread, as is
  bool files_left = false;                   // whether there are more to be removed,
  bool store_is_well = true;                 // whether its disk took what was written last,
  bool unsettled_left = false;               // and whether there may be files of uploads that could not be recorded.
  std::unique_ptr<store::Writer> writer;     // Its thread asks the engine.
  std::stop_source ends;                     // For what may take minutes.
  std::unique_ptr<Workforce> workforce;
  std::unique_ptr<Workforce> transfers;    // Of artifacts, which are hashed and synced: gigabytes, for which no reading call should wait.
  std::unique_ptr<Workforce> long_calls;   // Of users who wait for a table or a plan,
  std::unique_ptr<Workforce> submissions;  // or for their sweep.
  std::unique_ptr<Workforce> maintenance;  // Hours, of a large store.
  std::unique_ptr<ClientHandlers> client;
  std::unique_ptr<WorkerHandlers> worker;
  std::unique_ptr<ArtifactHandlers> artifacts;
  std::optional<Bell::Listening> attempts_ended;  // For the artifacts' handlers.
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor;
  std::unique_ptr<Listener> listener;
  std::unique_ptr<grpc::Server> grpc;
  std::string address;   // As it says in its first line.
  std::string found_at;  // As who finds the store is told.
  std::filesystem::path socket;
  std::optional<FileId> own_socket;  // What it stands for, as long as it is ours.
};

// What happens is told in the log, a program is told of some of it, or both.
std::unique_ptr<EventLog> Server::Parts::MakeEvents() {
  const auto write = [this](const std::string& line) {
    if (log_events) Log(line);
  };
  std::function<void(const News& news)> notify;
  if (notifier != nullptr) notify = [this](const News& news) { notifier->Add(news); };
  return std::make_unique<EventLog>(clock, write, std::move(notify));
}

// Without TLS and tokens everybody on this machine may call; else a gate decides.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> Server::Parts::Admit(const ListenAddress& at, const ServerOptions& options) {
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
  if (!options.tls.certificate.empty()) {
    ToldOfTls told;
    told.ends = [this](const std::string& line) {
      if (events != nullptr) events->Add(CertificateEnds(line));
    };
    told.renewed = [this](const std::string& line) {
      if (events != nullptr) events->Add(CertificateTakenUp(line));
    };
    ASSIGN_OR_RETURN(tls, CheckedTlsFiles::Open(options.tls, strangers, std::move(told)));
    tls->Follow();
    credentials = TlsServer(*tls);
  } else if (!options.tokens.empty()) {
    // Plaintext too, but these admit a gate, and refuse whoever comes from elsewhere.
    credentials = grpc::experimental::LocalServerCredentials(at.socket.empty() ? LOCAL_TCP : UDS);
  }
  if (!options.tokens.empty()) {
    ASSIGN_OR_RETURN(tokens, TokenFile::Open(options.tokens, clock, strangers, [this](size_t number) {
      if (events != nullptr) events->Add(TokensReadAgain(number));
    }));
  }
  if (tls != nullptr || tokens != nullptr) credentials->SetAuthMetadataProcessor(std::make_shared<Gate>(tokens.get(), strangers));
  return credentials;
}

// What decides over the store.
absl::Status Server::Parts::Decide(const ServerOptions& options) {
  EngineOptions deciding = options.engine;
  deciding.files = &store->artifacts();
  if (options.copy != store::CopyWhen::kNever) deciding.awaits_workers = false;
  deciding.log = [this](const std::string& line) { Log(line); };
  if (events != nullptr) deciding.news = [this](const News& news) { events->Add(news); };
  engine = std::make_unique<Engine>(
      clock, deciding, [this](store::Event event) { writer->Submit(std::move(event)); }, [this] { writer->Wake(); });
  upload_parts = std::make_unique<UploadParts>(store->artifacts());
  store->artifacts().MakeSpaceBy([this] { return upload_parts->DropOldest(); });
  room = std::make_unique<UploadRoom>(
      engine->board(), [this] { return SpaceLeft(store->artifacts().folder()) + upload_parts->bytes(); }, deciding.log);
  RETURN_IF_ERROR(engine->Restore(store->writer_connection()));
  if (events != nullptr) {
    events->Look(store->writer_connection(), clock.Steady());
    ended.emplace(engine->board().ended().Listen([this] { events->AttemptsHaveEnded(); }));
  }
  if (!repairs) RETURN_IF_ERROR(store::RemoveUnsettledFiles(store->writer_connection(), store->artifacts()).status());
  ASSIGN_OR_RETURN(log_keeper, store::LogKeeper::Start(store->writer_connection()));
  writer = std::make_unique<store::Writer>(store->writer_connection(), clock, Writing());
  return absl::OkStatus();
}

store::WriterOptions Server::Parts::Writing() {
  store::WriterOptions writing;
  if (repairs) {
    writing.after_group = [this](sql::Connection&) { log_keeper->AfterGroup(); };
    return writing;
  }
  // Also to remove further files: a cancelled sweep may leave thousands, and nobody calls.
  writing.next_deadline = [this]() -> std::optional<SteadyTime> {
    if (files_left) return clock.Steady();
    std::optional<SteadyTime> next = engine->NextDeadline();
    for (const std::optional<SteadyTime>& look : {room->NextLook(), events != nullptr ? events->NextLook() : std::nullopt}) {
      if (look && (!next || *look < *next)) next = look;
    }
    return next;
  };
  writing.at_deadline = [this](SteadyTime now) { return engine->AtDeadline(now); };
  // A file that could not be removed is tried again after the next group.
  writing.after_group = [this](sql::Connection& db) {
    absl::Status stays;
    if (store->artifacts().LeftUnsettled()) unsettled_left = true;
    if (unsettled_left && store_is_well) {
      stays = store::RemoveUnsettledFiles(db, store->artifacts()).status();
      unsettled_left = !stays.ok();
    }
    const absl::StatusOr<int> pruned = store::RemoveUnusedFiles(db, store->artifacts(), kFilesInGo, &pruned_from);
    files_left = pruned.ok() && *pruned == kFilesInGo;
    stays.Update(pruned.status());
    std::string trouble(stays.message());
    if (!trouble.empty() && trouble != pruning_trouble) Log(fmt::format("files that nobody needs stay: {}", trouble));
    if (!trouble.empty()) pruning_trouble = std::move(trouble);
    log_keeper->AfterGroup();
    room->Look(clock.Steady(), [&db](const std::string& job) { return RunsOrIsToRun(db, job); });
    if (events != nullptr) events->Look(db, clock.Steady());
  };
  writing.on_disk = [this](const std::string& trouble) {
    engine->board().SetStoreTrouble(trouble);
    if (!trouble.empty()) upload_parts->DropAll();  // They may be in its way.
    store_is_well = trouble.empty();
    if (trouble.empty()) room->StoreIsWell();
    Log(trouble.empty() ? "the store can be written again" : fmt::format("the store cannot be written: {}", trouble));
  };
  writing.on_deadline = [this](const absl::Status& status) {
    Log(status.ok() ? "what was due is written again"
                    : fmt::format("what was due (leases that have run out, what workers told) could not be written, and is tried again every second: {}",
                                  OnOneLine(std::string(status.message()))));
  };
  return writing;
}

// What answers calls, and its threads.
void Server::Parts::MakeHandlers(const ServerOptions& options) {
  workforce = std::make_unique<Workforce>(kThreads);
  transfers = std::make_unique<Workforce>(kThreadsOfTransfers);
  long_calls = std::make_unique<Workforce>(kThreadsOfLongCalls);
  submissions = std::make_unique<Workforce>(kThreadsOfSubmissions);
  maintenance = std::make_unique<Workforce>(kThreadsOfMaintenance);
  std::function<void(const std::string&)> say_of_merges = options.say_of_merges;
  if (!say_of_merges) say_of_merges = [this](const std::string& line) { Log(line); };
  client = std::make_unique<ClientHandlers>(*engine, *store, *writer, clock,
                                            ClientHandlers::Threads{.calls = *workforce, .long_calls = *long_calls, .submissions = *submissions, .maintenance = *maintenance,
                                                                    .stop = ends.get_token()},
                                            options.between_looks, say_of_merges, tokens.get(), LookedAt{.path = options.merges, .source = std::move(looked_at)}, options.repairs);
  worker = std::make_unique<WorkerHandlers>(*engine, store->artifacts().inbox().string());
  artifacts = std::make_unique<ArtifactHandlers>(*engine, *store, *transfers, options.artifact_limits, *room, *upload_parts, clock);
  attempts_ended.emplace(engine->board().ended().Listen([this] { artifacts->AttemptsHaveEnded(); }));
}

// From here on calls are answered.
absl::Status Server::Parts::Listen(const ListenAddress& at, const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  grpc::EnableDefaultHealthCheckService(true);
  // Names the description, so that the linker keeps it for reflection.
  grpc::health::v1::HealthCheckRequest::descriptor();
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  SetUp(builder);
  Listener::Options listening{.max_connections = AffordableConnections(kMaxConnections), .tls = tls != nullptr};
  // Whoever comes to a Unix socket is its owner.
  if (at.socket.empty() && (tls != nullptr || tokens != nullptr)) listening.strangers = &strangers;
  ASSIGN_OR_RETURN(listener, Listener::Open(at, listening, cuts));
  const int port = listener->port();
  acceptor = builder.experimental().AddExternalConnectionAcceptor(grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  if (at.socket.empty()) {
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> witnesses;
    witnesses.push_back(listener->Witness());
    builder.experimental().SetInterceptorCreators(std::move(witnesses));
  }
  builder.RegisterService(client.get());
  builder.RegisterService(worker.get());
  builder.RegisterService(artifacts.get());
  grpc = builder.BuildAndStart();
  if (grpc == nullptr) {
    return absl::FailedPreconditionError(fmt::format("cannot listen on {}; choose another address with --listen", at.text));
  }
  for (const char* service : {"longreach.v1.Longreach", "longreach.v1.Worker", "longreach.v1.Artifacts"}) {
    grpc->GetHealthCheckService()->SetServingStatus(service, true);
  }
  listener->Start(*acceptor);
  socket = at.socket;
  own_socket = FileIdentity(socket);
  address = socket.empty() ? fmt::format("{}:{}", at.text.substr(0, at.text.rfind(':')), port) : at.text;
  found_at = FoundAt(at, port);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options, const Clock& clock) {
  ASSIGN_OR_RETURN(const ListenAddress address, ParseListenAddress(options.listen));
  RETURN_IF_ERROR(CheckAccess(address, options));
  access::KeepGrpc();
  HearGrpc();
  auto parts = std::make_unique<Parts>(clock, options);
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ServerCredentials> credentials, parts->Admit(address, options));
  // No store is made for nothing.
  if (std::error_code error; !std::filesystem::exists(options.store, error)) RETURN_IF_ERROR(MakeFree(address));
  if (!options.merges.empty() && store::IsEmpty(options.store)) {
    ASSIGN_OR_RETURN(parts->looked_at, LookBeforeMerge(options.merges, options.stop));
  }
  ASSIGN_OR_RETURN(parts->store, store::Store::Open(options.store, {.artifacts = options.artifacts, .copy = options.copy, .say_of_copy = options.say_of_copy}));
  // Only whoever holds the store may take the address over from a predecessor.
  RETURN_IF_ERROR(MakeFree(address));
  if (!options.merges.empty() && parts->looked_at == nullptr) {
    ASSIGN_OR_RETURN(parts->looked_at, HoldForMerge(options.merges, *parts->store));
  }
  RETURN_IF_ERROR(parts->Decide(options));
  parts->MakeHandlers(options);
  RETURN_IF_ERROR(parts->Listen(address, credentials));
  if (options.held != StoreHeld::kMoment) parts->store->ListensAt(parts->found_at, /*soon_free=*/options.held == StoreHeld::kSoonFree);
  if (parts->log_events) {
    const std::string told = options.notify.empty() ? "" : fmt::format(", news go to '{}'", ForLog(options.notify.string()));
    parts->Log(fmt::format("started: {}, with the store '{}' (version {}), files in '{}', listening on {}{}", BuildDescription(), ForLog(parts->store->name()),
                           store::SchemaVersion(), ForLog(parts->store->artifacts().folder().string()), parts->socket.empty() ? parts->address : parts->found_at, told));
  }
  if (parts->notifier != nullptr) parts->notifier->Start();
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() {
  if (parts_->listener != nullptr) parts_->listener->Stop();
  parts_->ends.request_stop();
  parts_->engine->Shutdown();
  parts_->grpc->Shutdown(std::chrono::system_clock::now() + kPatience);
  parts_->grpc->Wait();
  parts_->attempts_ended.reset();
  parts_->workforce.reset();
  parts_->transfers.reset();
  parts_->long_calls.reset();
  parts_->submissions.reset();
  parts_->maintenance.reset();
  if (std::optional<store::Event> last = parts_->engine->AtEnd()) parts_->writer->Submit(*std::move(last));
  parts_->writer->Stop();
  if (parts_->events != nullptr) parts_->events->Close(parts_->store->writer_connection());
  if (parts_->notifier != nullptr) parts_->notifier->Stop();
  if (parts_->log_events) parts_->Log("ended");
  // Another scheduler may listen there by now: to it one that takes no more connections looks like one that is gone.
  std::error_code ignored;
  if (!parts_->socket.empty() && FileIdentity(parts_->socket) == parts_->own_socket) std::filesystem::remove(parts_->socket, ignored);
}

const std::string& Server::address() const { return parts_->address; }

}  // namespace longreach::service
