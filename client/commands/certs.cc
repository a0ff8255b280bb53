#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "client/absolute_path.h"
#include "client/commands/command.h"
#include "client/commands/suggestions.h"
#include "client/new_file.h"
#include "client/output/grid.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/access/certificates.h"
#include "proto/access/credentials.h"
#include "proto/access/roles.h"
#include "proto/access/tokens.h"
#include "proto/base/shell_word.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

using std::filesystem::path;

constexpr const char* kServer = "server";
constexpr const char* kAuthority = "ca";
constexpr int kAuthorityDays = 3650;

path CertificateOf(const path& folder, const std::string& name) { return folder / fmt::format("{}.crt", name); }
path KeyFileOf(const path& folder, const std::string& name) { return folder / fmt::format("{}.key", name); }

// Names by which this machine reaches itself, and its own.
std::vector<std::string> OwnHosts() {
  std::vector<std::string> hosts = {"localhost", "127.0.0.1", "::1"};
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) == 0 && std::string_view(name.data()) != "localhost") hosts.emplace_back(name.data());
  return hosts;
}

// As it stands before ":7070".
std::string Reachable(const std::string& host) { return host.find(':') == std::string::npos ? host : fmt::format("[{}]", host); }

absl::Status MakeFolder(const path& folder) {
  if (mkdir(folder.c_str(), S_IRWXU) == 0) return absl::OkStatus();
  const int why = errno;
  std::error_code ignored;
  if (why == EEXIST && std::filesystem::is_directory(folder, ignored)) return absl::OkStatus();
  return Error(absl::StatusCode::kFailedPrecondition,
               fmt::format("cannot make the folder {}: {}", Printable(folder.string()), std::strerror(why)));
}

// FAILED_PRECONDITION: it cannot be looked at, as in a folder of another user.
absl::StatusOr<bool> IsThere(const path& file) {
  std::error_code error;
  const bool there = std::filesystem::exists(file, error);
  if (!error) return there;
  return Error(absl::StatusCode::kFailedPrecondition, fmt::format("cannot look at {}: {}", Printable(file.string()), error.message()),
               "name another file, or work as the user whose it is");
}

// As one would find it from anywhere.
std::string WholePath(const std::string& folder) {
  std::error_code error;
  const path whole = std::filesystem::absolute(folder.empty() ? "." : folder, error);
  return error ? folder : (whole / "").lexically_normal().parent_path().string();
}

// Where `certs init` was not, or from where the authority has been taken away. NOT_FOUND: what is missing, where, and what to do.
absl::Status CheckHasAuthority(const std::string& folder) {
  const auto lacks = [](const path& file) {
    std::error_code error;
    return !std::filesystem::exists(file, error) && !error;  // What cannot be looked at is told when it is read.
  };
  const bool no_certificate = lacks(CertificateOf(folder, kAuthority)), no_key = lacks(KeyFileOf(folder, kAuthority));
  if (!no_certificate && !no_key) return absl::OkStatus();
  const std::string where = Printable(WholePath(folder)), word = ShellWord(folder);
  if (lacks(folder)) {
    return Error(absl::StatusCode::kNotFound, fmt::format("there is no folder {}, and so no authority to sign with", where),
                 fmt::format("name the folder of 'longreach certs init', or make an authority: 'longreach certs init {}'", word));
  }
  if (no_certificate && no_key) {
    return Error(absl::StatusCode::kNotFound, fmt::format("there is no ca.crt and no ca.key in {}, and so no authority to sign with", where),
                 fmt::format("name the folder of 'longreach certs init', or make an authority: 'longreach certs init {}'", word));
  }
  if (no_key) {
    return Error(absl::StatusCode::kNotFound, fmt::format("there is no ca.key in {}, with which its authority signs", where),
                 "put it back there from where it is kept; if it is lost, 'longreach certs init' in another folder makes a new authority, with all certificates anew");
  }
  return Error(absl::StatusCode::kNotFound, fmt::format("there is no ca.crt in {}, the certificate of the authority whose key is there", where),
               "put a copy of it there: a scheduler has it as --client-ca, and a caller as --ca");
}

class Certs final : public Command {
 public:
  CommandInfo Info() const override {
    return {
        .group = kGroupMaintain,
        .summary = "Make certificates and tokens: init, issue, show, token",
        .details =
            "A caller is a client, a reader (which only looks) or a worker; its certificate or token says which. All files\n"
            "are made for their owner alone. The authority's key, ca.key, makes further certificates: keep it off the\n"
            "scheduler's machine once there is no more to issue.",
        .examples =
            "longreach certs init certs --host scheduler.example.org\n"
            "longreach certs issue certs gpu-a --role worker\n"
            "longreach certs issue certs server --role server --host scheduler.example.org --renew\n"
            "longreach certs token --role reader --name bob --add tokens --out bob.token\n"
            "longreach certs show certs/client.crt"};
  }

