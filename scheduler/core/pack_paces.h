// How long the packs of a sweep take, learnt from those that have ended: what the task, the encoding, the system and the worker have to do with it,
// and how far packs that are alike in all of these still differ.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace longreach::core {

// What the jobs of a pack have in common, as far as it says how long they take.
struct PackKind {
  std::string task{};
  std::string encoding{};  // NAME or NAME:randomized.
  std::string system{};    // Empty: its sweep has none.

  auto operator<=>(const PackKind&) const = default;
};

// A pack that was trained from its first step to its result.
struct EndedPack {
  PackKind kind{};
  std::string worker{};
  double job_steps = 0;  // Of all of its jobs; more than 0.
  double seconds = 0;    // From its lease to its result, tests included; more than 0.
};

// What is known of a number: a normal distribution, or, with `freedom`, Student's t with so many degrees of freedom, which is wider, as its spread is
// itself a guess.
struct Guess {
  double mean = 0;
  double spread = 0;
  int freedom = 0;
};

// The logarithm of a pack's seconds per job-step is taken for a sum: a mean, a part of its task, one of its encoding, one of its system, one of its
// worker, one of the kind that these three make together, and a rest of its own.
class PackPaces {
 public:
  enum Part : size_t { kOfTask, kOfEncoding, kOfSystem, kOfWorker };
  static constexpr size_t kParts = 4;

  // `ended` is not empty.
  explicit PackPaces(std::span<const EndedPack> ended);

  double mean() const { return mean_; }
  double rest() const { return rest_; }           // Its standard deviation.
  double unexplained() const { return unexplained_; }  // That of the kind's own part and the rest together.

  // Of a task, an encoding, a system or a worker. One that was not measured may be any: then it is as far from the others as these are from each other.
  Guess Of(Part part, const std::string& name) const;
  // What a kind has beside the parts of its task, its encoding and its system.
  Guess OfKind(const PackKind& kind) const;

  // All of these were measured.
  bool Knows(const PackKind& kind, const std::string& worker) const;
  // The sum of the means.
  double Usual(const PackKind& kind, const std::string& worker) const;

 private:
  struct Level {
    double mean = 0;
    int packs = 0;
    double sum = 0;    // Of what these packs have beside the other parts.
    int kinds = 0;     // Of these packs.
  };
  // A pack that is learnt from.
  struct Measured {
    double log = 0;                        // Of its seconds per job-step.
    std::array<Level*, kParts> levels{};  // Nodes of a map stay where they are.

    // What is left of it without the mean and the parts, but for one of these; kParts: without all.
    double Beside(double mean, size_t part) const;
  };
  struct Cell {
    double sum = 0;
    int packs = 0;
  };

  // One after the other, each from what those before it have found.
  std::vector<Measured> Measure(std::span<const EndedPack> ended);
  void FindParts(std::span<const Measured> packs);
  void FindRest(std::span<const EndedPack> ended, std::span<const Measured> packs);
  void GuessUnmeasured(std::span<const EndedPack> ended);

  double mean_ = 0;
  double rest_ = 0;
  double unexplained_ = 0;
  double of_kinds_ = 0;  // The variance of the kinds' own parts.
  std::array<std::map<std::string, Level>, kParts> levels_;
  std::array<Guess, kParts> unmeasured_;
  std::map<PackKind, Cell> cells_;  // Of what the parts leave unexplained.
};

}  // namespace longreach::core
