// A work unit is one member with one fixed group of tiles, computed by one thread; groups are added in order afterwards. So
// bits depend neither on pack nor on threads.
#include "worker/trainer/lanes/lanes_engine.h"

#include <algorithm>
#include <cmath>

#include "proto/base/text.h"
#include "proto/catalog/pair_tables.h"
#include "worker/trainer/engine/thread_pool.h"
#include "worker/trainer/engine/update.h"
#include "worker/trainer/lanes/floats.h"
#include "worker/trainer/lanes/lanes_pass.h"
#include "worker/trainer/vocabulary.h"

namespace longreach::trainer {

namespace {

// Gradient buffers that are in memory at a time.
constexpr int64_t kUnitsAtATime = 128;
// Members whose weights and tables are, in a test.
constexpr int64_t kTestMembersAtATime = 16;

// How many tables of so many floats are in memory at a time: at least one. Only those by pair come near.
int64_t TablesAtATime(int64_t floats) { return floats == 0 ? catalog::kTableFloatsAtATime : std::max<int64_t>(1, catalog::kTableFloatsAtATime / floats); }

// What a thread works in.
struct Workspace {
  Floats work;
  Floats logits;
  std::vector<uint16_t> keep;
};

class LanesEngine final : public StepEngine {
 public:
  LanesEngine(const PackSettings& settings, const EngineOptions& options, const lanes::Kernels& kernels)
      : StepEngine(settings),
        settings_(settings),
        kernels_(kernels),
        vocabulary_(VocabularyOf(settings)),
        pool_(options.threads, options.recorder),
        encoder_(settings, vocabulary_.read, vocabulary_.classes) {
    MakeModel();
  }

  std::string Name() const override { return kernels_.name; }
  const Model& model() const override { return encoder_; }
  int threads() const override { return pool_.threads(); }
  int OperandBits() const override { return static_cast<int>(kernels_.operands); }
  at::Device device() const override { return at::kCPU; }
  const Tensor& gradients() const override { return gradients_; }

  std::vector<double> Gradients(const Batch& batch, PackState& state) override {
    const torch::NoGradGuard no_grad;
    Bind(state);
    encoder_.encoding().Clamp(clamped_);
    if (!gradients_.defined() || gradients_.size(0) != state.size()) {
      gradients_ = at::zeros({state.size(), model_.stride}, at::kFloat);
      gradient_views_.clear();
      for (int64_t m = 0; m < state.size(); ++m) gradient_views_.push_back(ViewParameters(encoder_.layout(), gradients_[m]));
    }
    const LanesPass pass(settings_, encoder_, kernels_, batch, true);
    keep_.resize(static_cast<size_t>(pass.tiles() * pass.KeepSize()));
    const int64_t per_group = catalog::SequencesPerGroup(batch.size), groups = catalog::GroupsOf(batch.size);
    const std::vector<int64_t> live = Live(state);
    const int64_t units = std::min(kUnitsAtATime, TablesAtATime(OwnTablesSize(pass)));
    const int64_t at_a_time = std::max<int64_t>(1, units / groups);
    std::vector<double> losses(state.members.size(), 0);
    bool keep_made = pass.KeepSize() == 0;
    for (size_t first = 0; first < live.size(); first += static_cast<size_t>(at_a_time)) {
      const std::vector<int64_t> some(live.begin() + static_cast<ptrdiff_t>(first),
                                      live.begin() + static_cast<ptrdiff_t>(std::min(live.size(), first + static_cast<size_t>(at_a_time))));
      PrepareMembers(pass, some, true, !keep_made);
      keep_made = true;
      Units(pass, some, groups, per_group / kernels_.lanes, losses);
      AddGroups(pass, some, groups);
    }
    return losses;
  }

  std::vector<StepResult> Update(const std::vector<double>& losses, const std::vector<double>& learning_rates, PackState& state) override {
    return UpdateOnCpu(pool_, gradients_, losses, learning_rates, {.clip_norm = settings_.training.clip_norm}, state);
  }