  void AddOptions(CLI::App& app) override {
    app.require_subcommand(1);
    const auto add = [this, &app](const char* name, const char* summary) {
      return app.add_subcommand(name, summary)->callback([this, name] { action_ = name; });
    };
    const auto add_days = [this](CLI::App& sub) {
      sub.add_option("--days", days_, "How long certificates are good for")->check(CLI::Range(1, kAuthorityDays))->capture_default_str();
    };
    const auto add_hosts = [this](CLI::App& sub) {
      sub.add_option("--host", hosts_, "A name or address by which the scheduler is reached, beside localhost and this machine's name")
          ->type_name("NAME");
    };
    CLI::App* const init = add("init", "Make an authority, and certificates for a server, a client, a worker and a reader");
    init->add_option("DIR", folder_, "The folder for them")->required();
    add_hosts(*init);
    add_days(*init);
    CLI::App* const issue = add("issue", "Make a further certificate, or renew one");
    issue->add_option("DIR", folder_, "The folder of 'certs init', with ca.key")->required();
    issue->add_option("NAME", name_, "Of its files, and of who has it")->required();
    issue->add_option("--role", role_, "client, reader, worker or server")->check(CLI::IsMember({"client", "reader", "worker", kServer}))->required();
    issue->add_flag("--renew", renew_, "Replace the files that are there, key and all; role and hosts stay, unless --host says others");
    add_hosts(*issue);
    add_days(*issue);
    add("show", "Say whose a certificate is, and until when")->add_option("FILE", files_, "Certificates (PEM)")->required();
    CLI::App* const token = add("token", "Make a bearer token, for callers without a certificate");
    token->add_option("--role", role_, "client, reader or worker")->check(CLI::IsMember({"client", "reader", "worker"}))->required();
    token->add_option("--name", name_, "Whose it is")->required();
    token->add_option("--add", tokens_, "Add it to this file, which the scheduler has as --tokens")->type_name("FILE");
    token->add_option("--out", out_, "Write the token to this new file instead of printing it")->type_name("FILE");
  }

  absl::StatusOr<int> Run(Session& session) override {
    if (action_ == "init") return Init(session);
    if (action_ == "issue") return Issue(session);
    if (action_ == "show") return Show(session);
    return Token(session);
  }

 private:
  absl::Status Write(const std::string& name, const access::KeyAndCertificate& made) {
    // The key first: a certificate without its key is worse than a key without its certificate.
    const auto write = renew_ ? ReplaceFile : WriteNewFile;
    RETURN_IF_ERROR(write(KeyFileOf(folder_, name), made.key));
    return write(CertificateOf(folder_, name), made.certificate);
  }

  // Writes nothing.
  absl::StatusOr<access::KeyAndCertificate> Made(const access::KeyAndCertificate& authority, const std::string& name, const std::string& role) const {
    access::CertificateWish wish{.name = name, .role = access::ParseRole(role).value_or(v1::ROLE_UNSPECIFIED), .days = days_};
    if (role == kServer) {
      if (!keeps_hosts_) wish.hosts = OwnHosts();
      for (const std::string& host : hosts_) {
        if (std::ranges::find(wish.hosts, host) == wish.hosts.end()) wish.hosts.push_back(host);
      }
    }
    absl::StatusOr<access::KeyAndCertificate> made = access::Issue(authority, wish);
    if (!made.ok()) return UsageError(std::string(made.status().message()));
    return made;
  }

