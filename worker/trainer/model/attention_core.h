// The loops of attention_cpu.cc. In the unnamed namespace of that one file: each instruction set gets its own copy.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "worker/trainer/instruction_sets.h"
#include "worker/trainer/model/attention_cpu.h"

namespace longreach::trainer {

namespace {

constexpr int64_t kLanes = 16;   // Keys beside each other; tapes are padded to a multiple.
constexpr int64_t kMostQueries = 8;
constexpr int64_t kSlack = 2 * kLanes;  // Entries that a row of a causal group may read past its last.
constexpr float kNothing = -1e30f;  // A logit that takes no part.

int64_t Padded(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// e^x for x <= 0, within 2e-7; 0 below -87. NaN stays NaN. Source of the polynomial: Cephes, expf.
LONGREACH_INLINE float Exp(float x) {
  x = x < -88.0f ? -88.0f : x;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number.
  const float n = (x * 1.44269504088896341f + kRound) - kRound;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float y = 1.9875691500e-4f;
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * (r * r) + r + 1.0f;
  return y * std::bit_cast<float>((static_cast<int32_t>(n) + 127) << 23);
}

// Keys beside each other as one vector.
using Lane [[gnu::vector_size(4 * kLanes), gnu::aligned(4), gnu::may_alias]] = float;

// Work space of one (sequence, head).
struct Space {
  std::vector<float> q;        // [queries padded, K], rotated and scaled; with the content bias.
  std::vector<float> qv;       // The same with the relative bias.
  std::vector<float> k, v;     // [T padded, K].
  std::vector<float> kt, vt;   // [K, T padded].
  std::vector<float> dkt, dvt; // [K, T padded].
  std::vector<float> dq;       // [kMostQueries, K].
  std::vector<float> rows;     // [kMostQueries, T padded].
  std::vector<float> more_rows;
  std::vector<float> go;       // [kMostQueries, K].
  std::vector<float> r;        // [H, entries, K]: the relative keys, head by head,
  std::vector<float> rt;       // and [H, K, entries padded].
  std::vector<float> drt;      // [H, K, entries padded].
  std::vector<float> dqr;      // [K].
};

template <int kHead>
struct Core {
  // Queries that share what is read of the keys.
  static constexpr int64_t kQueries = kHead == 32 ? 8 : 4;
  // A head's features of one position as one vector. Where they are summed over keys the compiler's own
  // choice would be to run over the keys and shuffle, at a third of the speed.
  using Row [[gnu::vector_size(4 * (kHead > 0 ? kHead : 1)), gnu::aligned(4), gnu::may_alias]] = float;

  const AttentionProblem& problem;
  Space& space;
  int64_t head_dim = kHead > 0 ? kHead : problem.head_dim;
  int64_t padded = Padded(problem.tape);
  int64_t first_query = problem.tape - problem.queries;

  LONGREACH_INLINE int64_t K() const { return kHead > 0 ? kHead : head_dim; }

  // Keys that query t of the problem sees: the first ones.
  LONGREACH_INLINE int64_t Seen(int64_t t) const {
    return problem.causal ? std::min(problem.tape, first_query + t + 1) : problem.tape;
  }
  // The same of a group of queries from t on, padded.
  LONGREACH_INLINE int64_t SeenByGroup(int64_t t) const { return Padded(Seen(t + kQueries - 1)); }

  // Turns the pairs of one row by the angles of its position, forth or back.
  LONGREACH_INLINE void Turn(float* row, int64_t position, float direction) const {
    const int64_t pairs = K() / 2;
    const float* cosine = problem.rotation + position * pairs;
    const float* sine = problem.rotation + (problem.tape + position) * pairs;
    for (int64_t i = 0; i < pairs; ++i) {
      const float a = row[2 * i], b = row[2 * i + 1], s = direction * sine[i];
      row[2 * i] = a * cosine[i] - b * s;
      row[2 * i + 1] = b * cosine[i] + a * s;
    }
  }

  LONGREACH_INLINE float Scale() const { return 1.0f / std::sqrt(static_cast<float>(K())); }

  // Brings queries, keys and values of (b, h) into the work space.
  LONGREACH_INLINE void Load(const AttentionInput& input, int64_t b, int64_t h,
                             bool values_transposed) const {
    const float scale = Scale();
    for (int64_t t = 0; t < problem.queries; ++t) {
      float* row = space.q.data() + t * K();
      std::copy_n(input.q + (b * problem.queries + t) * input.q_stride + h * K(), K(), row);
      if (problem.rotation != nullptr) Turn(row, first_query + t, 1);
      if (problem.relative_keys != nullptr) {
        float* with_v = space.qv.data() + t * K();
        for (int64_t i = 0; i < K(); ++i) with_v[i] = (row[i] + problem.relative_bias[h * K() + i]) * scale;
        for (int64_t i = 0; i < K(); ++i) row[i] += problem.content_bias[h * K() + i];
      }
      for (int64_t i = 0; i < K(); ++i) row[i] *= scale;
    }
    for (int64_t s = 0; s < problem.tape; ++s) {
      float* key = space.k.data() + s * K();
      float* value = space.v.data() + s * K();
      std::copy_n(input.k + (b * problem.tape + s) * input.kv_stride + h * K(), K(), key);
      std::copy_n(input.v + (b * problem.tape + s) * input.kv_stride + h * K(), K(), value);
      if (problem.rotation != nullptr) Turn(key, s, 1);
      for (int64_t i = 0; i < K(); ++i) space.kt[static_cast<size_t>(i * padded + s)] = key[i];
      if (!values_transposed) continue;
      for (int64_t i = 0; i < K(); ++i) space.vt[static_cast<size_t>(i * padded + s)] = value[i];
    }
  }

  // rows[j][s] = sum_i x[j][i] yt[i][s] for the first `end` keys, of kQueries rows.
  LONGREACH_INLINE void Products(const float* x, const float* yt, float* rows, int64_t end) const {
    for (int64_t s = 0; s < end; s += kLanes) {
      Lane sums[kQueries] = {};
      for (int64_t i = 0; i < K(); ++i) {
        const Lane y = *reinterpret_cast<const Lane*>(yt + i * padded + s);
        for (int64_t j = 0; j < kQueries; ++j) sums[j] += x[j * K() + i] * y;
      }
      for (int64_t j = 0; j < kQueries; ++j) *reinterpret_cast<Lane*>(rows + j * padded + s) = sums[j];
    }
  }

  // yt[i][s] += sum_j x[j][i] rows[j][s], the queries in order.
  LONGREACH_INLINE void AddOuter(const float* x, const float* rows, float* yt, int64_t end) const {
    for (int64_t s = 0; s < end; s += kLanes) {
      Lane row[kQueries];
      for (int64_t j = 0; j < kQueries; ++j) row[j] = *reinterpret_cast<const Lane*>(rows + j * padded + s);
      for (int64_t i = 0; i < K(); ++i) {
        Lane sum = *reinterpret_cast<const Lane*>(yt + i * padded + s);
        for (int64_t j = 0; j < kQueries; ++j) sum += x[j * K() + i] * row[j];
        *reinterpret_cast<Lane*>(yt + i * padded + s) = sum;
      }
    }
  }

  // out[j][i] = sum_s rows[j][s] y[s][i], over the first `keys` keys in order.
  LONGREACH_INLINE void Mix(const float* rows, const float* y, float* out, int64_t keys) const {
    if constexpr (kHead > 8) {
      Row sums[kQueries] = {};
      for (int64_t s = 0; s < keys; ++s) {
        const Row row = *reinterpret_cast<const Row*>(y + s * kHead);
        for (int64_t j = 0; j < kQueries; ++j) sums[j] += rows[j * padded + s] * row;
      }
      for (int64_t j = 0; j < kQueries; ++j) *reinterpret_cast<Row*>(out + j * kHead) = sums[j];
    } else if constexpr (kHead > 0) {
      Row even[kQueries] = {}, odd[kQueries] = {};
      int64_t s = 0;
      for (; s + 1 < keys; s += 2) {
        const Row first = *reinterpret_cast<const Row*>(y + s * kHead),
                  second = *reinterpret_cast<const Row*>(y + (s + 1) * kHead);
        for (int64_t j = 0; j < kQueries; ++j) {
          even[j] += rows[j * padded + s] * first;
          odd[j] += rows[j * padded + s + 1] * second;
        }
      }
      for (int64_t j = 0; j < kQueries; ++j) {
        if (s < keys) even[j] += rows[j * padded + s] * *reinterpret_cast<const Row*>(y + s * kHead);
        *reinterpret_cast<Row*>(out + j * kHead) = even[j] + odd[j];
      }
    } else {
      std::fill_n(out, kQueries * K(), 0.0f);
      for (int64_t s = 0; s < keys; ++s) {
        for (int64_t j = 0; j < kQueries; ++j) {
          const float factor = rows[j * padded + s];
          for (int64_t i = 0; i < K(); ++i) out[j * K() + i] += factor * y[s * K() + i];
        }
      }
    }
  }

  LONGREACH_INLINE void AddBias(const float* table, int64_t query, float* row, int64_t keys) const {
    if (problem.by_pair) {
      const float* bias = table + (query - first_query) * problem.tape;
      for (int64_t s = 0; s < keys; ++s) row[s] += bias[s];
    } else if (problem.places == nullptr) {
      const float* bias = table + problem.tape - 1 - query;
      for (int64_t s = 0; s < keys; ++s) row[s] += bias[s];
    } else {
      const float* bias = table + problem.center - problem.places[query];
      for (int64_t s = 0; s < keys; ++s) row[s] += bias[problem.places[s]];
    }
  }

  LONGREACH_INLINE void AddToTable(const float* row, int64_t query, float* table, int64_t keys) const {
    if (problem.by_pair) {
      float* bias = table + (query - first_query) * problem.tape;
      for (int64_t s = 0; s < keys; ++s) bias[s] += row[s];
    } else if (problem.places == nullptr) {
      float* bias = table + problem.tape - 1 - query;
      for (int64_t s = 0; s < keys; ++s) bias[s] += row[s];
    } else {
      float* bias = table + problem.center - problem.places[query];
      for (int64_t s = 0; s < keys; ++s) bias[problem.places[s]] += row[s];
    }
  }

  // Entries of the relative keys, with room to read past the last.
  LONGREACH_INLINE int64_t PaddedEntries() const { return Padded(problem.entries) + kSlack; }
  LONGREACH_INLINE int64_t EntryOf(int64_t query, int64_t key) const {
    return problem.places == nullptr ? key - query + problem.tape - 1
                                     : problem.places[key] - problem.places[query] + problem.center;
  }

  // Lays the relative keys out head by head, as rows and as columns.
  LONGREACH_INLINE void LoadRelativeKeys() const {
    for (int64_t h = 0; h < problem.heads; ++h) {
      for (int64_t e = 0; e < problem.entries; ++e) {
        const float* row = problem.relative_keys + (e * problem.heads + h) * K();
        std::copy_n(row, K(), space.r.data() + (h * problem.entries + e) * K());
        for (int64_t i = 0; i < K(); ++i) {
          space.rt[static_cast<size_t>((h * K() + i) * PaddedEntries() + e)] = row[i];
        }
      }
    }
  }

  // row[s] += qv r of the pair.
  LONGREACH_INLINE void AddRelative(int64_t h, int64_t t, float* row, int64_t end) const {
    const float* q = space.qv.data() + t * K();
    if (problem.places == nullptr) {
      const float* columns = space.rt.data() + h * K() * PaddedEntries() + EntryOf(first_query + t, 0);
      for (int64_t s = 0; s < end; s += kLanes) {
        Lane sum = *reinterpret_cast<const Lane*>(row + s);
        for (int64_t i = 0; i < K(); ++i) {
          sum += q[i] * *reinterpret_cast<const Lane*>(columns + i * PaddedEntries() + s);
        }
        *reinterpret_cast<Lane*>(row + s) = sum;
      }
    } else {
      for (int64_t s = 0; s < Seen(t); ++s) {
        const float* key = space.r.data() + (h * problem.entries + EntryOf(first_query + t, s)) * K();
        float sum = 0;
        for (int64_t i = 0; i < K(); ++i) sum += q[i] * key[i];
        row[s] += sum;
      }
    }
  }

  // From d loss / d logits of a query: adds to the gradient of the relative keys, and gives that of q + v,
  // not yet scaled.
  LONGREACH_INLINE void RelativeBackward(int64_t h, int64_t t, const float* ds, float* dq, int64_t end) const {
    const float* q = space.qv.data() + t * K();
    const float* keys = space.r.data() + h * problem.entries * K();
    const int64_t seen = Seen(t);
    if constexpr (kHead > 0) {
      Row sum = {};
      for (int64_t s = 0; s < seen; ++s) {
        sum += ds[s] * *reinterpret_cast<const Row*>(keys + EntryOf(first_query + t, s) * kHead);
      }
      *reinterpret_cast<Row*>(dq) = sum;
    } else {
      std::fill_n(dq, K(), 0.0f);
      for (int64_t s = 0; s < seen; ++s) {
        for (int64_t i = 0; i < K(); ++i) dq[i] += ds[s] * keys[EntryOf(first_query + t, s) * K() + i];
      }
    }
    if (problem.places == nullptr) {
      float* columns = space.drt.data() + h * K() * PaddedEntries() + EntryOf(first_query + t, 0);
      for (int64_t s = 0; s < end; s += kLanes) {
        const Lane d = *reinterpret_cast<const Lane*>(ds + s);
        for (int64_t i = 0; i < K(); ++i) {
          *reinterpret_cast<Lane*>(columns + i * PaddedEntries() + s) += q[i] * d;
        }
      }
    } else {
      for (int64_t s = 0; s < seen; ++s) {
        for (int64_t i = 0; i < K(); ++i) {
          space.drt[static_cast<size_t>((h * K() + i) * PaddedEntries() + EntryOf(first_query + t, s))] +=
              q[i] * ds[s];
        }
      }
    }
  }

  LONGREACH_INLINE void StoreRelativeKeys(float* gradient) const {
    for (int64_t h = 0; h < problem.heads; ++h) {
      for (int64_t e = 0; e < problem.entries; ++e) {
        float* row = gradient + (e * problem.heads + h) * K();
        for (int64_t i = 0; i < K(); ++i) {
          row[i] += space.drt[static_cast<size_t>((h * K() + i) * PaddedEntries() + e)];
        }
      }
    }
  }

  LONGREACH_INLINE void Softmax(float* row, int64_t keys, int64_t end) const {
    for (int64_t s = keys; s < end; ++s) row[s] = kNothing;
    float most[kLanes];
    for (int64_t l = 0; l < kLanes; ++l) most[l] = kNothing;
    for (int64_t s = 0; s < end; s += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) most[l] = row[s + l] > most[l] ? row[s + l] : most[l];
    }
    float highest = most[0];
    for (int64_t l = 1; l < kLanes; ++l) highest = std::max(highest, most[l]);
    float sums[kLanes] = {};
    for (int64_t s = 0; s < end; s += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) {
        row[s + l] = Exp(row[s + l] - highest);
        sums[l] += row[s + l];
      }
    }
    float sum = 0;
    for (int64_t l = 0; l < kLanes; ++l) sum += sums[l];
    const float factor = 1.0f / sum;
    for (int64_t s = 0; s < end; s += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) row[s + l] *= factor;
    }
  }

