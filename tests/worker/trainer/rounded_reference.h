// The encoder with rounded operands, written down with LibTorch's operations and its autograd: what the lanes engines of such
// operands are to compute. It rounds by arithmetic on numbers, they by arithmetic on bits.
//
// Shapes: B sequence, T position, Q query, H head, K feature of a head, D features, N = B T, R signed distance, C class.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "worker/trainer/engine/batch.h"
#include "worker/trainer/model/model.h"

namespace longreach::trainer {

// The nearest numbers of so many significant bits, of two the even one. For numbers that are not next to the ends of
// float32's range.
inline Tensor RoundedTo(const Tensor& x, int64_t bits) {
  const auto [mantissa, exponent] = at::frexp(x);  // In [1/2, 1).
  const double scale = std::ldexp(1.0, static_cast<int>(bits));
  return at::ldexp(at::round(mantissa * scale) / scale, exponent);
}

// a b, and in the gradients the same: both operands of every product are rounded.
struct RoundedProduct : torch::autograd::Function<RoundedProduct> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& a, const Tensor& b, int64_t bits) {
    const Tensor left = RoundedTo(a, bits), right = RoundedTo(b, bits);
    context->save_for_backward({left, right});
    context->saved_data["bits"] = bits;
    return at::matmul(left, right);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, const torch::autograd::variable_list& gradients) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const Tensor g = RoundedTo(gradients[0], context->saved_data["bits"].toInt());
    return {at::matmul(g, saved[1].transpose(-2, -1)), at::matmul(saved[0].transpose(-2, -1), g), Tensor()};
  }
};

// softmax(logits) v of [.., Q, T] and [.., T, K]. Probabilities are rounded before they are divided by their sum on the way
// there, after it on the way back. The gradient of a logit is p (dout v - dout out), where `out` is rounded, as the next
// product reads it.
struct RoundedAttention : torch::autograd::Function<RoundedAttention> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& logits, const Tensor& v, int64_t bits) {
    const Tensor p = (logits - std::get<0>(logits.max(-1, true))).exp(), sum = p.sum(-1, true), values = RoundedTo(v, bits);
    const Tensor out = RoundedTo(at::matmul(RoundedTo(p, bits), values) / sum, bits);
    context->save_for_backward({p / sum, values, out});
    context->saved_data["bits"] = bits;
    return out;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, const torch::autograd::variable_list& gradients) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const int64_t bits = context->saved_data["bits"].toInt();
    const Tensor &p = saved[0], &values = saved[1], &out = saved[2], dout = RoundedTo(gradients[0], bits);
    const Tensor dot = (out * dout).sum(-1, true);
    return {p * (at::matmul(dout, values.transpose(-2, -1)) - dot), at::matmul(RoundedTo(p, bits).transpose(-2, -1), dout), Tensor()};
  }
};

// Loss and gradient of one member, for encodings without an addition to the embedding and without keys of distances.
class RoundedReference {
 public:
  RoundedReference(const PackSettings& settings, const Model& model, int64_t bits) : settings_(settings), model_(model), bits_(bits) {}

  struct Result {
    double loss = 0;
    Tensor gradient;  // Where the layout says.
  };
  // `flat` are the parameters where the layout says. Dropout as in training.
  Result LossAndGradient(const Batch& batch, const Tensor& flat) const {
    const Tensor leaf = flat.detach().clone().requires_grad_(true);
    const ParameterSet all = ViewParameters(model_.layout(), leaf);
    const Tensor logits = Logits(batch, all);
    Tensor targets = at::empty({logits.size(0)}, at::kLong);
    for (int64_t i = 0; i < targets.numel(); ++i) targets[i] = static_cast<int64_t>(batch.targets[static_cast<size_t>(i)]);
    const Tensor loss = at::cross_entropy_loss(logits, targets);
    loss.backward();
    return {loss.item<double>(), leaf.grad()};
  }

