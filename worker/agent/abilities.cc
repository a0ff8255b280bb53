#include "worker/agent/abilities.h"

#include <unistd.h>

#include <algorithm>

#include "proto/base/build_info.h"
#include "proto/base/utf8.h"
#include "proto/catalog/catalog.h"
#include "proto/types/abilities.h"
#include "proto/types/wire_limits.h"
#include "worker/agent/noop.h"

namespace longreach::agent {

v1::Abilities AbilitiesOf(const v1::TrainerReady& trainer, const std::string& name, int threads, int packs, int pack_limit) {
  v1::Abilities abilities;
  abilities.set_name(name);
  abilities.set_build(BuildDescription());
  abilities.set_device(trainer.device());
  abilities.set_device_id(trainer.device_id());
  abilities.set_threads(threads > 0 ? threads : trainer.threads());
  abilities.set_memory_bytes(trainer.memory_bytes() / packs);
  abilities.set_pack_limit(pack_limit);
  *abilities.mutable_experiments() = trainer.experiments();
  abilities.add_experiments(std::string(kNoop));  // Needs no trainer.
  AddCatalog(abilities);
  for (const catalog::DataTask& task : catalog::DataTasks()) {
    v1::Ability& ability = *abilities.add_tasks();
    ability.set_name(std::string(task.name));
    ability.set_revision(task.revision);
  }
  return abilities;
}

void AddDamagedDataSet(const std::string& name, const std::string& reason, v1::Abilities& abilities) {
  if (abilities.damaged_data_sets_size() >= kMaxDamagedDataSets) return;
  std::string text = ValidUtf8(reason);
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.size() > kMaxDamageBytes) {
    size_t end = kMaxDamageBytes;
    while (end > 0 && IsWithinCharacter(text[end])) --end;
    text.resize(end);
  }
  v1::DamagedDataSet& damaged = *abilities.add_damaged_data_sets();
  damaged.set_name(name);
  damaged.set_reason(text);
}

int ShareOfThreads(int threads, int packs, int pack) { return std::max(1, threads / packs + (pack < threads % packs ? 1 : 0)); }

std::string HostName() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "worker";
  return ValidUtf8(name);
}

}  // namespace longreach::agent
