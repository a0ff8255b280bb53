#include <fmt/format.h>

#include "client/commands/command.h"
#include "client/output/text.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

class Data final : public Command {
 public:
  CommandInfo Info() const override {
    return {
        .group = kGroupMaintain,
        .summary = "Import data sets for the worker on this machine, and look after them",
        .details =
            "Runs 'longreach-worker data', which lies beside this program: data lies where workers are, in the folder of\n"
            "--data-folder or LONGREACH_DATA [~/.local/share/longreach/data]. A worker announces what it finds there;\n"
            "'longreach list data' shows what a scheduler has heard of. An import of texts or images that was interrupted goes\n"
            "on when it is started again; others begin anew. docs/howto/import-data.md says more.",
        .examples =
            "longreach data import text enwik8.zip --name enwik8\n"
            "longreach data import images ILSVRC2012 --name imagenet\n"
            "longreach data import text *.txt --name novels --split 80,10,10\n"
            "longreach data import model TinyLlama-1.1B --name tinyllama\n"
            "longreach data import tokens --test pg19/test --tokenizer tinyllama --name pg19\n"
            "longreach data import longbench LongBench/data --name longbench\n"
            "longreach data import pairs train.jsonl --test test.jsonl --name my-addition\n"
            "longreach data ensure debian-text\n"
            "longreach data check"};
  }

  void AddOptions(CLI::App& app) override {
    app.require_subcommand(1);
    CLI::App& import = *app.add_subcommand("import", "Make a data set of files, or of nothing");
    import.require_subcommand(1);
    CLI::App& text = Add(import, "text", "One corpus of bytes: files, the text files of folders, or a zip archive");
    Many(text, "PATH", "Joined in this order; folders by the names in them")->required();
    Value(text, "--split", "A,B,C", "Per cent for training, validation and test, from the front [90,5,5]");
    CLI::App& images = Add(import, "images", "A folder of class folders of JPEG or PNG files, with or without train/ and val/");
    Value(images, "DIR", "TEXT", "train/CLASS/FILE and val/CLASS/FILE or val/FILE, or CLASS/FILE")->required();
    Value(images, "--valid-labels", "FILE", "Lines of 'FILE CLASS', for validation images without class folders");
    Value(images, "--valid-percent", "N", "Of each class, where there is no val/ [10]");
    Value(images, "--fit", "HOW", "What changes an image's shape: squash it, or crop its middle [squash]");
    Switch(images, "--skip-broken", "Leave out images that cannot be read, and list them");
    Value(images, "--threads", "N", "Threads to decode with [all cores]");
    CLI::App& synthetic = Add(import, "synthetic-images", "Generated images: the class depends on a top and a bottom row");
    Value(synthetic, "--train", "N", "Training images [4096]");
    Value(synthetic, "--valid", "N", "Validation images [1024]");
    Value(synthetic, "--seed", "N", "Another seed gives other images [0]");
    for (CLI::App* kind : {&images, &synthetic}) {
      Value(*kind, "--sizes", "SIZES", "Sizes to keep, ROWSxCOLUMNS [22x22,22x23,45x44,45x45]");
    }
    CLI::App& model = Add(import, "model", "A published LLaMA-type model, in a folder as Hugging Face keeps it");
    Value(model, "DIR", "TEXT", "config.json, model.safetensors or its shards and, if it is there, tokenizer.model")->required();
    Switch(model, "--nope", "It was trained without positions, which its config.json does not say");
    Switch(model, "--link", "Hard links in place of copies: no space taken, but who changes the files changes the data set");
    CLI::App& tokens = Add(import, "tokens", "Texts, one document per file or JSON line, or packed files: a corpus of tokens");
    Many(tokens, "PATH", "Files, or folders of them: text, *.jsonl, TinyLlama's packed *.bin");
    Value(tokens, "--tokenizer", "PATH", "tokenizer.model, a folder that has one, or an imported model");
    Many(tokens, "--test", "What to test on; PATH is for training then")->delimiter(',')->type_name("PATH,...");
    Value(tokens, "--split", "A,B", "Per cent of the tokens for training and test, from the front, cut between documents; not with --test [90,10]");
    Value(tokens, "--text-field", "NAME", "Of a JSON line: where its text is [text]");
    Value(tokens, "--vocabulary", "N", "Ids of the models that shall read it [those of the tokenizer]");
    CLI::App& longbench = Add(import, "longbench", "LongBench's tasks in English and code, as they are published: TASK.jsonl");
    Value(longbench, "DIR", "TEXT", "The folder that its data was unpacked to; it may lack tasks")->required();
    CLI::App& pairs = Add(import, "pairs", "Inputs with the outputs that a model shall give: JSON lines, or lines of 'input TAB output'");
    Many(pairs, "FILE", "Pairs to train on")->required();
    Many(pairs, "--test", "Pairs to test on")->delimiter(',')->type_name("PATH,...")->required();
    Value(pairs, "--symbols", "KIND", "What a text is made of: characters, or words between white space; each is a symbol [characters]")
        ->check(CLI::IsMember({"characters", "words"}));
    Value(pairs, "--input-field", "NAME", "Of a JSON line: where its input is [input]");
    Value(pairs, "--output-field", "NAME", "Of a JSON line: where its output is [output]");
    Value(pairs, "--positions-field", "NAME", "Of a JSON line: where its positions are, if it has any [positions]");
    for (CLI::App* kind : {&text, &images, &synthetic, &model, &tokens, &longbench, &pairs}) {
      Value(*kind, "--name", "NAME", "The data set's name, as sweeps call it under 'data'")->required();
    }

    CLI::App& ensure = Add(app, "ensure", "See that data sets are there; make those that take no source (debian-text, far-rows)");
    Many(ensure, "NAME", "The data sets; of those that are missing and need a source all are told, and none is made")->required();
    Add(app, "list", "The data sets of this machine");
    CLI::App& check = Add(app, "check", "Read data sets to the end and compare their hashes");
    Value(check, "NAME", "TEXT", "The data set [all of them]");
    CLI::App& remove = Add(app, "remove", "Remove a data set, or what an interrupted import left");
    Value(remove, "NAME", "TEXT", "The data set")->required();
    CLI::App& show = Add(app, "show", "Write one image as a PGM file, or one pair as a line of JSON, to standard output");
    Value(show, "NAME", "TEXT", "The data set")->required();
    Value(show, "NUMBER", "N", "Which one, from 0; pairs by the lengths of their inputs")->required();
    Value(show, "--size", "SIZE", "Of an image: ROWSxCOLUMNS [the first]");
    Switch(show, "--train", "Of those to train on [images: validation; pairs: test]");
  }

