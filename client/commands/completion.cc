#include <string_view>

#include "client/commands/command.h"
#include "client/output/json.h"

namespace longreach::client {
namespace {

// Each script asks `longreach __complete` for the words, so it knows every command, option and sweep of the
// program that is installed, and never grows old.

// Bash cuts words at '=' and ':', which are words too, and leaves quotes and backslashes in them: words are put together again where no blank is
// between them, without these. What the last one holds already is taken off the answers.
constexpr std::string_view kBash = R"sh(# longreach: completion for bash. Put it to use with
#   source <(longreach completion bash)
_longreach() {
  local line value last part i rest=${COMP_LINE:0:COMP_POINT}
  local -a words
  for ((i = 0; i <= COMP_CWORD; i++)); do
    if [[ $i == 0 || $rest == [[:space:]]* ]]; then
      rest=${rest#"${rest%%[![:space:]]*}"}
      words+=("")
    fi
    part=${COMP_WORDS[i]}
    ((i < COMP_CWORD)) || part=$rest
    rest=${rest#"$part"}
    last=${part//[\"\'\\]/}
    words[-1]+=$last
  done
  [[ $last == [=:] ]] && last=""
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$last")
      compopt -o filenames 2>/dev/null
    else
      value=${line%%$'\t'*}
      [[ $value == *[=,] ]] && compopt -o nospace 2>/dev/null
      COMPREPLY+=("${value#"${words[-1]%"$last"}"}")
    fi
  done < <(longreach __complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _longreach longreach
)sh";

constexpr std::string_view kZsh = R"sh(#compdef longreach
# longreach: completion for zsh. Put it to use with
#   source <(longreach completion zsh)
# in ~/.zshrc, behind compinit, or as a file _longreach in a folder of $fpath.
_longreach() {
  local line value
  local -a closed open files
  # Without their quotes; of the last word what is before the cursor.
  for line in "${(@f)$(longreach __complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
    if [[ $line == :files ]]; then
      files=(yes)
    elif [[ -n $line ]]; then
      value=${${line%%$'\t'*}//:/\\:}
      [[ $line == *$'\t'* ]] && line=$value:${line#*$'\t'} || line=$value
      # More of the word follows there, and no blank.
      if [[ $value == *[=,] ]]; then open+=("$line"); else closed+=("$line"); fi
    fi
  done
  (( ${#closed} )) && _describe 'longreach' closed
  (( ${#open} )) && _describe 'longreach' open -S ''
  if (( ${#files} )); then
    [[ $PREFIX == --*=* ]] && compset -P 1 '*='
    _files
  fi
}
if [[ $funcstack[1] == _longreach ]]; then _longreach "$@"; else compdef _longreach longreach; fi
)sh";

constexpr std::string_view kFish = R"sh(# longreach: completion for fish. Put it to use with
#   longreach completion fish > ~/.config/fish/completions/longreach.fish
function __longreach_complete
    set -l words (commandline -opc)
    set -l last (string replace -r '^[\'"]' '' -- (commandline -ct))
    # A variable that is set for the command stands before it.
    while string match -qr '^\w+=' -- "$words[1]"
        set -e words[1]
    end
    for line in (longreach __complete -- $words[2..-1] "$last" 2>/dev/null)
        if test "$line" = ":files"
            # As of a command that fish knows nothing of: it completes files behind '--store=' and '~' too.
            complete -C "'' "(commandline -ct)
        else
            echo $line
        end
    end
end
complete -c longreach -f -a '(__longreach_complete)'
)sh";

class Completion final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupMaintain,
            .summary = "Print the completion script of a shell: bash, zsh, fish",
            .details = "",
            .examples = "source <(longreach completion bash)\n"
                        "source <(longreach completion zsh)\n"
                        "longreach completion fish > ~/.config/fish/completions/longreach.fish"};
  }
  void AddOptions(CLI::App& app) override {
    app.require_subcommand(1);
    for (const auto& [shell, script] : {std::pair{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}}) {
      app.add_subcommand(shell, std::string("For ") + shell)->callback([this, text = script] { script_ = text; });
    }
  }
  absl::StatusOr<int> Run(Session& session) override {
    if (session.json()) {
      session.out() << JsonDocument({{"script", JsonText(script_)}});
    } else {
      session.out() << script_;
    }
    return kDone;
  }

 private:
  std::string_view script_;
};

}  // namespace

std::unique_ptr<Command> Make_completion() { return std::make_unique<Completion>(); }

}  // namespace longreach::client
