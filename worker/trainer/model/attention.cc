#include "worker/trainer/model/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "worker/trainer/logits.h"
#include "worker/trainer/model/attention_cpu.h"
#include "worker/trainer/pick.h"

namespace longreach::trainer {

namespace {

// The bias of each pair with one of the first `keys` keys: [H, queries, keys] or [E, 1, H, queries, keys].
Tensor LookUp(const Tensor& table, const Distances& distances, int64_t first_query, int64_t queries, int64_t keys) {
  Tensor bias;
  if (distances.toeplitz()) {
    // Query t reads `keys` entries from T - 1 - t on: windows of the table, the last query's first. Their gradient is a sum in a fixed
    // order, on a GPU too.
    const int64_t begin = distances.tape() - first_query - queries, wanted = queries - 1 + keys;
    const int64_t missing = std::max<int64_t>(0, begin + wanted - table.size(-1));  // Of keys after a causal model's queries.
    Tensor entries = table.narrow(-1, begin, wanted - missing);
    if (missing > 0) {
      std::vector<int64_t> shape = table.sizes().vec();
      shape.back() = missing;
      entries = at::cat({entries, table.narrow(-1, table.size(-1) - 1, 1).expand(shape)}, -1);
    }
    bias = entries.unfold(-1, keys, 1).flip(-2);
  } else {
    const Tensor entry = distances.Entries(first_query, queries).narrow(1, 0, keys).reshape({-1});
    std::vector<int64_t> shape = table.sizes().vec();
    shape.back() = queries;
    shape.push_back(keys);
    bias = Pick(table, -1, entry).view(shape);
  }
  return bias.dim() == 4 ? bias.unsqueeze(1) : bias;
}

// (q + v) r of each pair with one of the first `seen` keys: [E, B, H, queries, seen].
Tensor RelativeLogits(const Tensor& queries_EBHTK, const ContentTerm& content, const Distances& distances,
                      int64_t first_query, int64_t seen) {
  const int64_t members = queries_EBHTK.size(0), batch = queries_EBHTK.size(1), heads = queries_EBHTK.size(2);
  const int64_t queries = queries_EBHTK.size(3), head_dim = queries_EBHTK.size(4), tape = distances.tape();
  const Tensor q = queries_EBHTK + content.relative_bias.view({-1, 1, heads, 1, head_dim});
  // [E or 1, H, R, K].
  const Tensor keys = content.keys.view({-1, content.keys.size(-2), heads, head_dim}).transpose(1, 2);
  if (distances.toeplitz()) {
    // Row t of [queries, R] holds the pair (t, s) at s - t + T - 1: read with one less than a row's length
    // from row to row.
    const int64_t entries = distances.values().size(0);
    const Tensor all =
        at::matmul(q, keys.unsqueeze(1).transpose(-1, -2)).contiguous();  // [E, B, H, queries, R].
    const int64_t row = queries * entries;
    return all.as_strided({members, batch, heads, queries, seen},
                          {batch * heads * row, heads * row, row, entries - 1, 1}, tape - 1 - first_query);
  }
  const Tensor entry = distances.Entries(first_query, queries).narrow(1, 0, seen).reshape({-1});
  const Tensor pair_keys = Pick(keys, 2, entry).view({keys.size(0), heads, queries, seen, head_dim});
  const Tensor by_query = q.permute({0, 2, 3, 1, 4});  // [E, H, queries, B, K].
  return at::matmul(by_query, pair_keys.transpose(-1, -2)).permute({0, 3, 1, 2, 4});
}

// Softmax over the keys. Its gradient p_s (d_s - sum p d) is all rounding where one probability is nearly 1;
// taking d at that key as the origin leaves the small terms as they are. As attention_cpu.cc does.
class KeySoftmax : public torch::autograd::Function<KeySoftmax> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& logits) {
    const Tensor p = at::softmax(logits, -1);
    context->save_for_backward({p});
    return p;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const Tensor p = context->get_saved_variables()[0];
    const Tensor d = gradients[0] - gradients[0].gather(-1, p.argmax(-1, true));
    return {p * (d - (p * d).sum(-1, true))};
  }
};

// A node of the graph takes no undefined tensors: this one stands for them. What is made in inference mode could be in no graph, and
// the first use in a process may be a test.
const Tensor& Absent() {
  static const Tensor absent = [] {
    const c10::InferenceMode no_inference(false);
    return at::empty({0}, at::kFloat);
  }();
  return absent;
}
bool IsThere(const Tensor& tensor) { return tensor.defined() && tensor.numel() > 0; }