  absl::StatusOr<int> Run(Session& session) override {
    const CLI::App* command = nullptr;
    for (const CLI::App* one : commands_) {
      if (one->parsed()) command = one;
    }
    std::vector<std::string> arguments = {"data"};
    if (command->get_parent()->get_name() == "import") arguments.emplace_back("import");
    arguments.push_back(command->get_name());
    // What was given goes to the worker as it is; the worker says what is wrong with it.
    std::vector<std::string> positional;
    for (const CLI::Option* option : command->get_options()) {
      if (option->count() == 0) continue;
      if (option->get_positional()) {
        positional.insert(positional.end(), option->results().begin(), option->results().end());
      } else if (option->get_items_expected_max() == 0) {
        arguments.push_back(option->get_name());
      } else {
        arguments.push_back(fmt::format("{}={}", option->get_name(), Join(option->results(), ",")));
      }
    }
    if (session.settings().quiet) arguments.emplace_back("-q");
    if (session.json()) arguments.insert(arguments.end(), {"-o", "json"});
    if (!positional.empty()) {
      arguments.emplace_back("--");
      arguments.insert(arguments.end(), positional.begin(), positional.end());
    }
    session.out().flush();
    // Its own words, on these very streams, are the answer.
    return RunAttached(session.environment().binaries / "longreach-worker", arguments);
  }

 private:
  CLI::App& Add(CLI::App& parent, const std::string& name, const std::string& summary) {
    CLI::App& command = *parent.add_subcommand(name, summary);
    commands_.push_back(&command);
    Value(command, "--data-folder", "DIR", "Where this machine's data sets lie [LONGREACH_DATA]");
    return command;
  }
  static CLI::Option* Value(CLI::App& app, const std::string& name, const std::string& type, const std::string& help) {
    return app.add_option_function<std::string>(name, [](const std::string&) {}, help)->type_name(type);
  }
  static CLI::Option* Many(CLI::App& app, const std::string& name, const std::string& help) {
    return app.add_option_function<std::vector<std::string>>(name, [](const std::vector<std::string>&) {}, help)->type_name("TEXT");
  }
  static void Switch(CLI::App& app, const std::string& name, const std::string& help) { app.add_flag(name, help); }

  std::vector<const CLI::App*> commands_;
};

}  // namespace

std::unique_ptr<Command> Make_data() { return std::make_unique<Data>(); }

}  // namespace longreach::client
