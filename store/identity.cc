#include "store/identity.h"

namespace longreach::store {

absl::StatusOr<std::string> Identity(sql::Connection& db) { return db.One<std::string>("SELECT id FROM identity"); }

}  // namespace longreach::store
