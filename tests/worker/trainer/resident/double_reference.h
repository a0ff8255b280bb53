// An encoder layer in double precision, by plain loops, forward and backward: what the resident kernels are held against. Written from the
// formulas, not from the kernels; double_reference_test.cc holds its gradients against differences of its losses.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "worker/trainer/resident/step_arguments.h"

namespace longreach::trainer::resident::reference {

using Vector = std::vector<double>;

// Weights [in, out] of a layer, or their gradients.
struct Weights {
  Vector q = Vector(kDim * kDim), k = q, v = q, o = q;
  Vector norm1_scale = Vector(kDim), norm1_offset = norm1_scale, norm2_scale = norm1_scale, norm2_offset = norm1_scale;
  Vector mlp1_w = Vector(kDim * kHidden), mlp1_b = Vector(kHidden), mlp2_w = Vector(kHidden * kDim), mlp2_b = Vector(kDim);
};

// What a layer is given beside its weights and its input. N = batch tape.
struct Setting {
  int batch = 0, tape = 0;
  std::vector<uint64_t> keep_attention, keep_mlp;  // [N]; empty: nothing is dropped.
  double keep_scale = 1;
  Vector bias;      // [H, kTable], natural, by kSpan + key - query; empty: none.
  Vector rotation;  // [T, 8]: four cosines, four sines; empty: none.
  // Hidden features are on as those of this input are that went into the MLP in other arithmetic; by default, as they are here.
  std::function<double(double)> round_mlp_input = [](double x) { return x; };