  absl::StatusOr<int> Init(Session& session) {
    ASSIGN_OR_RETURN(const path whole, AbsolutePath("DIR", folder_));
    for (const char* name : {kAuthority, kServer, "client", "reader", "worker"}) {
      for (const path& file : {KeyFileOf(folder_, name), CertificateOf(folder_, name)}) {
        ASSIGN_OR_RETURN(const bool there, IsThere(file));
        if (there) {
          return Error(absl::StatusCode::kAlreadyExists, fmt::format("there is a {} already; nothing was made", Printable(file.string())),
                       "choose another folder, or make a single certificate with 'longreach certs issue'");
        }
      }
    }
    // All of them before the first is written: an authority that is left behind would be in the next try's way.
    ASSIGN_OR_RETURN(const access::KeyAndCertificate authority, access::MakeAuthority("Longreach authority", kAuthorityDays));
    std::vector<std::pair<std::string, access::KeyAndCertificate>> all = {{kAuthority, authority}};
    for (const char* name : {kServer, "client", "reader", "worker"}) {
      ASSIGN_OR_RETURN(access::KeyAndCertificate made, Made(authority, name, name));
      all.emplace_back(name, std::move(made));
    }
    RETURN_IF_ERROR(MakeFolder(folder_));
    for (const auto& [name, made] : all) RETURN_IF_ERROR(Write(name, made));
    if (session.json()) {
      session.out() << JsonDocument({{"folder", JsonText(folder_)}});
      return kDone;
    }
    const auto word = [&whole](const char* name) { return ShellWord((whole / name).string()); };
    session.out() << fmt::format("made {}: an authority, and certificates for server, client, worker and reader, good for {} days\n", Printable(folder_), days_);
    session.Say(fmt::format(
        "\nOn the scheduler's machine:\n"
        "  longreach-scheduler --store FILE --listen 0.0.0.0:7070 --certificate {server} --key {server_key} --client-ca {ca}\n"
        "Where you work (or as ca, certificate and key in ~/.config/longreach/config.yaml):\n"
        "  export LONGREACH_SCHEDULER={host}:7070 LONGREACH_CA={ca} LONGREACH_CERTIFICATE={client} LONGREACH_KEY={client_key}\n"
        "On a worker's machine:\n"
        "  longreach-worker run --scheduler {host}:7070 --ca {ca} --certificate {worker} --key {worker_key}",
        fmt::arg("host", Reachable(Printable(hosts_.empty() ? OwnHosts().back() : hosts_.front()))), fmt::arg("ca", word("ca.crt")),
        fmt::arg("server", word("server.crt")), fmt::arg("server_key", word("server.key")), fmt::arg("client", word("client.crt")),
        fmt::arg("client_key", word("client.key")), fmt::arg("worker", word("worker.crt")), fmt::arg("worker_key", word("worker.key"))));
    return kDone;
  }

  absl::StatusOr<int> Issue(Session& session) {
    if (!access::IsTokenName(name_) || name_ == kAuthority || name_.front() == '.') {
      return UsageError(fmt::format("'{}' is no name for a certificate", Printable(name_)), "at most 64 letters, digits and ._@-, and not ca");
    }
    RETURN_IF_ERROR(CheckHasAuthority(folder_));
    access::KeyAndCertificate authority;
    ASSIGN_OR_RETURN(authority.certificate, access::ReadSmallFile(CertificateOf(folder_, kAuthority)));
    ASSIGN_OR_RETURN(authority.key, access::ReadSecretFile(KeyFileOf(folder_, kAuthority)));
    ASSIGN_OR_RETURN(const bool there, IsThere(CertificateOf(folder_, name_)));
    if (!renew_ && there) {
      return Error(absl::StatusCode::kAlreadyExists, fmt::format("there is a {} already", Printable(CertificateOf(folder_, name_).string())),
                   "--renew replaces it; a scheduler or worker that runs takes its own up within 10 s");
    }
    if (role_ != kServer && !hosts_.empty()) return UsageError(fmt::format("--host: a certificate with the role {} has none", role_), "leave it away");
    RETURN_IF_ERROR(TakeOverFromBefore());
    ASSIGN_OR_RETURN(const access::KeyAndCertificate made, Made(authority, name_, role_));
    RETURN_IF_ERROR(Write(name_, made));
    files_ = {CertificateOf(folder_, name_).string()};
    return Show(session);
  }

  // One that is renewed keeps its role, and its hosts unless others are given.
  absl::Status TakeOverFromBefore() {
    const absl::StatusOr<std::string> pem = access::ReadSmallFile(CertificateOf(folder_, name_));
    if (!pem.ok()) return absl::OkStatus();
    const absl::StatusOr<access::CertificateInfo> before = access::ReadCertificate(*pem);
    if (!before.ok()) return absl::OkStatus();  // What is there is of no use.
    const std::string role = before->role ? std::string(access::RoleName(*before->role)) : kServer;
    if (role != role_) {
      return UsageError(fmt::format("--role {}: '{}' has the role {}", role_, Printable(name_), role), fmt::format("say --role {} to renew it, or take another name", role));
    }
    keeps_hosts_ = hosts_.empty();
    if (keeps_hosts_) hosts_ = before->hosts;
    return absl::OkStatus();
  }

