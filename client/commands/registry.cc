// The commands: one line each, ascending by name. Make_<name> is in <name>.cc.
#include "client/commands/command.h"

#define LONGREACH_COMMANDS \
  X(attention)             \
  X(cancel)                \
  X(certs)                 \
  X(compare)               \
  X(complete)              \
  X(completion)            \
  X(config)                \
  X(cost)                  \
  X(dashboard)             \
  X(data)                  \
  X(diff)                  \
  X(doctor)                \
  X(drain)                 \
  X(explain)               \
  X(export)                \
  X(job)                   \
  X(jobs)                  \
  X(list)                  \
  X(logs)                  \
  X(pause)                 \
  X(plan)                  \
  X(plot)                  \
  X(priority)              \
  X(reach)                 \
  X(reference)             \
  X(results)               \
  X(resume)                \
  X(retry)                 \
  X(run)                   \
  X(spec)                  \
  X(status)                \
  X(store)                 \
  X(submit)                \
  X(sweeps)                \
  X(tensorboard)           \
  X(verify)                \
  X(version)               \
  X(wait)                  \
  X(watch)                 \
  X(workers)

namespace longreach::client {

#define X(name) std::unique_ptr<Command> Make_##name();
LONGREACH_COMMANDS
#undef X

std::span<const CommandEntry> Commands() {
#define X(name) {#name, &Make_##name},
  static constexpr CommandEntry kCommands[] = {LONGREACH_COMMANDS};
#undef X
  return kCommands;
}

}  // namespace longreach::client