// The shapes and tables of a unit as attention_cpu.h wants them.
AttentionProblem MakeProblem(const AttentionShape& shape, const LayerTerms& terms, const Tensor& table) {
  AttentionProblem problem{.batch = shape.batch,
                           .tape = shape.tape,
                           .heads = shape.heads,
                           .head_dim = shape.head_dim,
                           .queries = shape.queries,
                           .causal = shape.causal};
  if (IsThere(terms.rotation)) problem.rotation = terms.rotation.const_data_ptr<float>();
  if (IsThere(terms.content.keys)) {
    problem.content_bias = terms.content.content_bias.const_data_ptr<float>();
    problem.relative_bias = terms.content.relative_bias.const_data_ptr<float>();
    problem.relative_keys = terms.content.keys.const_data_ptr<float>();
    problem.entries = terms.content.keys.size(0);
  }
  if (IsThere(table)) {
    problem.table = table.const_data_ptr<float>();
    problem.by_pair = table.dim() == 3;
    problem.entries = table.numel() / shape.heads;
  }
  if (problem.entries == 0 || problem.by_pair) return problem;
  if (!terms.distances->toeplitz()) {
    problem.places = terms.distances->positions().data();
    problem.center = terms.distances->center();
  }
  return problem;
}

AttentionInput MakeInput(const AttentionShape& shape, const Tensor& q, const Tensor& kv) {
  const int64_t width = shape.heads * shape.head_dim;
  const float* keys = kv.const_data_ptr<float>() + (IsThere(q) ? 0 : width);
  return {.q = IsThere(q) ? q.const_data_ptr<float>() : kv.const_data_ptr<float>(),
          .k = keys,
          .v = keys + width,
          .q_stride = IsThere(q) ? q.size(-1) : kv.size(-1),
          .kv_stride = kv.size(-1)};
}

// One node of the graph for all of a unit's attention on the CPU.
class CpuAttention : public torch::autograd::Function<CpuAttention> {
 public:
  // All contiguous, or Absent(). `terms` and its distances outlive the graph (a step). table: [H, R], or [H, queries, T] of pairs.
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& q, const Tensor& kv,
                        const Tensor& table, const Tensor& content_bias, const Tensor& relative_bias,
                        const Tensor& relative_keys, AttentionShape shape, const LayerTerms* terms) {
    Tensor out = at::empty({shape.batch * shape.queries, shape.heads * shape.head_dim}, at::kFloat);
    Tensor probabilities = at::empty({shape.batch, shape.heads, shape.queries, shape.tape}, at::kFloat);
    AttentionForward(MakeProblem(shape, *terms, table), MakeInput(shape, q, kv), out.data_ptr<float>(),
                     probabilities.data_ptr<float>());
    context->save_for_backward({q, kv, table, probabilities,
                                IsThere(terms->rotation) ? terms->rotation : Absent(), content_bias,
                                relative_bias, relative_keys});
    context->saved_data["shape"] =
        std::vector<int64_t>{shape.batch, shape.tape, shape.heads, shape.head_dim, shape.queries, shape.causal};
    context->saved_data["distances"] = reinterpret_cast<int64_t>(terms->distances);
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const Tensor &q = saved[0], &kv = saved[1], &table = saved[2], &probabilities = saved[3];
    const std::vector<int64_t> sizes = context->saved_data["shape"].toIntVector();
    const AttentionShape shape{
        .batch = sizes[0], .tape = sizes[1], .heads = sizes[2], .head_dim = sizes[3], .queries = sizes[4],
        .causal = sizes[5] != 0};
    LayerTerms terms;
    terms.rotation = saved[4];
    terms.content = {.content_bias = saved[5], .relative_bias = saved[6], .keys = saved[7]};
    terms.distances = reinterpret_cast<const Distances*>(context->saved_data["distances"].toInt());
    const Tensor out_gradient = gradients[0].contiguous();
    Tensor q_gradient = IsThere(q) ? at::empty_like(q) : Tensor();
    Tensor kv_gradient = at::empty_like(kv);
    Tensor table_gradient = IsThere(table) && context->needs_input_grad(2) ? at::zeros_like(table) : Tensor();
    const bool relative = IsThere(terms.content.keys);
    const auto zeros = [&](const Tensor& tensor) { return relative ? at::zeros_like(tensor) : Tensor(); };
    const Tensor u_gradient = zeros(saved[5]), v_gradient = zeros(saved[6]), r_gradient = zeros(saved[7]);
    const int64_t width = shape.heads * shape.head_dim;
    float* keys = kv_gradient.data_ptr<float>() + (IsThere(q) ? 0 : width);
    AttentionBackward(MakeProblem(shape, terms, table), MakeInput(shape, q, kv),
                      probabilities.const_data_ptr<float>(), out_gradient.const_data_ptr<float>(),
                      {.q = IsThere(q) ? q_gradient.data_ptr<float>() : kv_gradient.data_ptr<float>(),
                       .k = keys,
                       .v = keys + width,
                       .q_stride = IsThere(q) ? q.size(-1) : kv.size(-1),
                       .kv_stride = kv.size(-1),
                       .table = IsThere(table_gradient) ? table_gradient.data_ptr<float>() : nullptr,
                       .content_bias = relative ? u_gradient.data_ptr<float>() : nullptr,
                       .relative_bias = relative ? v_gradient.data_ptr<float>() : nullptr,
                       .relative_keys = relative ? r_gradient.data_ptr<float>() : nullptr});
    return {q_gradient, kv_gradient, table_gradient, u_gradient, v_gradient, r_gradient, Tensor(), Tensor()};
  }
};