  Tensor Logits(const Batch& batch, PackState& state) override {
    const torch::NoGradGuard no_grad;
    Bind(state);
    encoder_.encoding().Clamp(clamped_);
    std::vector<int64_t> all(state.members.size());
    for (size_t m = 0; m < all.size(); ++m) all[m] = static_cast<int64_t>(m);
    Tensor result = at::empty({state.size(), batch.size, batch.outputs, model_.classes}, at::kFloat);
    float* out = result.data_ptr<float>();
    TestMembers(batch, all, false, [] {}, [&](int64_t m, const lanes::Tile& tile, const float* logits) {
      for (int64_t i = 0; i < tile.live * batch.outputs; ++i) {
        const int64_t lane = i / batch.outputs, output = i % batch.outputs;
        for (int64_t c = 0; c < model_.classes; ++c) {
          out[((m * batch.size + tile.first + lane) * batch.outputs + output) * model_.classes + c] =
              logits[(output * model_.classes + c) * tile.lanes + lane];
        }
      }
    });
    return result.view({state.size(), batch.size * batch.outputs, model_.classes});
  }

  std::vector<TestResult> Evaluate(const Batch& batch, PackState& state, const std::function<void()>& between) override {
    const torch::NoGradGuard no_grad;
    Bind(state);
    encoder_.encoding().Clamp(clamped_);
    const int64_t tiles = (batch.size + kernels_.lanes - 1) / kernels_.lanes;
    // Of each tile, so that sums do not depend on who was first.
    std::vector<TestResult> parts(state.members.size() * static_cast<size_t>(tiles));
    TestMembers(batch, Live(state), settings_.evaluation.dropout, between, [&](int64_t m, const lanes::Tile& tile, const float* logits) {
      Count(batch, tile, logits, parts[static_cast<size_t>(m * tiles + tile.first / kernels_.lanes)]);
    });
    std::vector<TestResult> results(state.members.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      TestResult& result = results[i / static_cast<size_t>(tiles)];
      result.AddCounts(parts[i]);
      result.loss += parts[i].loss / static_cast<double>(batch.size * batch.outputs);
    }
    return results;
  }

 private:
  // Layers whose tables are made of the same parameters: one, or all.
  struct TablePart {
    int first;
    int last;
    std::vector<const Parameter*> parameters;
  };

  void MakeModel() {
    const ParameterLayout& layout = encoder_.layout();
    const auto at = [&](const std::string& name) { return layout.Find(name)->offset; };
    model_.layers = settings_.model.layers;
    model_.dim = settings_.model.embedding_dim;
    model_.heads = settings_.model.heads;
    model_.mlp = settings_.model.mlp_dim;
    model_.tokens = static_cast<int>(layout.Find("embed.w")->shape[0]);
    model_.classes = vocabulary_.classes;
    model_.stride = layout.stride();
    model_.embed = at("embed.w");
    model_.out_w = at("out.w");
    model_.out_b = at("out.b");
    if (const Parameter* table = layout.Find("pos.table")) model_.table = table->offset;
    model_.pre_norm = settings_.model.norm == PackSettings::Model::Norm::kPre;
    if (model_.pre_norm) {
      model_.final_scale = at("final_ln.scale");
      model_.final_offset = at("final_ln.offset");
    }
    MakeLayers();
    ListReduced();
  }

  void MakeLayers() {
    const auto at = [this](const std::string& name) { return encoder_.layout().Find(name)->offset; };
    for (int l = 0; l < model_.layers; ++l) {
      const std::string place = "layer" + std::to_string(l) + ".";
      model_.layer[l] = {.q = at(place + "attn.q.w"), .k = at(place + "attn.k.w"), .v = at(place + "attn.v.w"), .o = at(place + "attn.o.w"),
                         .norm1_scale = at(place + "ln1.scale"), .norm1_offset = at(place + "ln1.offset"),
                         .norm2_scale = at(place + "ln2.scale"), .norm2_offset = at(place + "ln2.offset"),
                         .mlp1_w = at(place + "ffn1.w"), .mlp1_b = at(place + "ffn1.b"),
                         .mlp2_w = at(place + "ffn2.w"), .mlp2_b = at(place + "ffn2.b")};
      const lanes::LayerOffsets& layer = model_.layer[l];
      const int64_t square = int64_t{model_.dim} * model_.dim;
      TORCH_CHECK(layer.k == layer.q + square && layer.v == layer.k + square && layer.v < layer.o && layer.o < layer.mlp1_w &&
                      layer.mlp1_w < layer.mlp2_w && (l == 0 || model_.layer[l - 1].mlp2_w < layer.q),
                  "the matrices of layers do not follow each other");
    }
  }