  LONGREACH_INLINE void Forward(const AttentionInput& input, float* out, float* probabilities) const {
    const int64_t width = problem.heads * K();
    if (problem.relative_keys != nullptr) LoadRelativeKeys();
    for (int64_t b = 0; b < problem.batch; ++b) {
      for (int64_t h = 0; h < problem.heads; ++h) {
        Load(input, b, h, false);
        for (int64_t t = 0; t < problem.queries; t += kQueries) {
          const int64_t count = std::min(kQueries, problem.queries - t);
          const int64_t end = SeenByGroup(t);
          Products(space.q.data() + t * K(), space.kt.data(), space.rows.data(), end);
          for (int64_t j = 0; j < count; ++j) {
            float* row = space.rows.data() + j * padded;
            const int64_t keys = Seen(t + j);
            if (problem.relative_keys != nullptr) AddRelative(h, t + j, row, end);
            if (problem.table != nullptr) {
              AddBias(problem.table + h * problem.entries, first_query + t + j, row, keys);
            }
            Softmax(row, keys, end);
            if (probabilities != nullptr) {
              std::copy_n(row, keys,
                          probabilities + ((b * problem.heads + h) * problem.queries + t + j) * problem.tape);
            }
          }
          Mix(space.rows.data(), space.v.data(), space.go.data(), Seen(t + count - 1));
          for (int64_t j = 0; j < count; ++j) {
            std::copy_n(space.go.data() + j * K(), K(),
                        out + (b * problem.queries + t + j) * width + h * K());
          }
        }
      }
    }
  }