// [.., B n, H K] to [E B, H, n, K].
Tensor SplitHeads(const Tensor& rows, int64_t n, int64_t heads, int64_t head_dim) {
  return rows.view({-1, n, heads, head_dim}).transpose(1, 2);
}

// Queries, keys and values with heads in front, turned where the encoding turns them: [E B, H, .., K].
struct Heads {
  Tensor queries, keys, values;
};

Heads LoadHeads(const AttentionShape& shape, const Tensor& q, const Tensor& kv, const LayerTerms& terms) {
  const std::vector<Tensor> parts = kv.split(shape.heads * shape.head_dim, -1);
  const size_t first = parts.size() - 2;
  Heads heads;
  heads.queries = SplitHeads(q.defined() ? q : parts[0].contiguous(), shape.queries, shape.heads, shape.head_dim);
  heads.keys = SplitHeads(parts[first].contiguous(), shape.tape, shape.heads, shape.head_dim);
  heads.values = SplitHeads(parts[first + 1].contiguous(), shape.tape, shape.heads, shape.head_dim).contiguous();
  if (terms.rotation.defined()) {
    heads.queries = Rotate(heads.queries, terms.rotation.narrow(1, shape.tape - shape.queries, shape.queries));
    heads.keys = Rotate(heads.keys, terms.rotation);
  }
  heads.queries = heads.queries.contiguous();
  heads.keys = heads.keys.contiguous();
  return heads;
}

int64_t QueriesAtATime(const AttentionShape& shape, const Heads& heads, const LayerTerms& terms) {
  const int64_t sequences = heads.queries.size(0), members = sequences / shape.batch;
  const int64_t of_a_pair = std::max(sequences * shape.heads, members * terms.numbers_of_pair);
  return std::clamp<int64_t>(LogitsAtATime(heads.queries.device()) / (of_a_pair * shape.tape), 1, shape.queries);
}

// Of the first `count` keys or values.
Tensor First(const Tensor& all, int64_t count) {
  return count == all.size(2) ? all : all.narrow(2, 0, count).contiguous();
}

// Of `count` queries from `first` on over the first keys; those that none of the queries sees are left out: [E B, H, count, seen].
Tensor Probabilities(const AttentionShape& shape, const Heads& heads, const LayerTerms& terms, int64_t first, int64_t count) {
  const int64_t position = shape.tape - shape.queries + first;
  const int64_t seen = shape.causal ? position + count : shape.tape;
  Tensor logits = AttentionLogits(heads.queries.narrow(2, first, count).contiguous(), First(heads.keys, seen), terms, shape.batch, position);
  if (shape.causal) {
    // Keys that some of the queries do not see.
    const Tensor later = at::ones({count, seen}, logits.options().dtype(at::kBool)).triu(position + 1);
    logits = logits.masked_fill(later, -std::numeric_limits<float>::infinity());
  }
  return at::GradMode::is_enabled() ? KeySoftmax::apply(logits) : at::softmax(logits, -1);
}

}  // namespace

Tensor Rotate(const Tensor& x, const Tensor& rotation) {
  const Tensor pairs = x.unflatten(-1, {x.size(-1) / 2, 2});
  const Tensor a = pairs.select(-1, 0), b = pairs.select(-1, 1);
  const Tensor cosine = rotation.select(0, 0), sine = rotation.select(0, 1);
  return at::stack({a * cosine - b * sine, b * cosine + a * sine}, -1).flatten(-2);
}