  // Which gradients the kernels make as [out, in]; those of what becomes tables come from these.
  void ListReduced() {
    const size_t of_tables = encoder_.encoding().Use() == PositionUse::kDistances ? encoder_.EncodingParameters().size() : 0;
    const std::span<const Parameter> all = encoder_.layout().parameters(), own = all.first(all.size() - of_tables);
    for (const Parameter& parameter : own) {
      const std::string& name = parameter.name;
      const bool transposed = name.ends_with("attn.q.w") || name.ends_with("attn.k.w") || name.ends_with("attn.v.w") || name.ends_with("ffn1.w");
      reduced_.push_back({&parameter, transposed});
    }
    std::ranges::stable_sort(reduced_, std::greater{}, [](const Reduced& sum) { return sum.parameter->size; });
    if (of_tables > 0) MakeTableParts();
  }

  void MakeTableParts() {
    bool shared = false;
    for (int l = 0; l < model_.layers; ++l) table_parts_.push_back({.first = l, .last = l + 1, .parameters = {}});
    for (const Parameter& parameter : encoder_.EncodingParameters()) {
      const auto part = std::ranges::find_if(
          table_parts_, [&](const TablePart& layer) { return parameter.name.starts_with(Text("layer", layer.first, ".")); });
      shared = shared || part == table_parts_.end();
      if (part != table_parts_.end()) part->parameters.push_back(&parameter);
    }
    if (!shared) return;
    table_parts_ = {{.first = 0, .last = model_.layers, .parameters = {}}};
    for (const Parameter& parameter : encoder_.EncodingParameters()) table_parts_[0].parameters.push_back(&parameter);
  }

  static std::vector<int64_t> Live(const PackState& state) {
    std::vector<int64_t> live;
    for (int64_t m = 0; m < state.size(); ++m) {
      if (state.members[static_cast<size_t>(m)].live) live.push_back(m);
    }
    return live;
  }

  // Makes the views of these buffers, if they are others than at the call before.
  void Bind(const PackState& state) {
    parameters_ = state.parameters.data_ptr<float>();
    if (parameters_ == bound_ && state.size() == static_cast<int64_t>(views_.size())) return;
    bound_ = parameters_;
    clamped_ = ViewParameters(encoder_.layout(), state.size() == 1 ? state.parameters[0] : state.parameters);
    views_.clear();
    for (int64_t m = 0; m < state.size(); ++m) views_.push_back(ViewParameters(encoder_.layout(), state.parameters[m]));
  }

  // Makes the tables of some members and packs their weights; and with `keep` the keep-bits of all tiles. What takes longest
  // comes first, and what is cut finest last, so that all threads end at about the same time.
  void PrepareMembers(const LanesPass& pass, const std::vector<int64_t>& members, bool backward, bool keep) {
    const int64_t count = static_cast<int64_t>(members.size()), parts = model_.layers + 1;
    packed_size_ = (kernels_.packed_size(model_) + 15) / 16 * 16;
    packed_.AtLeast(count * packed_size_);
    const bool tables = pass.pass().bias_trained;
    if (tables) tables_.AtLeast(count * pass.TablesSize());
    const int64_t table_items = tables ? count * model_.layers : 0, places = encoder_.DropoutPlaces();
    pool_.Run(table_items + count * parts + (keep ? pass.tiles() * places : 0), [&](int64_t item) {
      if (item < table_items) {
        const int64_t slot = item / model_.layers;
        MakeTable(pass, views_[static_cast<size_t>(members[static_cast<size_t>(slot)])], static_cast<int>(item % model_.layers),
                  tables_.data() + slot * pass.TablesSize());
        return;
      }
      item -= table_items;
      if (item < count * parts) {
        kernels_.pack(model_, parameters_ + members[static_cast<size_t>(item / parts)] * model_.stride, static_cast<int>(item % parts), backward,
                      packed_.data() + item / parts * packed_size_);
        return;
      }
      item -= count * parts;
      pass.FillKeep(item / places, static_cast<int>(item % places), keep_.data() + item / places * pass.KeepSize());
    });
  }

