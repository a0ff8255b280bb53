#include "worker/trainer/model/attention.h"

#include <algorithm>
#include <cmath>

namespace longreach::trainer {

namespace {

// Logits that are there at a time when no gradient is wanted: 2^20 floats stay in the cache.
constexpr int64_t kLogitsAtATime = 1 << 20;

// The bias of each pair: [H, queries, T] or [E, 1, H, queries, T].
Tensor LookUp(const Tensor& table, const Distances& distances, int64_t first_query, int64_t queries) {
  const Tensor entry = distances.Entries(first_query, queries).view({-1});
  std::vector<int64_t> shape = table.sizes().vec();
  shape.back() = queries;
  shape.push_back(distances.tape());
  const Tensor bias = table.index_select(-1, entry).view(shape);
  return bias.dim() == 4 ? bias.unsqueeze(1) : bias;
}

// (q + v) r of each pair: [E, B, H, queries, T].
Tensor RelativeLogits(const Tensor& queries_EBHTK, const ContentTerm& content, const Distances& distances, int64_t first_query) {
  const int64_t members = queries_EBHTK.size(0), batch = queries_EBHTK.size(1), heads = queries_EBHTK.size(2);
  const int64_t queries = queries_EBHTK.size(3), head_dim = queries_EBHTK.size(4), tape = distances.tape();
  const Tensor q = queries_EBHTK + content.relative_bias.view({-1, 1, heads, 1, head_dim});
  // [E or 1, H, R, K].
  const Tensor keys = content.keys.view({-1, content.keys.size(-2), heads, head_dim}).transpose(1, 2);
  if (distances.toeplitz()) {
    // Row t of [queries, R] holds the pair (t, s) at s - t + T - 1: read with one less than a row's length from row to row.
    const int64_t entries = 2 * tape - 1;
    const Tensor all = at::matmul(q, keys.unsqueeze(1).transpose(-1, -2)).contiguous();  // [E, B, H, queries, R].
    const int64_t row = queries * entries;
    return all.as_strided({members, batch, heads, queries, tape},
                          {batch * heads * row, heads * row, row, entries - 1, 1}, tape - 1 - first_query);
  }
  const Tensor entry = distances.Entries(first_query, queries).view({-1});
  const Tensor pair_keys = keys.index_select(2, entry).view({keys.size(0), heads, queries, tape, head_dim});
  const Tensor by_query = q.permute({0, 2, 3, 1, 4});  // [E, H, queries, B, K].
  return at::matmul(by_query, pair_keys.transpose(-1, -2)).permute({0, 3, 1, 2, 4});
}

// [.., B n, H K] to [E B, H, n, K].
Tensor SplitHeads(const Tensor& rows, int64_t n, int64_t heads, int64_t head_dim) {
  return rows.view({-1, n, heads, head_dim}).transpose(1, 2);
}

}  // namespace

Tensor Rotate(const Tensor& x, const Tensor& rotation) {
  const Tensor pairs = x.unflatten(-1, {x.size(-1) / 2, 2});
  const Tensor a = pairs.select(-1, 0), b = pairs.select(-1, 1);
  const Tensor cosine = rotation.select(0, 0), sine = rotation.select(0, 1);
  return at::stack({a * cosine - b * sine, b * cosine + a * sine}, -1).flatten(-2);
}

Tensor AttentionLogits(const Tensor& queries, const Tensor& keys, const LayerTerms& terms, int64_t batch, int64_t first_query) {
  const int64_t heads = queries.size(1), count = queries.size(2), head_dim = queries.size(3), tape = keys.size(2);
  const double scale = 1.0 / std::sqrt(static_cast<double>(head_dim));
  const int64_t members = queries.size(0) / batch;
  const std::vector<int64_t> by_member = {members, batch, heads, count, tape};
  Tensor logits;
  if (terms.content.keys.defined()) {
    const Tensor q = queries.view({members, batch, heads, count, head_dim});
    const Tensor k = keys.view({members, batch, heads, tape, head_dim});
    const Tensor content = at::matmul(q + terms.content.content_bias.view({-1, 1, heads, 1, head_dim}), k.transpose(-1, -2));
    logits = (content + RelativeLogits(q, terms.content, *terms.distances, first_query)) * scale;
  } else {
    logits = at::matmul(queries * scale, keys.transpose(-1, -2)).view(by_member);
  }
  if (terms.bias_table.defined()) {
    logits = logits + LookUp(terms.bias_table, *terms.distances, first_query, count);
  }
  return logits.view({members * batch, heads, count, tape});
}

Tensor Attention(const AttentionShape& shape, const Tensor& q, const Tensor& kv, const LayerTerms& terms) {
  const int64_t width = shape.heads * shape.head_dim;
  const int64_t first_query = shape.tape - shape.queries;
  Tensor queries, keys, values;
  {
    const std::vector<Tensor> parts = kv.split(width, -1);
    const size_t first = parts.size() - 2;
    queries = SplitHeads(q.defined() ? q : parts[0].contiguous(), shape.queries, shape.heads, shape.head_dim);
    keys = SplitHeads(parts[first].contiguous(), shape.tape, shape.heads, shape.head_dim);
    values = SplitHeads(parts[first + 1].contiguous(), shape.tape, shape.heads, shape.head_dim);
  }
  if (terms.rotation.defined()) {
    queries = Rotate(queries, terms.rotation.narrow(1, first_query, shape.queries));
    keys = Rotate(keys, terms.rotation);
  }
  queries = queries.contiguous();
  keys = keys.contiguous();
  values = values.contiguous();
  int64_t block = shape.queries;
  if (!at::GradMode::is_enabled()) {
    block = std::clamp<int64_t>(kLogitsAtATime / (queries.size(0) * shape.heads * shape.tape), 1, shape.queries);
  }
  std::vector<Tensor> blocks;
  for (int64_t first = 0; first < shape.queries; first += block) {
    const int64_t count = std::min(block, shape.queries - first);
    const Tensor logits = AttentionLogits(queries.narrow(2, first, count).contiguous(), keys, terms, shape.batch, first_query + first);
    blocks.push_back(at::matmul(at::softmax(logits, -1), values));
  }
  const Tensor result = blocks.size() == 1 ? blocks[0] : at::cat(blocks, 2);  // [E B, H, queries, K].
  std::vector<int64_t> rows = kv.sizes().vec();
  rows[rows.size() - 2] = shape.batch * shape.queries;
  rows.back() = width;
  return result.transpose(1, 2).reshape(rows);
}

}  // namespace longreach::trainer