  absl::StatusOr<int> Show(Session& session) {
    Grid grid;
    grid.columns = {{"file", "FILE"}, {"name", "NAME"}, {"role", "ROLE"}, {"from", "FROM"}, {"until", "UNTIL"}, {"hosts", "HOSTS"}};
    for (const std::string& file : files_) {
      if (std::error_code ignored; std::filesystem::is_directory(file, ignored)) {
        return UsageError(fmt::format("{} is a folder", Printable(file)), fmt::format("name the certificates in it: 'longreach certs show {}/*.crt'", ShellWord(file)));
      }
      ASSIGN_OR_RETURN(const std::string pem, access::ReadSmallFile(file));
      const absl::StatusOr<access::CertificateInfo> info = access::ReadCertificate(pem);
      if (!info.ok()) return Error(absl::StatusCode::kFailedPrecondition, fmt::format("{}: {}", Printable(file), std::string(info.status().message())));
      const std::string role = info->authority ? "authority" : info->role ? std::string(access::RoleName(*info->role)) : kServer;
      grid.rows.push_back({TextCell(file), TextCell(info->name), TextCell(role), TextCell(access::Day(info->from)), TextCell(access::Day(info->until)),
                           TextCell(Join(info->hosts, " "))});
    }
    session.Print(grid, "certificates");
    return kDone;
  }

  // Of a list that is none the check of the whole speaks.
  absl::Status CheckNameIsFree(const std::string& list) const {
    const absl::StatusOr<std::vector<access::Token>> there = access::ParseTokens(list, tokens_);
    if (!there.ok()) return absl::OkStatus();
    const auto same = std::ranges::find(*there, name_, &access::Token::name);
    if (same == there->end()) return absl::OkStatus();
    return UsageError(fmt::format("{}:{}: there is a token of '{}' already", Printable(tokens_), same->line, Printable(name_)),
                      "take that line out, with which that token is taken away, or choose another --name; nothing was added");
  }

  absl::StatusOr<int> Token(Session& session) {
    if (!access::IsTokenName(name_)) return UsageError(fmt::format("--name '{}' is no name for a token", Printable(name_)), "at most 64 letters, digits and ._@-");
    if (!out_.empty() && !tokens_.empty() && std::filesystem::weakly_canonical(out_) == std::filesystem::weakly_canonical(tokens_)) {
      return UsageError(fmt::format("--out {}: is --add's file, which has what the scheduler knows of tokens and not the tokens", Printable(out_)), "name another file for the token itself");
    }
    const std::string token = access::NewToken();
    const std::string line = access::TokenLine(*access::ParseRole(role_), name_, token);
    std::string list;
    if (!tokens_.empty()) {
      ASSIGN_OR_RETURN(const bool there, IsThere(tokens_));
      if (there) {
        ASSIGN_OR_RETURN(list, access::ReadSmallFile(tokens_));
        RETURN_IF_ERROR(CheckNameIsFree(list));
      } else {
        list = "# Bearer tokens: role, name, SHA-256. Made by 'longreach certs token'; a line taken out is a token taken away.\n";
      }
      if (!list.ends_with('\n')) list += '\n';
      list += fmt::format("{}\n", line);
      if (const absl::StatusOr<std::vector<access::Token>> whole = access::ParseTokens(list, tokens_); !whole.ok()) {
        return UsageError(std::string(whole.status().message()), "nothing was added");
      }
    }
    // Out of our hands before the scheduler knows it: a token that nobody has is no harm.
    if (!out_.empty()) RETURN_IF_ERROR(WriteNewFile(out_, fmt::format("{}\n", token)));
    if (!tokens_.empty()) {
      if (absl::Status added = ReplaceFile(tokens_, list); !added.ok()) {
        std::error_code ignored;
        if (!out_.empty()) std::filesystem::remove(out_, ignored);
        return added;
      }
    }
    if (session.json()) {
      session.out() << JsonDocument({{"token", JsonText(out_.empty() ? token : "")}, {"line", JsonText(line)}});
      return kDone;
    }
    if (out_.empty()) session.out() << token << "\n";
    if (tokens_.empty()) {
      session.Say(fmt::format("add this line to the scheduler's --tokens file:\n{}", line));
    } else {
      session.Say(fmt::format("added to {}; a scheduler that runs takes it up within a second or two", Printable(tokens_)));
    }
    session.Say(out_.empty() ? "the token is not shown again; its owner puts it into a file of mode 600 and sets LONGREACH_TOKEN_FILE"
                             : fmt::format("its owner sets LONGREACH_TOKEN_FILE={}", Printable(out_)));
    return kDone;
  }

  std::string action_;
  std::string folder_;
  std::string name_;
  std::string role_;
  std::string tokens_;
  std::string out_;
  std::vector<std::string> hosts_;
  std::vector<std::string> files_;
  int days_ = 365;
  bool renew_ = false;
  bool keeps_hosts_ = false;  // Those are all of them: that of a machine where it was issued, too.
};

}  // namespace

std::unique_ptr<Command> Make_certs() { return std::make_unique<Certs>(); }

}  // namespace longreach::client