Tensor AttentionLogits(const Tensor& queries, const Tensor& keys, const LayerTerms& terms, int64_t batch,
                       int64_t first_query) {
  const int64_t heads = queries.size(1), count = queries.size(2), head_dim = queries.size(3),
                tape = keys.size(2);
  const double scale = 1.0 / std::sqrt(static_cast<double>(head_dim));
  const int64_t members = queries.size(0) / batch;
  const std::vector<int64_t> by_member = {members, batch, heads, count, tape};
  Tensor logits;
  if (terms.content.keys.defined()) {
    const Tensor q = queries.view({members, batch, heads, count, head_dim});
    const Tensor k = keys.view({members, batch, heads, tape, head_dim});
    const Tensor content =
        at::matmul(q + terms.content.content_bias.view({-1, 1, heads, 1, head_dim}), k.transpose(-1, -2));
    logits = (content + RelativeLogits(q, terms.content, *terms.distances, first_query, tape)) * scale;
  } else {
    logits = at::matmul(queries * scale, keys.transpose(-1, -2)).view(by_member);
  }
  if (terms.bias_table.defined()) {
    logits = logits + LookUp(terms.bias_table, *terms.distances, first_query, count, tape);
  }
  if (terms.pair_bias) {
    const Tensor bias = terms.pair_bias(first_query, count, tape);
    logits = logits + (bias.dim() == 4 ? bias.unsqueeze(1) : bias);
  }
  return logits.view({members * batch, heads, count, tape});
}

Tensor Attention(const AttentionShape& shape, const Tensor& q, const Tensor& kv, const LayerTerms& terms) {
  const int64_t width = shape.heads * shape.head_dim;
  // One member alone on the CPU: by our own loops. These have the biases of all pairs there at a time, which of a long tape without a
  // gradient are too many.
  const bool in_blocks = terms.pair_bias && !at::GradMode::is_enabled();
  if (kv.dim() == 2 && kv.is_cpu() && kv.scalar_type() == at::kFloat && !in_blocks) {
    const auto dense = [](const Tensor& tensor) { return tensor.defined() ? tensor.contiguous() : Absent(); };
    LayerTerms all = terms;
    all.bias_table = dense(terms.pair_bias ? terms.pair_bias(shape.tape - shape.queries, shape.queries, shape.tape) : terms.bias_table);
    all.content = {.content_bias = dense(terms.content.content_bias),
                   .relative_bias = dense(terms.content.relative_bias),
                   .keys = dense(terms.content.keys)};
    if (at::GradMode::is_enabled()) {
      return CpuAttention::apply(dense(q), kv, all.bias_table, all.content.content_bias,
                                 all.content.relative_bias, all.content.keys, shape, &all);
    }
    Tensor out = at::empty({shape.batch * shape.queries, width}, at::kFloat);
    AttentionForward(MakeProblem(shape, all, all.bias_table), MakeInput(shape, q, kv), out.data_ptr<float>(),
                     nullptr);
    return out;
  }
  const Heads heads = LoadHeads(shape, q, kv, terms);
  const int64_t block = at::GradMode::is_enabled() ? shape.queries : QueriesAtATime(shape, heads, terms);
  std::vector<Tensor> blocks;
  for (int64_t first = 0; first < shape.queries; first += block) {
    const Tensor probabilities = Probabilities(shape, heads, terms, first, std::min(block, shape.queries - first));
    blocks.push_back(at::matmul(probabilities, First(heads.values, probabilities.size(-1))));
  }
  const Tensor result = blocks.size() == 1 ? blocks[0] : at::cat(blocks, 2);  // [E B, H, queries, K].
  std::vector<int64_t> rows = kv.sizes().vec();
  rows[rows.size() - 2] = shape.batch * shape.queries;
  rows.back() = width;
  return result.transpose(1, 2).reshape(rows);
}

Tensor AttentionMaxima(const AttentionShape& shape, const Tensor& q, const Tensor& kv, const LayerTerms& terms) {
  const torch::NoGradGuard no_grad;
  const Heads heads = LoadHeads(shape, q, kv, terms);
  Tensor maxima = at::zeros({shape.queries, shape.tape}, kv.options());
  const int64_t block = QueriesAtATime(shape, heads, terms);
  for (int64_t first = 0; first < shape.queries; first += block) {
    const int64_t count = std::min(block, shape.queries - first);
    const Tensor probabilities = Probabilities(shape, heads, terms, first, count);
    maxima.narrow(0, first, count).narrow(1, 0, probabilities.size(-1)).copy_(probabilities[0].amax(0));
  }
  return maxima;
}

}  // namespace longreach::trainer