 private:
  Tensor Named(const ParameterSet& all, const std::string& name) const {
    const std::span<const Parameter> list = model_.layout().parameters();
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].name == name) return all[i];
    }
    TORCH_CHECK(false, "no parameter ", name);
  }
  Tensor Product(const Tensor& a, const Tensor& b) const { return RoundedProduct::apply(a, b, bits_); }

  // [N, D] to [B, H, T, K].
  Tensor Heads(const Tensor& rows, const Batch& batch) const {
    return rows.view({batch.size, batch.tape, settings_.model.heads, -1}).transpose(1, 2);
  }
  // Pairs of neighbouring features turn by their position's angles.
  Tensor Rotated(const Tensor& heads, const Tensor& rotation) const {
    const Tensor pairs = heads.unflatten(-1, {-1, 2}), x = pairs.select(-1, 0), y = pairs.select(-1, 1), c = rotation[0], s = rotation[1];
    return at::stack({x * c - y * s, y * c + x * s}, -1).flatten(-2);
  }

  Tensor Attended(const Batch& batch, const ParameterSet& all, int layer, const Tensor& h) const {
    const std::string place = "layer" + std::to_string(layer) + ".attn.";
    const size_t at = static_cast<size_t>(layer);
    Tensor q = Heads(Product(h, Named(all, place + "q.w")), batch), k = Heads(Product(h, Named(all, place + "k.w")), batch);
    const Tensor v = Heads(Product(h, Named(all, place + "v.w")), batch);
    if (!batch.positions.rotation.empty()) {
      const Tensor rotation = model_.encoding().Rotation(batch.positions.rotation[at], batch.positions.test, layer);
      q = Rotated(q, rotation);
      k = Rotated(k, rotation);
    }
    Tensor logits = Product(q, k.transpose(-2, -1)) / std::sqrt(static_cast<double>(q.size(-1)));
    if (!batch.positions.distances.empty()) {
      const Distances& distances = batch.positions.distances[at];
      if (model_.encoding().NumbersOfPair() > 0) {
        logits = logits + model_.encoding().PairBias(distances, all, layer, 0, batch.tape, batch.tape);
      } else {
        const Tensor table = model_.encoding().BiasTable(distances, all, layer), entries = distances.Entries(0, batch.tape);
        logits = logits + table.index_select(-1, entries.flatten()).view({settings_.model.heads, batch.tape, batch.tape});
      }
    }
    const Tensor out = RoundedAttention::apply(logits, v, bits_);
    return Product(out.transpose(1, 2).reshape({batch.size * batch.tape, -1}), Named(all, place + "o.w"));
  }

  Tensor Logits(const Batch& batch, const ParameterSet& all) const {
    const std::vector<Tensor> keep = DropoutFactors(settings_, model_, batch, 0, batch.size);
    std::vector<int64_t> tokens(batch.tokens.begin(), batch.tokens.end());
    Tensor h = Named(all, "embed.w").index_select(0, at::tensor(tokens)) * std::sqrt(static_cast<double>(model_.embedding_dim()));
    // A place that sees the outputs alone: of the others nothing is read.
    const auto dropped = [&](const Tensor& x, int dropout_place) {
      if (keep.empty()) return x;
      const Tensor factors = keep[static_cast<size_t>(dropout_place)].view({batch.size, -1, x.size(-1)});
      return (x.view({batch.size, batch.tape, -1}) * at::constant_pad_nd(factors, {0, 0, batch.tape - factors.size(1), 0})).view(x.sizes());
    };
    const auto norm = [&](const Tensor& x, const std::string& name) {
      return at::layer_norm(x, {x.size(-1)}, Named(all, name + ".scale"), Named(all, name + ".offset"), 1e-5);
    };
    const bool pre_norm = settings_.model.norm == PackSettings::Model::Norm::kPre;
    for (int i = 0; i < settings_.model.layers; ++i) {
      const std::string place = "layer" + std::to_string(i) + ".";
      const auto mlp = [&](const Tensor& x) {
        const Tensor hidden = at::relu(Product(x, Named(all, place + "ffn1.w")) + Named(all, place + "ffn1.b"));
        return Product(hidden, Named(all, place + "ffn2.w")) + Named(all, place + "ffn2.b");
      };
      if (pre_norm) {
        h = h + dropped(Attended(batch, all, i, norm(h, place + "ln1")), 1 + 2 * i);
        h = h + dropped(mlp(norm(h, place + "ln2")), 2 + 2 * i);
      } else {
        const Tensor u = norm(h + dropped(Attended(batch, all, i, h), 1 + 2 * i), place + "ln1");
        h = norm(u + dropped(mlp(u), 2 + 2 * i), place + "ln2");
      }
    }
    if (pre_norm) h = norm(h, "final_ln");
    const Tensor outputs = h.view({batch.size, batch.tape, -1}).narrow(1, batch.tape - batch.outputs, batch.outputs);
    return Product(outputs.reshape({batch.size * batch.outputs, -1}), Named(all, "out.w")) + Named(all, "out.b");
  }

  const PackSettings& settings_;
  const Model& model_;
  int64_t bits_;
};

}  // namespace longreach::trainer
