#include "proto/types/abilities.h"

#include "proto/catalog/catalog.h"

namespace longreach {

void AddCatalog(v1::Abilities& abilities) {
  const auto set = [](v1::Ability& ability, const auto& known) {
    ability.set_name(std::string(known.name));
    ability.set_revision(known.revision);
  };
  for (const catalog::Task& task : catalog::Tasks()) set(*abilities.add_tasks(), task);
  for (const catalog::Encoding& encoding : catalog::Encodings()) set(*abilities.add_encodings(), encoding);
  abilities.set_model_revision(catalog::kModelRevision);
}

}  // namespace longreach