  void MakeTable(const LanesPass& pass, const ParameterSet& parameters, int layer, float* tables) {
    const torch::NoGradGuard no_grad;
    const Distances& distances = pass.batch().positions.distances[static_cast<size_t>(layer)];
    const Encoding& encoding = encoder_.encoding();
    if (pass.pass().distance_keys) {
      pass.PutContent(encoding.Content(distances, parameters, layer), layer, tables);
    } else if (pass.pass().bias == lanes::Bias::kByPair) {
      pass.ForQueries(layer, [&](int64_t first, int64_t queries) {
        pass.PutPairBias(encoding.PairBias(distances, parameters, layer, first, queries, pass.batch().tape), layer, first, tables);
      });
    } else {
      pass.PutBias(encoding.BiasTable(distances, parameters, layer), layer, tables);
    }
  }

  lanes::Member MemberAt(const LanesPass& pass, int64_t slot, int64_t member) {
    const float* parameters = parameters_ + member * model_.stride;
    const lanes::Pass& shared = pass.pass();
    lanes::Member here = {.parameters = parameters,
                          .packed = packed_.data() + slot * packed_size_,
                          .addition = shared.table_trained ? parameters + model_.table : pass.addition()};
    if (shared.bias_trained) {
      const lanes::TableGradients tables = pass.Tables(tables_.data() + slot * pass.TablesSize());
      here.bias = tables.bias;
      here.distance_keys = tables.distance_keys;
      here.content_bias = tables.content_bias;
    } else if (shared.bias != lanes::Bias::kNone) {
      here.bias = pass.bias().data();
    }
    return here;
  }

  // Floats of a member's own tables, and from one unit's gradient of them to the next.
  static int64_t OwnTablesSize(const LanesPass& pass) { return pass.pass().bias_trained ? pass.TablesSize() : 0; }

  // Forward and backward of all tiles; each group leaves its gradient in a buffer of its own.
  void Units(const LanesPass& pass, const std::vector<int64_t>& members, int64_t groups, int64_t tiles_per_group, std::vector<double>& losses) {
    const int64_t units = static_cast<int64_t>(members.size()) * groups, tables_stride = OwnTablesSize(pass);
    unit_gradients_.AtLeast(units * model_.stride);
    table_gradients_.AtLeast(units * tables_stride);
    std::vector<double> unit_losses(static_cast<size_t>(units), 0);
    const double weight = 1.0 / static_cast<double>(pass.batch().size * pass.batch().outputs);
    const int64_t work_size = kernels_.work_size(model_, pass.pass(), true);
    pool_.Run(units, [&](int64_t unit) {
      const int64_t slot = unit / groups, group = unit % groups;
      const lanes::Member member = MemberAt(pass, slot, members[static_cast<size_t>(slot)]);
      float* gradient = unit_gradients_.data() + unit * model_.stride;
      lanes::TableGradients tables;
      if (tables_stride > 0) {
        float* to = table_gradients_.data() + unit * tables_stride;
        std::fill_n(to, tables_stride, 0.0f);
        tables = pass.Tables(to);
      }
      std::unique_ptr<Workspace> workspace = TakeWorkspace();
      float* work = workspace->work.AtLeast(work_size);
      double loss = 0;
      for (int64_t t = group * tiles_per_group; t < std::min(pass.tiles(), (group + 1) * tiles_per_group); ++t) {
        lanes::Tile tile = pass.Tile(t);
        tile.fresh = t == group * tiles_per_group;
        if (pass.KeepSize() > 0) tile.keep = keep_.data() + t * pass.KeepSize();
        loss += pass.KernelsOf(tile).train(model_, pass.pass(), member, tile, weight, work, gradient, tables);
      }
      unit_losses[static_cast<size_t>(unit)] = loss;
      PutBack(std::move(workspace));
    });
    for (int64_t unit = 0; unit < units; ++unit) {
      losses[static_cast<size_t>(members[static_cast<size_t>(unit / groups)])] += unit_losses[static_cast<size_t>(unit)];
    }
  }