  int tokens() const { return batch * tape; }
  double Kept(const std::vector<uint64_t>& keep, int token, int feature) const {
    if (keep.empty()) return 1;
    return (keep[static_cast<size_t>(token)] >> feature) & 1u ? keep_scale : 0;
  }
};

// [N, D] each but for lse [H, N], in units of log2.
struct Activations {
  Vector o, x1, x2, h_out, lse;
};

inline size_t At(int row, int columns, int column) {
  return static_cast<size_t>(row) * static_cast<size_t>(columns) + static_cast<size_t>(column);
}

// y [rows, out] += x [rows, in] w [in, out].
inline void AddProduct(Vector& y, const Vector& x, const Vector& w, int rows, int in, int out) {
  for (int r = 0; r < rows; ++r) {
    for (int i = 0; i < in; ++i) {
      const double factor = x[At(r, in, i)];
      for (int j = 0; j < out; ++j) y[At(r, out, j)] += factor * w[At(i, out, j)];
    }
  }
}
// dx [rows, in] += dy [rows, out] w^T, and dw [in, out] += x^T dy.
inline void AddProductBackward(Vector* dx, Vector& dw, const Vector& dy, const Vector& x, const Vector& w, int rows, int in, int out) {
  for (int r = 0; r < rows; ++r) {
    for (int i = 0; i < in; ++i) {
      double sum = 0;
      const double factor = x[At(r, in, i)];
      for (int j = 0; j < out; ++j) {
        sum += dy[At(r, out, j)] * w[At(i, out, j)];
        dw[At(i, out, j)] += factor * dy[At(r, out, j)];
      }
      if (dx != nullptr) (*dx)[At(r, in, i)] += sum;
    }
  }
}

inline double Deviation(const double* row, double& mean) {
  mean = 0;
  double square = 0;
  for (int f = 0; f < kDim; ++f) mean += row[f] / kDim;
  for (int f = 0; f < kDim; ++f) square += (row[f] - mean) * (row[f] - mean) / kDim;
  return std::sqrt(square + 1e-5);
}

inline Vector Norm(const Vector& x, const Vector& scale, const Vector& offset, int rows) {
  Vector y(x.size());
  for (int r = 0; r < rows; ++r) {
    double mean = 0;
    const double deviation = Deviation(&x[At(r, kDim, 0)], mean);
    for (int f = 0; f < kDim; ++f) {
      const size_t i = static_cast<size_t>(f);
      y[At(r, kDim, f)] = (x[At(r, kDim, f)] - mean) / deviation * scale[i] + offset[i];
    }
  }
  return y;
}

// The gradient of x; adds to those of scale and offset.
inline Vector NormBackward(const Vector& dy, const Vector& x, const Vector& scale, Vector& d_scale, Vector& d_offset, int rows) {
  Vector dx(x.size());
  for (int r = 0; r < rows; ++r) {
    double mean = 0, mean_g = 0, along = 0;
    std::array<double, kDim> y, g;
    const double deviation = Deviation(&x[At(r, kDim, 0)], mean);
    for (size_t f = 0; f < kDim; ++f) {
      const size_t at = At(r, kDim, static_cast<int>(f));
      y[f] = (x[at] - mean) / deviation;
      g[f] = dy[at] * scale[f];
      d_scale[f] += dy[at] * y[f];
      d_offset[f] += dy[at];
      mean_g += g[f] / kDim;
      along += g[f] * y[f] / kDim;
    }
    for (size_t f = 0; f < kDim; ++f) dx[At(r, kDim, static_cast<int>(f))] = (g[f] - mean_g - y[f] * along) / deviation;
  }
  return dx;
}

// Pairs of features of x [N, D] turn by their positions' angles: (a, b) -> (a cos - b sin, b cos + a sin). direction -1: back.
inline void Rotate(Vector& x, const Setting& setting, double direction) {
  if (setting.rotation.empty()) return;
  for (int n = 0; n < setting.tokens(); ++n) {
    for (int f = 0; f < kDim; f += 2) {
      const int pair = f % kHeadDim / 2;
      const double cosine = setting.rotation[At(n % setting.tape, 8, pair)];
      const double sine = direction * setting.rotation[At(n % setting.tape, 8, 4 + pair)];
      double &a = x[At(n, kDim, f)], &b = x[At(n, kDim, f + 1)];
      const double turned = a * cosine - b * sine;
      b = b * cosine + a * sine;
      a = turned;
    }
  }
}

inline double Bias(const Setting& setting, int head, int query, int key) {
  return setting.bias.empty() ? 0 : setting.bias[At(head, kTable, kSpan + key - query)];
}

// Softmax of one head of one sequence: p [T, T], and lse [T] in natural units. q, k, v: [N, D], turned.
inline void Probabilities(Vector& p, Vector& lse, const Vector& q, const Vector& k, const Setting& setting, int sequence, int head) {
  const int T = setting.tape, first = sequence * T;
  p.assign(static_cast<size_t>(T) * static_cast<size_t>(T), 0);
  lse.assign(static_cast<size_t>(T), 0);
  for (int t = 0; t < T; ++t) {
    double top = -1e300, sum = 0;
    for (int s = 0; s < T; ++s) {
      double x = 0;
      for (int f = head * kHeadDim; f < (head + 1) * kHeadDim; ++f) x += q[At(first + t, kDim, f)] * k[At(first + s, kDim, f)];
      p[At(t, T, s)] = x / std::sqrt(8.0) + Bias(setting, head, t, s);
      top = std::max(top, p[At(t, T, s)]);
    }
    for (int s = 0; s < T; ++s) sum += p[At(t, T, s)] = std::exp(p[At(t, T, s)] - top);
    for (int s = 0; s < T; ++s) p[At(t, T, s)] /= sum;
    lse[static_cast<size_t>(t)] = top + std::log(sum);
  }
}

// q, k, v [N, D] to o [N, D] and lse [H, N] in units of log2.
inline void Attend(Activations& a, const Vector& q, const Vector& k, const Vector& v, const Setting& setting) {
  const int T = setting.tape;
  a.o.assign(q.size(), 0);
  a.lse.assign(static_cast<size_t>(setting.tokens()) * kHeads, 0);
  Vector p, lse;
  for (int sequence = 0; sequence < setting.batch; ++sequence) {
    for (int head = 0; head < kHeads; ++head) {
      Probabilities(p, lse, q, k, setting, sequence, head);
      for (int t = 0; t < T; ++t) {
        const int row = sequence * T + t;
        a.lse[At(head, setting.tokens(), row)] = lse[static_cast<size_t>(t)] / std::log(2.0);
        for (int s = 0; s < T; ++s) {
          for (int f = head * kHeadDim; f < (head + 1) * kHeadDim; ++f) {
            a.o[At(row, kDim, f)] += p[At(t, T, s)] * v[At(sequence * T + s, kDim, f)];
          }
        }
      }
    }
  }
}

// Gradients of q, k, v from that of o. slopes [H, kTable] (may be empty) and slope_sums [H, 2]: sums of dS times bias, and slope.
inline void AttendBackward(Vector& dq, Vector& dk, Vector& dv, Vector& slope_sums, const Vector& d_o, const Vector& o, const Vector& q,
                           const Vector& k, const Vector& v, const Vector& slopes, const Setting& setting) {
  const int T = setting.tape;
  slope_sums.assign(kHeads * 2, 0);
  Vector p, lse;
  for (int sequence = 0; sequence < setting.batch; ++sequence) {
    for (int head = 0; head < kHeads; ++head) {
      Probabilities(p, lse, q, k, setting, sequence, head);
      for (int t = 0; t < T; ++t) {
        const int row = sequence * T + t;
        double dot = 0;
        for (int f = head * kHeadDim; f < (head + 1) * kHeadDim; ++f) dot += d_o[At(row, kDim, f)] * o[At(row, kDim, f)];
        for (int s = 0; s < T; ++s) {
          const int other = sequence * T + s;
          double dp = 0;
          for (int f = head * kHeadDim; f < (head + 1) * kHeadDim; ++f) {
            dp += d_o[At(row, kDim, f)] * v[At(other, kDim, f)];
            dv[At(other, kDim, f)] += p[At(t, T, s)] * d_o[At(row, kDim, f)];
          }
          const double ds = p[At(t, T, s)] * (dp - dot);
          for (int f = head * kHeadDim; f < (head + 1) * kHeadDim; ++f) {
            dq[At(row, kDim, f)] += ds * k[At(other, kDim, f)] / std::sqrt(8.0);
            dk[At(other, kDim, f)] += ds * q[At(row, kDim, f)] / std::sqrt(8.0);
          }
          slope_sums[At(head, 2, 0)] += ds * Bias(setting, head, t, s);
          if (!slopes.empty()) slope_sums[At(head, 2, 1)] += ds * slopes[At(head, kTable, kSpan + s - t)];
        }
      }
    }
  }
}

inline std::array<Vector, 3> Projections(const Weights& w, const Vector& h, const Setting& setting) {
  std::array<Vector, 3> qkv;
  const Vector* matrices[] = {&w.q, &w.k, &w.v};
  for (size_t part = 0; part < 3; ++part) {
    qkv[part].assign(h.size(), 0);
    AddProduct(qkv[part], h, *matrices[part], setting.tokens(), kDim, kDim);
    if (part < 2) Rotate(qkv[part], setting, 1);
  }
  return qkv;
}

inline Vector HiddenInputs(const Weights& w, const Vector& u, int rows) {
  Vector z(static_cast<size_t>(rows) * kHidden);
  for (size_t i = 0; i < z.size(); ++i) z[i] = w.mlp1_b[i % kHidden];
  AddProduct(z, u, w.mlp1_w, rows, kDim, kHidden);
  return z;
}

inline Activations Forward(const Weights& w, const Vector& h, const Setting& setting) {
  const int N = setting.tokens();
  Activations a;
  const std::array<Vector, 3> qkv = Projections(w, h, setting);
  Attend(a, qkv[0], qkv[1], qkv[2], setting);
  a.x1.assign(h.size(), 0);
  AddProduct(a.x1, a.o, w.o, N, kDim, kDim);
  for (int n = 0; n < N; ++n) {
    for (int f = 0; f < kDim; ++f) {
      double& x = a.x1[At(n, kDim, f)];
      x = x * setting.Kept(setting.keep_attention, n, f) + h[At(n, kDim, f)];
    }
  }
  const Vector u = Norm(a.x1, w.norm1_scale, w.norm1_offset, N);
  Vector z = HiddenInputs(w, u, N);
  for (double& x : z) x = std::max(x, 0.0);
  for (int n = 0; n < N; ++n) a.x2.insert(a.x2.end(), w.mlp2_b.begin(), w.mlp2_b.end());
  AddProduct(a.x2, z, w.mlp2_w, N, kHidden, kDim);
  for (int n = 0; n < N; ++n) {
    for (int f = 0; f < kDim; ++f) {
      double& x = a.x2[At(n, kDim, f)];
      x = x * setting.Kept(setting.keep_mlp, n, f) + u[At(n, kDim, f)];
    }
  }
  a.h_out = Norm(a.x2, w.norm2_scale, w.norm2_offset, N);
  return a;
}

// From the gradient dh of the layer's output, those of the weights of its second half, and of u, the first norm's output.
inline Vector MlpBackward(Weights& gradients, const Weights& w, const Vector& x1, const Vector& x2, const Vector& dh, const Setting& setting) {
  const int N = setting.tokens();
  Vector u = Norm(x1, w.norm1_scale, w.norm1_offset, N);
  for (double& x : u) x = setting.round_mlp_input(x);
  Vector du = NormBackward(dh, x2, w.norm2_scale, gradients.norm2_scale, gradients.norm2_offset, N), df = du;
  for (int n = 0; n < N; ++n) {
    for (int f = 0; f < kDim; ++f) {
      df[At(n, kDim, f)] *= setting.Kept(setting.keep_mlp, n, f);
      gradients.mlp2_b[static_cast<size_t>(f)] += df[At(n, kDim, f)];
    }
  }
  Vector z = HiddenInputs(w, u, N), dz(z.size());
  for (double& x : z) x = std::max(x, 0.0);
  AddProductBackward(&dz, gradients.mlp2_w, df, z, w.mlp2_w, N, kHidden, kDim);
  for (size_t i = 0; i < z.size(); ++i) {
    if (z[i] <= 0) dz[i] = 0;
    gradients.mlp1_b[i % kHidden] += dz[i];
  }
  AddProductBackward(&du, gradients.mlp1_w, dz, u, w.mlp1_w, N, kDim, kHidden);
  return du;
}

// From the gradient du of the first norm's output, those of the weights of the first half, and of h, the layer's input.
inline Vector AttentionBackward(Weights& gradients, Vector& slope_sums, const Weights& w, const Vector& h, const Vector& x1, const Vector& o,
                                const Vector& du, const Vector& slopes, const Setting& setting) {
  const int N = setting.tokens();
  Vector dh = NormBackward(du, x1, w.norm1_scale, gradients.norm1_scale, gradients.norm1_offset, N), da = dh, d_o(h.size());
  for (int n = 0; n < N; ++n) {
    for (int f = 0; f < kDim; ++f) da[At(n, kDim, f)] *= setting.Kept(setting.keep_attention, n, f);
  }
  AddProductBackward(&d_o, gradients.o, da, o, w.o, N, kDim, kDim);
  const std::array<Vector, 3> qkv = Projections(w, h, setting);
  std::array<Vector, 3> d = {Vector(h.size()), Vector(h.size()), Vector(h.size())};
  AttendBackward(d[0], d[1], d[2], slope_sums, d_o, o, qkv[0], qkv[1], qkv[2], slopes, setting);
  const Vector* matrices[] = {&w.q, &w.k, &w.v};
  Vector* to[] = {&gradients.q, &gradients.k, &gradients.v};
  for (size_t part = 0; part < 3; ++part) {
    if (part < 2) Rotate(d[part], setting, -1);
    AddProductBackward(&dh, *to[part], d[part], h, *matrices[part], N, kDim, kDim);
  }
  return dh;
}

}  // namespace longreach::trainer::resident::reference
