#include "worker/export_command.h"

#include "worker/data/data_folder.h"
#include "worker/data_command.h"

namespace longreach {

ExportCommand::ExportCommand(CLI::App& app) : command_(app.add_subcommand("export", "Write a job's parameters as a folder that transformers loads.")) {
  command_->add_option("DIR", request_.target, "The folder to make")->required();
  command_->add_option("--job", job_, "What 'longreach job ID -o json' says of it")->type_name("FILE")->required();
  command_->add_option("--parameters", request_.parameters, "Its artifact 'weights', or a checkpoint")->type_name("FILE")->required();
  command_->add_flag("--fold-scales", request_.fold_scales, "Make scales of attention heads a part of the queries");
  request_.data.folder = data::DefaultDataFolder();
  AddDataFolder(*command_, request_.data.folder);
  command_->add_option("--model-sha256", request_.data.model_sha256, "What the model's data set must be [any]")->type_name("SHA256");
  command_->add_option("-o,--output", output_, "table or json")->check(CLI::IsMember({"table", "json"}))->capture_default_str();
}

}  // namespace longreach
