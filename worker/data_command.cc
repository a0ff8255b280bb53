#include "worker/data_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "proto/base/sha256.h"
#include "proto/base/status.h"
#include "proto/base/text.h"
#include "proto/catalog/longbench.h"
#include "worker/data/data_folder.h"
#include "worker/data/import_images.h"
#include "worker/data/import_longbench.h"
#include "worker/data/import_model.h"
#include "worker/data/import_pairs.h"
#include "worker/data/import_text.h"
#include "worker/data/import_tokens.h"
#include "worker/data/pair_set.h"
#include "worker/data/progress.h"
#include "worker/data/recipes.h"
#include "worker/data/staging.h"
#include "worker/data_words.h"
#include "worker/refused.h"
#include "worker/tokenizer/sentence_pieces.h"

namespace longreach {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;

using Json = nlohmann::ordered_json;

void PrintJson(Json json) {
  Json document = {{"schema", "longreach/v1"}};
  document.update(json);
  fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

struct DataCommand::Options {
  CLI::App* data = nullptr;
  CLI::App* import = nullptr;
  CLI::App* text = nullptr;
  CLI::App* images = nullptr;
  CLI::App* synthetic = nullptr;
  CLI::App* model = nullptr;
  CLI::App* tokens = nullptr;
  CLI::App* longbench = nullptr;
  CLI::App* pairs = nullptr;
  CLI::App* ensure = nullptr;
  CLI::App* list = nullptr;
  CLI::App* check = nullptr;
  CLI::App* remove = nullptr;
  CLI::App* show = nullptr;
  CLI::App* fitting = nullptr;

  std::filesystem::path folder = data::DefaultDataFolder();
  std::string output = "table";
  std::string name;
  std::vector<std::string> to_ensure;
  std::string kinds;  // NAME=KIND,...
  std::vector<std::string> jobs;
  std::vector<std::filesystem::path> sources;
  std::string source_folder;
  std::vector<int> split = {90, 5, 5};
  std::string sizes = SizesText(data::DefaultSizes());
  std::string fit = "squash";
  std::string size;
  int64_t number = 0;
  bool train = false;
  bool quiet = false;
  data::ImagesImport images_import;
  data::SyntheticImages synthetic_images;
  bool nope = false;
  bool link = false;
  std::string tokenizer;
  data::TokenImport token_import;
  std::vector<int> token_split = {90, 10};
  std::string symbols = "characters";
  data::PairImport pair_import;
  DataChecks checks;

  bool json() const { return output == "json"; }
  void AddCommon(CLI::App& app) {
    AddDataFolder(app, folder);
    app.add_option("-o,--output", output, "table or json")->check(CLI::IsMember({"table", "json"}))->capture_default_str();
    app.add_flag("-q,--quiet", quiet, "Say nothing but errors");
  }
  void AddName(CLI::App& app) {
    app.add_option("--name", name, "The data set's name, as sweeps call it under 'data'")->type_name("NAME")->required();
  }
  void AddSizes(CLI::App& app) {
    app.add_option("--sizes", sizes, "Sizes to keep, ROWSxCOLUMNS; a job trains and is evaluated at these")
        ->type_name("SIZES")->capture_default_str();
  }
  absl::StatusOr<data::ShardImport> Shards() const {
    data::ShardImport shards = images_import.shards;
    ASSIGN_OR_RETURN(shards.sizes, data::ParseSizes(sizes));
    ASSIGN_OR_RETURN(shards.fit, data::FitOf(fit));
    return shards;
  }

  std::unique_ptr<data::Progress> MakeProgress() const {
    if (quiet) return std::make_unique<data::NoProgress>();
    return std::make_unique<data::ProgressBar>();
  }
  absl::StatusOr<data::Manifest> Import() const;
  absl::StatusOr<data::Manifest> ImportModel() const;
  absl::StatusOr<data::Manifest> ImportTokens() const;
  absl::StatusOr<data::Manifest> ImportLongBench() const;
  absl::StatusOr<data::Manifest> ImportPairs() const;
  int Ensure() const;
  void SayWhatIsMade(const std::string& wanted) const;
  // Of one that looks into the folder: whether there is one.
  bool IsThere() const;
  absl::Status CheckNamedFolder(const CLI::App& command) const;
  int List() const;
  int Check() const;
  int Show() const;
  int ShowImage() const;
  int ShowPair() const;
};

CLI::Option* AddDataFolder(CLI::App& app, std::filesystem::path& folder) {
  // The default has looked at LONGREACH_DATA. CLI11's own look would set the variable once more for each command that was not
  // given, and so over what was.
  return app.add_option("--data-folder", folder, "Where this machine's data sets lie [LONGREACH_DATA]")->type_name("DIR")->capture_default_str();
}

DataCommand::DataCommand(CLI::App& app, DataChecks checks) : options_(std::make_unique<Options>()) {
  Options& o = *options_;
  o.checks = std::move(checks);
  o.data = app.add_subcommand("data", "Import data sets, and look after those that are there.");
  o.data->require_subcommand(1);

  o.import = o.data->add_subcommand("import", "Make a data set of files; an interrupted import of texts or images goes on where it was");
  o.import->require_subcommand(1);
  o.text = o.import->add_subcommand("text", "Files, or the text files of folders, or a zip archive: one corpus of bytes");
  o.text->add_option("PATH", o.sources, "Joined in this order; folders by the names in them")->required();
  o.text->add_option("--split", o.split, "Per cent for training, validation and test, from the front")
      ->delimiter(',')->expected(3)->type_name("A,B,C")->capture_default_str();
  o.images = o.import->add_subcommand("images", "A folder of class folders of JPEG or PNG files, with or without train/ and val/");
  o.images->add_option("DIR", o.source_folder, "train/CLASS/FILE and val/..., or CLASS/FILE")->required();
  o.images->add_option("--valid-labels", o.images_import.listing.valid_labels,
                       "Lines of 'FILE CLASS', for validation images without class folders [val_labels.txt, LOC_val_solution.csv ...]")
      ->type_name("FILE");
  o.images->add_option("--valid-percent", o.images_import.listing.valid_percent, "Of each class, where there is no val/")->capture_default_str();
  o.images->add_option("--fit", o.fit, "What changes an image's shape: squash it, or crop its middle")
      ->check(CLI::IsMember({"squash", "crop"}))->capture_default_str();
  o.images->add_flag("--skip-broken", o.images_import.shards.skip_broken, "Leave out images that cannot be read, and list them");
  o.images->add_option("--threads", o.images_import.shards.threads, "Threads to decode with; 0: all cores")
      ->check(CLI::Range(0, 4096))->capture_default_str();
  o.synthetic = o.import->add_subcommand("synthetic-images", "Generated images: the class depends on a top and a bottom row");
  o.synthetic->add_option("--train", o.synthetic_images.train, "Training images")->capture_default_str();
  o.synthetic->add_option("--valid", o.synthetic_images.valid, "Validation images")->capture_default_str();
  o.synthetic->add_option("--seed", o.synthetic_images.seed, "Another seed gives other images")->capture_default_str();
  AddOfModels();
  AddOfPairs();
  for (CLI::App* kind : {o.text, o.images, o.synthetic, o.model, o.tokens, o.longbench, o.pairs}) {
    o.AddName(*kind);
    o.AddCommon(*kind);
  }
  for (CLI::App* kind : {o.images, o.synthetic}) o.AddSizes(*kind);

  std::string recipes = "Made without a source:";
  for (const data::Recipe& recipe : data::Recipes()) recipes += fmt::format("\n  {:<14}{}", recipe.name, recipe.summary);
  o.ensure = o.data->add_subcommand("ensure", "See that data sets are there; make those that take no source");
  o.ensure->footer(recipes);
  o.list = o.data->add_subcommand("list", "The data sets of this machine");
  o.check = o.data->add_subcommand("check", "Read data sets to the end and compare their hashes");
  o.remove = o.data->add_subcommand("remove", "Remove a data set, or what an interrupted import left");
  o.show = o.data->add_subcommand("show", "Write one image as a PGM file, or one pair as a line of JSON, to standard output");
  o.ensure->add_option("NAME", o.to_ensure, "The data sets; of those that are missing and need a source all are told, and none is made")->required();
  o.ensure->add_option("--kinds", o.kinds)->group("");  // Hidden: 'longreach run' says which kind its sweep reads.
  for (CLI::App* command : {o.check, o.remove, o.show}) {
    command->add_option("NAME", o.name, "The data set")->required(command != o.check);
  }
  o.show->add_option("NUMBER", o.number, "Which one, from 0; pairs by the lengths of their inputs")->required();
  o.show->add_option("--size", o.size, "Of an image: ROWSxCOLUMNS [the first]")->type_name("SIZE");
  o.show->add_flag("--train", o.train, "Of those to train on [images: validation; pairs: test]");
  // Hidden: 'longreach run' asks before it submits. The jobs are JobSpecs as JSON.
  o.fitting = o.data->add_subcommand("fit", "")->group("");
  o.fitting->add_option("JOB", o.jobs)->required();
  for (CLI::App* command : {o.ensure, o.list, o.check, o.remove, o.show, o.fitting}) o.AddCommon(*command);
}

void DataCommand::AddOfModels() {
  Options& o = *options_;
  o.model = o.import->add_subcommand("model", "A published LLaMA-type model, in a folder as Hugging Face keeps it");
  o.model->add_option("DIR", o.source_folder, "config.json, model.safetensors or its shards and, if it is there, tokenizer.model")->required();
  o.model->add_flag("--nope", o.nope, "It was trained without positions, which its config.json does not say");
  o.model->add_flag("--link", o.link, "Hard links in place of copies: no space taken, but who changes the files changes the data set");
  o.tokens = o.import->add_subcommand("tokens", "Texts, one document per file or JSON line, or packed files: a corpus of tokens");
  o.tokens->add_option("PATH", o.sources, "Files, or folders of them: text, *.jsonl, TinyLlama's packed *.bin");
  o.tokens->add_option("--tokenizer", o.tokenizer, "tokenizer.model, a folder that has one, or an imported model")->type_name("PATH");
  o.tokens->add_option("--test", o.token_import.test_sources, "What to test on; PATH is for training then")->delimiter(',')->type_name("PATH,...");
  o.tokens->add_option("--split", o.token_split, "Per cent of the tokens for training and test, from the front, cut between documents; not with --test")
      ->delimiter(',')->expected(2)->type_name("A,B")->capture_default_str();
  o.tokens->add_option("--text-field", o.token_import.text_field, "Of a JSON line: where its text is")->capture_default_str();
  o.tokens->add_option("--vocabulary", o.token_import.vocabulary, "Ids of the models that shall read it [those of the tokenizer]");
  o.longbench = o.import->add_subcommand("longbench", "LongBench's tasks in English and code, as they are published: TASK.jsonl");
  o.longbench->add_option("DIR", o.source_folder, "The folder that its data was unpacked to; it may lack tasks")->required();
}

void DataCommand::AddOfPairs() {
  Options& o = *options_;
  o.pairs = o.import->add_subcommand("pairs", "Inputs with the outputs that a model shall give: JSON lines, or lines of 'input TAB output'");
  o.pairs->add_option("FILE", o.sources, "Pairs to train on")->required();
  o.pairs->add_option("--test", o.pair_import.test_sources, "Pairs to test on")->delimiter(',')->type_name("PATH,...")->required();
  o.pairs->add_option("--symbols", o.symbols, "What a text is made of: characters, or words between white space; each is a symbol")
      ->check(CLI::IsMember({"characters", "words"}))->capture_default_str();
  o.pairs->add_option("--input-field", o.pair_import.format.input_field, "Of a JSON line: where its input is")->capture_default_str();
  o.pairs->add_option("--output-field", o.pair_import.format.output_field, "Of a JSON line: where its output is")->capture_default_str();
  o.pairs->add_option("--positions-field", o.pair_import.format.positions_field, "Of a JSON line: where its positions are, if it has any")->capture_default_str();
}

DataCommand::~DataCommand() = default;

bool DataCommand::chosen() const { return options_->data->parsed(); }

bool DataCommand::json() const { return options_->json(); }

bool DataCommand::asks_trainer() const { return options_->model->parsed() || options_->fitting->parsed(); }

absl::StatusOr<data::Manifest> DataCommand::Options::Import() const {
  const std::unique_ptr<data::Progress> progress = MakeProgress();
  if (text->parsed()) {
    return data::ImportText({.folder = folder, .name = name, .sources = sources, .split = {split[0], split[1], split[2]}}, *progress);
  }
  if (model->parsed()) return ImportModel();
  if (tokens->parsed()) return ImportTokens();
  if (longbench->parsed()) return ImportLongBench();
  if (pairs->parsed()) return ImportPairs();
  ASSIGN_OR_RETURN(const data::ShardImport shards, Shards());
  if (images->parsed()) {
    return data::ImportImages({.folder = folder, .name = name, .source = source_folder, .listing = images_import.listing, .shards = shards},
                              *progress);
  }
  data::SyntheticImages wanted = synthetic_images;
  wanted.folder = folder;
  wanted.name = name;
  wanted.shards = shards;
  return data::MakeSyntheticImages(wanted, *progress);
}

absl::StatusOr<data::Manifest> DataCommand::Options::ImportModel() const {
  ASSIGN_OR_RETURN(const trainer::ModelFolder checked, checks.model(source_folder));
  const std::unique_ptr<data::Progress> progress = MakeProgress();
  return data::ImportModel({.folder = folder,
                            .name = name,
                            .source = source_folder,
                            .files = checked.files,
                            .description = checked.description,
                            .nope = nope || checked.nope,
                            .skipped = checked.skipped,
                            .link = link},
                           *progress);
}

absl::StatusOr<data::Manifest> DataCommand::Options::ImportTokens() const {
  data::TokenImport wanted = token_import;
  wanted.folder = folder;
  wanted.name = name;
  wanted.sources = sources;
  wanted.split = {token_split[0], token_split[1]};
  if (sources.empty() && wanted.test_sources.empty()) return absl::InvalidArgumentError("no file was given; name those to train on, or --test");
  if (!wanted.test_sources.empty() && tokens->count("--split") > 0) {
    return absl::InvalidArgumentError("--split: with --test nothing is split, as PATH is all for training; leave out one of the two");
  }
  std::unique_ptr<tokenizer::SentencePieces> pieces;
  if (!tokenizer.empty()) {
    std::error_code error;
    std::filesystem::path file = tokenizer;
    const bool is_imported = !std::filesystem::exists(file, error) && data::CheckName(tokenizer).ok();
    if (is_imported) {
      file = folder / tokenizer;
      if (!std::filesystem::exists(file, error)) {
        return absl::NotFoundError(fmt::format("--tokenizer: there is neither a file '{0}' nor an imported model of that name in {1}; name a tokenizer.model, a folder that "
                                               "has one, or first 'longreach data import model DIR --name {0}'", tokenizer, folder.string()));
      }
    }
    if (std::filesystem::is_directory(file, error)) {
      if (!std::filesystem::exists(file / "tokenizer.model", error)) {
        // It knows what to do about a folder without one; but what is put into a data set's later belongs to none.
        if (!is_imported) return longreach::tokenizer::TokenizerOfFolder(file, {}).status();
        return absl::NotFoundError(fmt::format("--tokenizer: the data set '{}' was imported without tokenizer.model; name that file where it lies, or import the model "
                                               "under another name from a folder that has it", tokenizer));
      }
      file /= "tokenizer.model";
    }
    ASSIGN_OR_RETURN(wanted.tokenizer_sha256, Sha256OfFile(file));
    ASSIGN_OR_RETURN(pieces, longreach::tokenizer::SentencePieces::Start(file));
  }
  const std::unique_ptr<data::Progress> progress = MakeProgress();
  return data::ImportTokens(wanted, pieces.get(), *progress);
}

absl::StatusOr<data::Manifest> DataCommand::Options::ImportLongBench() const {
  data::LongBenchImport wanted{.folder = folder, .name = name, .source = source_folder, .tasks = {}};
  for (const catalog::LongBenchTask& task : catalog::kLongBenchTasks) {
    wanted.tasks.push_back({.name = std::string(task.name), .classes = task.metric == catalog::LongBenchMetric::kClassMatch});
  }
  const std::unique_ptr<data::Progress> progress = MakeProgress();
  return data::ImportLongBench(wanted, *progress);
}

absl::StatusOr<data::Manifest> DataCommand::Options::ImportPairs() const {
  data::PairImport wanted = pair_import;
  wanted.folder = folder;
  wanted.name = name;
  wanted.sources = sources;
  wanted.format.symbols = symbols == "words" ? data::Symbols::kWords : data::Symbols::kCharacters;
  const std::unique_ptr<data::Progress> progress = MakeProgress();
  return data::ImportPairs(wanted, *progress);
}

int DataCommand::Options::Ensure() const {
  // Making one may take long.
  std::map<std::string, std::string> known;
  for (const std::string& one : Split(kinds, ',')) {
    if (const size_t at = one.find('='); at != std::string::npos) known[one.substr(0, at)] = one.substr(at + 1);
  }
  if (const absl::Status can = data::CheckCanBeHad(folder, to_ensure, known); !can.ok()) return Refused(can, json());
  Json sets = Json::array();
  for (const std::string& wanted : to_ensure) {
    if (!quiet) SayWhatIsMade(wanted);
    bool made = false;
    const absl::StatusOr<data::Manifest> manifest = data::Ensure(folder, wanted, *MakeProgress(), made);
    if (!manifest.ok()) return Refused(manifest.status(), json());
    sets.push_back({{"data_set", DataSetJson(*manifest)}, {"made", made}});
  }
  if (!json()) return kDone;
  if (to_ensure.size() == 1) PrintJson(sets.front());
  else PrintJson({{"data_sets", std::move(sets)}});
  return kDone;
}

void DataCommand::Options::SayWhatIsMade(const std::string& wanted) const {
  for (const data::Recipe& recipe : data::Recipes()) {
    if (recipe.name == wanted && data::ReadDataSet(folder, wanted).status().code() == absl::StatusCode::kNotFound) {
      fmt::print(stderr, "making the data set '{}' in {}: {}\n", wanted, folder.string(), recipe.summary);
    }
  }
}

bool DataCommand::Options::IsThere() const {
  std::error_code unknown;  // Then it is looked into, which says why that cannot be.
  return std::filesystem::status(folder, unknown).type() != std::filesystem::file_type::not_found;
}

// The usual folder is made by the first import. Whoever names another one to look into it means one that is there.
absl::Status DataCommand::Options::CheckNamedFolder(const CLI::App& command) const {
  if (command.count("--data-folder") == 0 || IsThere()) return absl::OkStatus();
  return absl::NotFoundError(fmt::format("there is no folder '{}'; name the one that the data sets lie in with --data-folder, or leave that out for '{}'", folder.string(),
                                         data::DefaultDataFolder().string()));
}

int DataCommand::Options::List() const {
  if (const absl::Status named = CheckNamedFolder(*list); !named.ok()) return Refused(named, json());
  const data::Listing listing = data::ListDataSets(folder);
  if (!listing.status.ok()) return Refused(listing.status, json());
  if (json()) {
    Json sets = Json::array();
    for (const data::Manifest& manifest : listing.data_sets) sets.push_back(DataSetJson(manifest));
    Json damaged = Json::array();
    for (const data::DamagedSet& one : listing.damaged) damaged.push_back(one.Text());
    PrintJson({{"folder", folder.string()}, {"data_sets", std::move(sets)}, {"damaged", std::move(damaged)}});
    return kDone;
  }
  size_t width = 0;
  for (const data::Manifest& manifest : listing.data_sets) width = std::max(width, manifest.name.size());
  for (const data::Manifest& manifest : listing.data_sets) {
    fmt::print("{:<{}}  {:<9}  {:.8}  {}\n", manifest.name, width, data::Word(manifest.kind), manifest.Identity(), ContentsOf(manifest));
  }
  for (const data::DamagedSet& one : listing.damaged) fmt::print(stderr, "damaged: {}\n", one.Text());
  if (listing.data_sets.empty() && listing.damaged.empty() && !quiet) {
    fmt::print(stderr, "there are no data sets in {}{}\n", folder.string(), IsThere() ? "" : ", which is not there yet: the first import makes it");
  }
  return kDone;
}

int DataCommand::Options::Check() const {
  if (const absl::Status named = CheckNamedFolder(*check); !named.ok()) return Refused(named, json());
  std::vector<std::string> names, damaged;
  if (!name.empty()) {
    names.push_back(name);
  } else {
    const data::Listing listing = data::ListDataSets(folder);
    if (!listing.status.ok()) return Refused(listing.status, json());  // Else all would seem to be as it was imported.
    for (const data::Manifest& manifest : listing.data_sets) names.push_back(manifest.name);
    for (const data::DamagedSet& one : listing.damaged) damaged.push_back(one.Text());
  }
  // One that is damaged is no reason to leave others out.
  std::vector<std::string> checked;
  for (const std::string& one : names) {
    const absl::Status status = data::CheckDataSet(folder, one);
    if (!status.ok() && names.size() == 1 && damaged.empty()) return Refused(status, json());
    if (!status.ok()) {
      damaged.push_back(fmt::format("{}: {}", one, std::string(status.message())));
      continue;
    }
    checked.push_back(one);
    if (!json()) fmt::print("{}: as it was imported\n", one);
  }
  for (const std::string& one : damaged) fmt::print(stderr, "damaged: {}\n", one);
  if (json()) PrintJson({{"checked", checked}, {"damaged", damaged}});
  return damaged.empty() ? kDone : kFailed;
}

int DataCommand::Options::Show() const {
  // What cannot be read is told as for images, which most of those who ask mean.
  const absl::StatusOr<data::Manifest> manifest = data::ReadDataSet(folder, name);
  return manifest.ok() && manifest->kind == data::Kind::kPairs ? ShowPair() : ShowImage();
}

int DataCommand::Options::ShowPair() const {
  if (!size.empty()) return Refused(absl::InvalidArgumentError("--size: only images have sizes; leave it out"), json());
  const absl::StatusOr<data::PairSet> set = data::PairSet::Open(folder, name, "");
  if (!set.ok()) return Refused(set.status(), json());
  const auto of_set = train ? data::PairSet::Split::kTrain : data::PairSet::Split::kTest;
  int64_t first = 0;
  for (const data::PairsOfLength& of : set->lengths(of_set)) {
    if (number >= first && number < first + of.pairs) {
      const data::Pair pair = set->pair(of_set, of.length, number - first);
      Json shown = {{"input", Json::array()}, {"output", Json::array()}};
      for (const uint16_t id : pair.input) shown["input"].push_back(set->input_symbols()[id]);
      for (const uint16_t id : pair.output) shown["output"].push_back(set->output_symbols()[id]);
      if (set->has_positions()) shown["positions"] = pair.positions;
      if (json()) PrintJson({{"pair", std::move(shown)}});
      else fmt::print("{}\n", shown.dump());
      return kDone;
    }
    first += of.pairs;
  }
  return Refused(absl::InvalidArgumentError(fmt::format("pair {} of {}; they count from 0", number, first)), json());
}

int DataCommand::Options::ShowImage() const {
  const absl::StatusOr<data::ImageSet> set = data::ImageSet::Open(folder, name, "");
  if (!set.ok()) return Refused(set.status(), json());
  data::ImageSize wanted = set->sizes()[0];
  if (!size.empty()) {
    const absl::StatusOr<std::vector<data::ImageSize>> parsed = data::ParseSizes(size);
    if (!parsed.ok()) return Refused(parsed.status(), json());
    wanted = parsed->front();
  }
  const absl::StatusOr<data::ImageView> view = train ? set->Train(wanted) : set->Valid(wanted);
  if (!view.ok()) return Refused(view.status(), json());
  if (number < 0 || number >= view->count()) {
    return Refused(absl::InvalidArgumentError(fmt::format("image {} of {}; they count from 0", number, view->count())), json());
  }
  if (!quiet) fmt::print(stderr, "class {}\n", set->classes()[static_cast<size_t>(view->label(number))]);
  fmt::print("P5\n{} {}\n255\n", wanted.cols, wanted.rows);
  const std::span<const uint8_t> pixels = view->pixels(number);
  std::fwrite(pixels.data(), 1, pixels.size(), stdout);
  return kDone;
}

int DataCommand::Run() const {
  const Options& o = *options_;
  if (const absl::Status status = data::CheckDataFolder(o.folder); !status.ok()) return Refused(status, o.json());
  if (o.ensure->parsed()) return o.Ensure();
  if (o.list->parsed()) return o.List();
  if (o.check->parsed()) return o.Check();
  if (o.show->parsed()) return o.Show();
  if (o.fitting->parsed()) return o.checks.fit(o.folder, o.jobs, o.json());
  if (o.remove->parsed()) {
    const absl::Status status = data::RemoveDataSet(o.folder, o.name);
    if (!status.ok()) return Refused(status, o.json());
    if (o.json()) PrintJson({{"removed", o.name}});
    return kDone;
  }
  const absl::StatusOr<data::Manifest> manifest = o.Import();
  if (!manifest.ok()) return Refused(manifest.status(), o.json());
  if (o.json()) {
    PrintJson({{"data_set", DataSetJson(*manifest)}});
  } else {
    fmt::print("{}: {}, SHA-256 {:.8}, in {}\n", manifest->name, ContentsOf(*manifest), manifest->Identity(), (o.folder / o.name).string());
    if (!o.quiet) SayOfImport(*manifest);
  }
  return kDone;
}

}  // namespace longreach