  // rows: in, d loss / d probabilities; out, d loss / d logits.
  //
  // p_s (d_s - sum p d). Where one probability is nearly 1 the difference is all rounding; taking d at that
  // key as the origin leaves the small terms as they are.
  LONGREACH_INLINE void SoftmaxBackward(const float* p, float* row, int64_t keys, int64_t end) const {
    int64_t top = 0;
    for (int64_t s = 1; s < keys; ++s) top = p[s] > p[top] ? s : top;
    const float origin = row[top];
    float sums[kLanes] = {};
    for (int64_t s = 0; s < end; s += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) {
        row[s + l] -= origin;
        sums[l] += p[s + l] * row[s + l];
      }
    }
    float sum = 0;
    for (int64_t l = 0; l < kLanes; ++l) sum += sums[l];
    for (int64_t s = 0; s < end; s += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) row[s + l] = p[s + l] * (row[s + l] - sum);
    }
  }

  LONGREACH_INLINE void Backward(const AttentionInput& input, const float* probabilities,
                                 const float* out_gradient, const AttentionGradient& gradient) const {
    const int64_t width = problem.heads * K();
    const float scale = Scale();
    float* p = space.more_rows.data();
    float* ds = space.rows.data();
    if (problem.relative_keys != nullptr) LoadRelativeKeys();
    for (int64_t b = 0; b < problem.batch; ++b) {
      for (int64_t h = 0; h < problem.heads; ++h) {
        Load(input, b, h, true);
        std::fill(space.dkt.begin(), space.dkt.end(), 0.0f);
        std::fill(space.dvt.begin(), space.dvt.end(), 0.0f);
        for (int64_t t = 0; t < problem.queries; t += kQueries) {
          const int64_t count = std::min(kQueries, problem.queries - t), end = SeenByGroup(t);
          for (int64_t j = 0; j < kQueries; ++j) {
            float* go = space.go.data() + j * K();
            float* row = p + j * padded;
            if (j < count) {
              const int64_t keys = Seen(t + j);
              std::copy_n(out_gradient + (b * problem.queries + t + j) * width + h * K(), K(), go);
              std::copy_n(probabilities + ((b * problem.heads + h) * problem.queries + t + j) * problem.tape,
                          keys, row);
              std::fill(row + keys, row + end, 0.0f);
            } else {
              std::fill_n(go, K(), 0.0f);
              std::fill_n(row, end, 0.0f);
            }
          }
          AddOuter(space.go.data(), p, space.dvt.data(), end);
          Products(space.go.data(), space.vt.data(), ds, end);
          for (int64_t j = 0; j < kQueries; ++j) {
            const int64_t keys = Seen(t + j);
            SoftmaxBackward(p + j * padded, ds + j * padded, keys, end);
            if (gradient.table != nullptr && j < count) {
              AddToTable(ds + j * padded, first_query + t + j, gradient.table + h * problem.entries, keys);
            }
          }
          AddOuter(space.q.data() + t * K(), ds, space.dkt.data(), end);  // The queries hold the scale already.
          Mix(ds, space.k.data(), space.dq.data(), Seen(t + count - 1));
          for (int64_t j = 0; j < count; ++j) {
            float* row = space.dq.data() + j * K();
            for (int64_t i = 0; i < K(); ++i) row[i] *= scale;
            if (problem.relative_keys != nullptr) {
              float* relative = space.dqr.data();
              RelativeBackward(h, t + j, ds + j * padded, relative, end);
              for (int64_t i = 0; i < K(); ++i) {
                gradient.content_bias[h * K() + i] += row[i];
                gradient.relative_bias[h * K() + i] += scale * relative[i];
                row[i] += scale * relative[i];
              }
            }
            if (problem.rotation != nullptr) Turn(row, first_query + t + j, -1);
            std::copy_n(row, K(), gradient.q + (b * problem.queries + t + j) * gradient.q_stride + h * K());
          }
        }
        for (int64_t s = 0; s < problem.tape; ++s) {
          float* key = gradient.k + (b * problem.tape + s) * gradient.kv_stride + h * K();
          float* value = gradient.v + (b * problem.tape + s) * gradient.kv_stride + h * K();
          for (int64_t i = 0; i < K(); ++i) key[i] = space.dkt[static_cast<size_t>(i * padded + s)];
          for (int64_t i = 0; i < K(); ++i) value[i] = space.dvt[static_cast<size_t>(i * padded + s)];
          if (problem.rotation != nullptr) Turn(key, s, -1);
        }
      }
    }
    if (problem.relative_keys != nullptr) StoreRelativeKeys(gradient.relative_keys);
  }
};

}  // namespace

}  // namespace longreach::trainer