  // Sums of the groups, in order, into gradients_. The longest items come first, as in PrepareMembers().
  void AddGroups(const LanesPass& pass, const std::vector<int64_t>& members, int64_t groups) {
    const int64_t count = static_cast<int64_t>(members.size()), sums = static_cast<int64_t>(reduced_.size());
    const int64_t table_parts = static_cast<int64_t>(table_parts_.size()), table_items = count * table_parts;
    pool_.Run(table_items + count * sums, [&](int64_t item) {
      if (item < table_items) {
        const int64_t slot = item / table_parts;
        AddTables(pass, members[static_cast<size_t>(slot)], groups, table_parts_[static_cast<size_t>(item % table_parts)],
                  table_gradients_.data() + slot * groups * pass.TablesSize());
        return;
      }
      item -= table_items;
      const int64_t slot = item / sums, member = members[static_cast<size_t>(slot)];
      const auto& [parameter, transposed] = reduced_[static_cast<size_t>(item % sums)];
      // Made as [out, in] where transposed.
      const int64_t columns = transposed ? parameter->shape[0] : parameter->size, rows = parameter->size / columns;
      kernels_.reduce(unit_gradients_.data() + slot * groups * model_.stride + parameter->offset, groups, model_.stride, rows, columns,
                      transposed, gradients_.data_ptr<float>() + member * model_.stride + parameter->offset);
    });
  }

  // Of some layers: the sum of the groups, which lie one after the other and get it in place of the first, and what it makes of
  // the parameters.
  void AddTables(const LanesPass& pass, int64_t member, int64_t groups, const TablePart& part, float* tables) {
    const torch::NoGradGuard no_grad;
    const ParameterSet &parameters = views_[static_cast<size_t>(member)], &into = gradient_views_[static_cast<size_t>(member)];
    for (const Parameter* parameter : part.parameters) {
      std::fill_n(gradients_.data_ptr<float>() + member * model_.stride + parameter->offset, parameter->size, 0.0f);
    }
    for (int layer = part.first; layer < part.last; ++layer) {
      for (const auto& [first, size] : pass.LayerTables(layer)) {
        kernels_.reduce(tables + first, groups, pass.TablesSize(), 1, size, false, tables + first);
      }
      const Distances& distances = pass.batch().positions.distances[static_cast<size_t>(layer)];
      const Encoding& encoding = encoder_.encoding();
      if (pass.pass().distance_keys) {
        const ContentTerm content = encoding.Content(distances, parameters, layer);
        encoding.AddContentGradient(distances, layer, pass.ContentGradient(content, layer, tables), into);
      } else if (pass.pass().bias == lanes::Bias::kByPair) {
        pass.ForQueries(layer, [&](int64_t first, int64_t queries) {
          encoding.AddPairGradient(distances, parameters, layer, first, pass.PairBiasGradient(tables, layer, first, queries), into);
        });
      } else {
        encoding.AddBiasGradient(distances, parameters, layer, pass.BiasGradient(tables, layer), into);
      }
    }
  }

