#include "worker/trainer/llama/attention.h"

#include <algorithm>

#include "worker/trainer/logits.h"

namespace longreach::trainer {

namespace {

// A logit that takes no part; finite, so that 0 times it is 0.
constexpr float kNothing = -1e30f;

// One piece of work: some (sequence, key-value head) pairs. C pairs, G query heads per pair.
struct Unit {
  Tensor q;  // [C, G, T, K].
  Tensor k;  // [C, S, K] float32.
  Tensor v;  // [C, S, K] float32.

  int64_t queries() const { return q.size(2); }
  int64_t keys() const { return k.size(1); }
  int64_t block() const {
    return std::clamp<int64_t>(LogitsAtATime(q.device()) / (q.size(0) * q.size(1) * keys()), 1, queries());
  }
};

// Queries [first, first + count) of a unit and all keys that one of them sees.
struct Block {
  Tensor q;       // [C, G count, K] float32.
  Tensor k, v;    // [C, seen, K].
  Tensor logits;  // [C, G count, seen], kNothing where the key comes later.
};

Tensor Rows(const Tensor& x, int64_t first, int64_t count) {  // [C, G, T, K] to [C, G count, K] float32.
  const Tensor some = x.narrow(2, first, count).to(at::kFloat);
  return some.reshape({x.size(0), x.size(1) * count, x.size(3)});
}

Block MakeBlock(const Unit& unit, int64_t first, int64_t count) {
  const int64_t seen = unit.keys() - unit.queries() + first + count;
  Block block{.q = Rows(unit.q, first, count), .k = unit.k.narrow(1, 0, seen), .v = unit.v.narrow(1, 0, seen), .logits = {}};
  block.logits = at::bmm(block.q, block.k.transpose(1, 2));
  // Of the keys seen by the last query, query j lacks the last count - 1 - j.
  const Tensor later = at::ones({count, count}, block.logits.options().dtype(at::kBool)).triu_(1);
  block.logits.view({unit.q.size(0), unit.q.size(1), count, seen}).narrow(3, seen - count, count).masked_fill_(later, kNothing);
  return block;
}

void Forward(const Unit& unit, const Tensor& out, const Tensor& entropy, const Tensor& probabilities) {
  const int64_t pairs = unit.q.size(0), groups = unit.q.size(1);
  for (int64_t first = 0; first < unit.queries(); first += unit.block()) {
    const int64_t count = std::min(unit.block(), unit.queries() - first);
    const Block block = MakeBlock(unit, first, count);
    const Tensor p = at::softmax(block.logits, -1);
    out.narrow(2, first, count).copy_(at::bmm(p, block.v).view({pairs, groups, count, -1}));
    if (entropy.defined()) {
      // With logits from the largest one on, log Z = -log p there; no large numbers cancel.
      const Tensor below = block.logits - block.logits.amax(-1, true);
      const Tensor nats = -at::log(p.amax(-1)) - (p * below).sum(-1);
      entropy.narrow(2, first, count).copy_(nats.view({pairs, groups, count}));
    }
    if (probabilities.defined()) {
      probabilities.narrow(2, first, count).narrow(3, 0, p.size(2)).copy_(p.view({pairs, groups, count, -1}));
    }
  }
}

struct Gradients {
  Tensor q;     // [C, G, T, K].
  Tensor k, v;  // [C, S, K].
};

// Source of the recomputation: arXiv:2205.14135, algorithm 4.
void Backward(const Unit& unit, const Tensor& out, const Tensor& out_gradient, const Gradients& gradients) {
  const int64_t pairs = unit.q.size(0), groups = unit.q.size(1);
  const Tensor k_gradient = at::zeros_like(unit.k), v_gradient = at::zeros_like(unit.v);
  for (int64_t first = 0; first < unit.queries(); first += unit.block()) {
    const int64_t count = std::min(unit.block(), unit.queries() - first);
    const Block block = MakeBlock(unit, first, count);
    const int64_t seen = block.k.size(1);
    const Tensor p = at::softmax(block.logits, -1);
    const Tensor d_out = Rows(out_gradient, first, count);
    v_gradient.narrow(1, 0, seen).add_(at::bmm(p.transpose(1, 2), d_out));
    const Tensor share = (d_out * Rows(out, first, count)).sum(-1, true);
    const Tensor d_logits = p * (at::bmm(d_out, block.v.transpose(1, 2)) - share);
    gradients.q.narrow(2, first, count).copy_(at::bmm(d_logits, block.k).view({pairs, groups, count, -1}));
    k_gradient.narrow(1, 0, seen).add_(at::bmm(d_logits.transpose(1, 2), block.q));
  }
  gradients.k.copy_(k_gradient);
  gradients.v.copy_(v_gradient);
}

// Calls work(first, count) for all (sequence, key-value head) pairs: one at a time on a CPU, together on a GPU.
void ByPairs(const Tensor& q, int64_t pairs, ThreadPool* pool, const std::function<void(int64_t, int64_t)>& work) {
  if (!q.is_cpu()) {
    work(0, pairs);
  } else if (pool == nullptr) {
    for (int64_t pair = 0; pair < pairs; ++pair) work(pair, 1);
  } else {
    pool->Run(pairs, [&](int64_t pair) {
      const at::NoGradGuard no_gradient;  // A setting of the thread.
      work(pair, 1);
    });
  }
}

// [N, H, T, K] to [N V, G, T, K], and [N, V, S, K] to [N V, S, K].
Tensor ByPair(const Tensor& x, int64_t kv_heads) {
  return x.reshape({x.size(0) * kv_heads, x.size(1) / kv_heads, x.size(2), x.size(3)});
}
Tensor ByPair(const Tensor& x) { return x.reshape({x.size(0) * x.size(1), x.size(2), x.size(3)}); }

// [C, S, K] whose rows follow each other; pairs may lie apart, as in a cache with room.
Tensor WithWholeRows(const Tensor& x) { return x.stride(2) == 1 && x.stride(1) == x.size(2) ? x : x.contiguous(); }

Unit MakeUnit(const Tensor& q, const Tensor& k, const Tensor& v, int64_t first, int64_t count) {
  return {.q = q.narrow(0, first, count),
          .k = WithWholeRows(k.narrow(0, first, count).to(at::kFloat)),
          .v = WithWholeRows(v.narrow(0, first, count).to(at::kFloat))};
}

Tensor Compute(const Tensor& q_NHTK, const Tensor& k_NVSK, const Tensor& v_NVSK, ThreadPool* pool, AttentionTrace* trace) {
  const int64_t kv_heads = k_NVSK.size(1);
  const Tensor q = ByPair(q_NHTK, kv_heads), k = ByPair(k_NVSK), v = ByPair(v_NVSK);
  const Tensor out = at::empty(q.sizes(), q.options());
  Tensor entropy, probabilities;
  if (trace != nullptr) {
    const at::TensorOptions floats = q.options().dtype(at::kFloat);
    entropy = at::empty({q.size(0), q.size(1), q.size(2)}, floats);
    if (trace->want_probabilities) probabilities = at::zeros({q.size(0), q.size(1), q.size(2), k.size(1)}, floats);
  }
  ByPairs(q, q.size(0), pool, [&](int64_t first, int64_t count) {
    const auto part = [&](const Tensor& all) { return all.defined() ? all.narrow(0, first, count) : all; };
    Forward(MakeUnit(q, k, v, first, count), part(out), part(entropy), part(probabilities));
  });
  if (trace != nullptr) {
    trace->entropy = entropy.view({q_NHTK.size(0), q_NHTK.size(1), q_NHTK.size(2)});
    if (probabilities.defined()) trace->probabilities = probabilities.view({q_NHTK.size(0), q_NHTK.size(1), q_NHTK.size(2), -1});
  }
  return out.view(q_NHTK.sizes());
}

// One node of the graph that keeps queries, keys, values and the output: nothing T x S.
class StreamingAttention : public torch::autograd::Function<StreamingAttention> {
 public:
  // The pool outlives the graph (a step).
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& q, const Tensor& k, const Tensor& v,
                        int64_t pool) {
    const Tensor out = Compute(q, k, v, reinterpret_cast<ThreadPool*>(pool), nullptr);
    context->save_for_backward({q, k, v, out});
    context->saved_data["pool"] = pool;
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const int64_t kv_heads = saved[1].size(1);
    const Tensor q = ByPair(saved[0], kv_heads), k = ByPair(saved[1]), v = ByPair(saved[2]);
    const Tensor out = ByPair(saved[3], kv_heads), out_gradient = ByPair(gradients[0], kv_heads);
    const Gradients result{.q = at::empty(q.sizes(), q.options()),
                           .k = at::empty(k.sizes(), k.options()),
                           .v = at::empty(v.sizes(), v.options())};
    ByPairs(q, q.size(0), reinterpret_cast<ThreadPool*>(context->saved_data["pool"].toInt()), [&](int64_t first, int64_t count) {
      const auto part = [&](const Tensor& all) { return all.narrow(0, first, count); };
      Backward(MakeUnit(q, k, v, first, count), part(out), part(out_gradient),
               {.q = part(result.q), .k = part(result.k), .v = part(result.v)});
    });
    return {result.q.view(saved[0].sizes()), result.k.view(saved[1].sizes()), result.v.view(saved[2].sizes()), Tensor()};
  }
};

}  // namespace

Tensor GroupedAttention(const Tensor& q, const Tensor& k, const Tensor& v, ThreadPool* pool, AttentionTrace* trace) {
  if (at::GradMode::is_enabled() && (q.requires_grad() || k.requires_grad() || v.requires_grad())) {
    return StreamingAttention::apply(q, k, v, reinterpret_cast<int64_t>(pool));
  }
  return Compute(q, k, v, pool, trace);
}

}  // namespace longreach::trainer
