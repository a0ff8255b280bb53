#include "client/spec/meant_field.h"

#include <algorithm>
#include <vector>

#include "client/spec/field_paths.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

using google::protobuf::Descriptor;

// What a field is called elsewhere, where that is no misspelling of its name here.
struct OtherName {
  std::string_view name;
  std::string_view field;
};
constexpr OtherName kOtherNames[] = {
    {"attention_heads", "heads"},
    {"autoregressive", "causal"},
    {"batch", "batch_size"},
    {"block_size", "lengths"},
    {"bs", "batch_size"},
    {"clip", "clip_norm"},
    {"context_length", "lengths"},
    {"d_ff", "mlp_dim"},
    {"d_inner", "mlp_dim"},
    {"d_mlp", "mlp_dim"},
    {"d_model", "embedding_dim"},
    {"dataset", "data"},
    {"decoder_only", "causal"},
    {"depth", "layers"},
    {"dim", "embedding_dim"},
    {"dim_feedforward", "mlp_dim"},
    {"dropout_p", "dropout"},
    {"dropout_prob", "dropout"},
    {"dropout_rate", "dropout"},
    {"emb_dim", "embedding_dim"},
    {"embed_dim", "embedding_dim"},
    {"embedding_size", "embedding_dim"},
    {"eval_every", "curve_every"},
    {"eval_freq", "curve_every"},
    {"eval_interval", "curve_every"},
    {"eval_steps", "curve_every"},
    {"evaluation_interval", "curve_every"},
    {"feedforward_dim", "mlp_dim"},
    {"ff_dim", "mlp_dim"},
    {"ffn_dim", "mlp_dim"},
    {"ffn_hidden_size", "mlp_dim"},
    {"ffn_size", "mlp_dim"},
    {"global_batch_size", "batch_size"},
    {"grad_clip", "clip_norm"},
    {"gradient_clip_val", "clip_norm"},
    {"gradient_clipping", "clip_norm"},
    {"hidden_dim", "embedding_dim"},
    {"hidden_dropout_prob", "dropout"},
    {"hidden_size", "embedding_dim"},
    {"intermediate_size", "mlp_dim"},
    {"is_causal", "causal"},
    {"iterations", "steps"},
    {"kind", "experiment"},
    {"layer_norm", "norm"},
    {"lr", "learning_rate"},
    {"lr_decay", "schedule"},
    {"lr_schedule", "schedule"},
    {"lr_scheduler", "schedule"},
    {"lr_scheduler_type", "schedule"},
    {"lrs", "learning_rate"},
    {"max_grad_norm", "clip_norm"},
    {"max_iters", "steps"},
    {"max_length", "lengths"},
    {"max_seq_len", "lengths"},
    {"max_seq_length", "lengths"},
    {"max_steps", "steps"},
    {"min_lr_ratio", "final_rate"},
    {"model_dim", "embedding_dim"},
    {"n_ctx", "lengths"},
    {"n_embd", "embedding_dim"},
    {"n_embed", "embedding_dim"},
    {"n_head", "heads"},
    {"n_heads", "heads"},
    {"n_inner", "mlp_dim"},
    {"n_kv_heads", "kv_heads"},
    {"n_layer", "layers"},
    {"n_layers", "layers"},
    {"nhead", "heads"},
    {"nlayers", "layers"},
    {"no_rope_layer_interval", "none_every"},
    {"no_rope_layers", "none_every"},
    {"norm_first", "norm"},
    {"normalization", "norm"},
    {"num_attention_heads", "heads"},
    {"num_blocks", "layers"},
    {"num_classes", "classes"},
    {"num_heads", "heads"},
    {"num_hidden_layers", "layers"},
    {"num_iterations", "steps"},
    {"num_key_value_heads", "kv_heads"},
    {"num_kv_heads", "kv_heads"},
    {"num_layers", "layers"},
    {"num_steps", "steps"},
    {"num_train_steps", "steps"},
    {"num_warmup_steps", "warmup_steps"},
    {"original_max_position_embeddings", "original_length"},
    {"pe", "encoding"},
    {"position_encoding", "encoding"},
    {"position_interpolation", "rope_scaling"},
    {"positional_encoding", "encoding"},
    {"pre_norm", "norm"},
    {"prenorm", "norm"},
    {"random_seed", "seed"},
    {"resid_pdrop", "dropout"},
    {"rope_base", "rope_theta"},
    {"rope_scaling_factor", "rope_factor"},
    {"rope_scaling_type", "rope_scaling"},
    {"rope_type", "rope_scaling"},
    {"rotary_base", "rope_theta"},
    {"rotary_emb_base", "rope_theta"},
    {"scaling_factor", "rope_factor"},
    {"seq_len", "lengths"},
    {"seq_length", "lengths"},
    {"sequence_length", "lengths"},
    {"test_every", "curve_every"},
    {"total_steps", "steps"},
    {"train_batch_size", "batch_size"},
    {"train_steps", "steps"},
    {"training_steps", "steps"},
    {"updates", "steps"},
    {"val_check_interval", "curve_every"},
    {"validate_every", "curve_every"},
    {"warmup", "warmup_steps"},
    {"warmup_iters", "warmup_steps"},
    {"warmup_updates", "warmup_steps"},
    {"width", "embedding_dim"},
};

std::string_view LastName(std::string_view path) { return path.substr(path.rfind('.') + 1); }

// The field of this name that was meant by `path`.
std::string FieldOfName(std::string_view name, std::string_view path, const std::vector<FieldPath>& paths) {
  std::vector<std::string> named;
  for (const FieldPath& one : paths) {
    if (LastName(one.path) != name) continue;
    if (one.path.starts_with(kAxesGroup)) return one.path;
    named.push_back(one.path);
  }
  if (named.size() < 2) return named.empty() ? "" : named.front();
  const std::string nearest = ClosestWord(path, named);
  return nearest.empty() ? named.front() : nearest;
}

}  // namespace

std::string FieldCalled(std::string_view path, const Descriptor& root) {
  const std::vector<FieldPath> paths = FieldPaths(root);
  const std::string_view name = LastName(path);
  const auto* const other = std::ranges::find(kOtherNames, name, &OtherName::name);
  const std::string exact = FieldOfName(name, path, paths);
  return exact.empty() && other != std::end(kOtherNames) ? FieldOfName(other->field, path, paths) : exact;
}

std::string FieldNear(std::string_view path, const Descriptor& root) {
  const std::vector<FieldPath> paths = FieldPaths(root);
  const std::string_view name = LastName(path);
  const std::string_view group = path.substr(0, path.size() - name.size());
  std::vector<std::string> own;
  std::vector<std::string> all;
  for (const auto& [path_of_one, field] : paths) {
    all.emplace_back(LastName(path_of_one));
    if (!group.empty() && path_of_one.starts_with(group) && path_of_one.size() == group.size() + all.back().size()) own.push_back(all.back());
  }
  std::string nearest = ClosestWord(name, own);
  if (!nearest.empty()) return std::string(group) + nearest;
  nearest = ClosestWord(name, all);
  return nearest.empty() ? "" : FieldOfName(nearest, path, paths);
}

}  // namespace longreach::client