  // Takes all tiles of a batch through the network, for some members; use(member, tile, logits) on any thread.
  void TestMembers(const Batch& batch, const std::vector<int64_t>& members, bool dropout, const std::function<void()>& between,
                   const std::function<void(int64_t, const lanes::Tile&, const float*)>& use) {
    const LanesPass pass(settings_, encoder_, kernels_, batch, dropout);
    const int64_t work_size = kernels_.work_size(model_, pass.pass(), false);
    const int64_t logits_size = batch.outputs * model_.classes * kernels_.lanes;
    const size_t members_at_a_time = static_cast<size_t>(std::min(kTestMembersAtATime, TablesAtATime(OwnTablesSize(pass))));
    for (size_t first = 0; first < members.size(); first += members_at_a_time) {
      const std::vector<int64_t> some(members.begin() + static_cast<ptrdiff_t>(first),
                                      members.begin() + static_cast<ptrdiff_t>(std::min(members.size(), first + members_at_a_time)));
      PrepareMembers(pass, some, false, false);
      const int64_t units = static_cast<int64_t>(some.size()) * pass.tiles(), at_a_time = 4 * pool_.threads();
      for (int64_t done = 0; done < units; done += at_a_time) {
        pool_.Run(std::min(at_a_time, units - done), [&](int64_t i) {
          const int64_t slot = (done + i) / pass.tiles();
          lanes::Tile tile = pass.Tile((done + i) % pass.tiles());
          std::unique_ptr<Workspace> workspace = TakeWorkspace();
          if (pass.KeepSize() > 0) {
            workspace->keep.resize(static_cast<size_t>(pass.KeepSize()));
            pass.FillKeep((done + i) % pass.tiles(), workspace->keep.data());
            tile.keep = workspace->keep.data();
          }
          float* logits = workspace->logits.AtLeast(logits_size);
          pass.KernelsOf(tile).test(model_, pass.pass(), MemberAt(pass, slot, some[static_cast<size_t>(slot)]), tile,
                                    workspace->work.AtLeast(work_size), logits);
          use(some[static_cast<size_t>(slot)], tile, logits);
          PutBack(std::move(workspace));
        });
        between();
      }
    }
  }

  // Adds a tile's part to the sums.
  void Count(const Batch& batch, const lanes::Tile& tile, const float* logits, TestResult& result) const {
    const int64_t lanes = tile.lanes;
    for (int64_t lane = 0; lane < tile.live; ++lane) {
      const int32_t valid = batch.valid[static_cast<size_t>(tile.first + lane)];
      bool missed = false;
      for (int64_t o = 0; o < batch.outputs; ++o) {
        const float* logit = logits + o * model_.classes * lanes + lane;
        const int32_t target = tile.targets[o * lanes + lane];
        int best = 0;
        for (int c = 1; c < model_.classes; ++c) {
          if (logit[c * lanes] > logit[best * lanes]) best = c;
        }
        double sum = 0;
        for (int c = 0; c < model_.classes; ++c) sum += std::exp(static_cast<double>(logit[c * lanes]) - static_cast<double>(logit[best * lanes]));
        result.loss += std::log(sum) - (static_cast<double>(logit[target * lanes]) - static_cast<double>(logit[best * lanes]));
        if (o >= valid) continue;
        result.Count(o, best == target);
        missed = missed || best != target;
      }
      if (!missed) ++result.exact;
    }
  }

  std::unique_ptr<Workspace> TakeWorkspace() {
    auto free = free_.Lock();
    if (free->empty()) return std::make_unique<Workspace>();
    std::unique_ptr<Workspace> workspace = std::move(free->back());
    free->pop_back();
    return workspace;
  }
  void PutBack(std::unique_ptr<Workspace> workspace) { free_.Lock()->push_back(std::move(workspace)); }

  struct Reduced {
    const Parameter* parameter;
    bool transposed;
  };

  PackSettings settings_;
  const lanes::Kernels& kernels_;
  const Vocabulary vocabulary_;
  ThreadPool pool_;
  Encoder encoder_;
  lanes::Model model_;
  std::vector<Reduced> reduced_;         // The largest first.
  std::vector<TablePart> table_parts_;   // Of an encoding that makes tables of parameters.

  float* parameters_ = nullptr;
  const float* bound_ = nullptr;
  ParameterSet clamped_;
  std::vector<ParameterSet> views_;           // By member.
  std::vector<ParameterSet> gradient_views_;  // By member.
  Tensor gradients_;                          // [E, stride].
  int64_t packed_size_ = 0;
  Floats packed_;                // [members at a time][packed_size_].
  Floats tables_;                // [members at a time][TablesSize()].
  Floats unit_gradients_;        // [members at a time][groups][stride].
  Floats table_gradients_;       // [members at a time][groups][OwnTablesSize()].
  std::vector<uint16_t> keep_;   // [tiles][KeepSize()].
  Synchronized<std::vector<std::unique_ptr<Workspace>>> free_;
};

}  // namespace

std::unique_ptr<StepEngine> MakeLanesEngine(const PackSettings& settings, const EngineOptions& options, const lanes::Kernels& kernels) {
  return std::make_unique<LanesEngine>(settings, options, kernels);
}

}  // namespace longreach::trainer
