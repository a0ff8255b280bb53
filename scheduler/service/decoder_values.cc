#include "scheduler/service/decoder_values.h"

#include <algorithm>

#include "proto/catalog/decoders.h"
#include "proto/catalog/sequence_kinds.h"

namespace longreach::service {
namespace {

bool HasSeveralOutputs(const v1::Axes& axes) {
  return std::ranges::any_of(axes.task(), [](const std::string& task) { return catalog::HasSeveralOutputs(task); });
}

}  // namespace

std::map<std::string, bool> DecodersOf(const v1::SweepSpec& sweep) {
  if (!catalog::IsOfSequences(sweep.experiment())) return {};
  if (sweep.systems().empty()) return {{"", sweep.model().causal()}};
  std::map<std::string, bool> decoders;
  for (const v1::System& system : sweep.systems()) {
    const v1::Model& own = system.with().model();
    decoders[system.name()] = own.has_causal() ? own.causal() : sweep.model().causal();
  }
  return decoders;
}

std::string WhyUnmeasured(const v1::SweepSpec& sweep, std::string_view metric) {
  if (sweep.experiment() != "algorithmic") return "";  // Of pairs it is measured of encoders too.
  const std::map<std::string, bool> decoders = DecodersOf(sweep);
  const bool has_encoders = std::ranges::any_of(decoders, [](const auto& system) { return !system.second; });
  return metric == "exact_match" && has_encoders ? "it is measured of decoders alone (model.causal: true)" : "";
}

std::string NoteOnDecoders(const v1::SweepSpec& sweep, std::string_view metric, const std::set<std::string>& measured_systems) {
  if (!catalog::IsOfTrueOutputs(metric)) return "";
  bool of_decoders = false, of_encoders = false;
  for (const auto& [system, is_decoder] : DecodersOf(sweep)) {
    if (measured_systems.contains(system)) (is_decoder ? of_decoders : of_encoders) = true;
  }
  const bool has_several = HasSeveralOutputs(sweep.axes()) || std::ranges::any_of(sweep.systems(), [](const v1::System& system) { return HasSeveralOutputs(system.with().axes()); });
  return of_decoders && of_encoders && has_several ? catalog::WhyDecodersDoNotCompare(metric) : "";
}

}  // namespace longreach::service
