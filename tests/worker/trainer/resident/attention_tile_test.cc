// Attention of a sequence on its own, at every length of a tape.
#include "tests/worker/trainer/resident/kernels_fixture.h"
#include "worker/trainer/resident/attention.h"

namespace longreach::trainer::resident {

namespace {

constexpr int kSequences = 2;
constexpr int kPart = (kSequences * kMaxTape + kOverhang) * kRowLd;

// Shared memory of attention: the tile and dO, with what lies after the last sequence, and numbers by head and row: lse and dot.
struct Tile {
  int tape;
  std::vector<Half> numbers, d_out;
  std::vector<float> lse_of_head, dot_of_head;

  explicit Tile(int t)
      : tape(t),
        numbers(3 * kPart),
        d_out(kPart),
        lse_of_head(static_cast<size_t>(kHeads * kSequences * t)),
        dot_of_head(lse_of_head.size()) {}

  static size_t At(int row, int feature) { return static_cast<size_t>(PlaceInSquares(row, feature)); }
  size_t OfHead(int head, int row) const { return static_cast<size_t>(head * kSequences * tape + row); }

  // Part 0, 1, 2: queries, keys, values.
  void Put(int part, const Vector& x, double scale) {
    for (int row = 0; row < kSequences * tape; ++row) {
      for (int f = 0; f < kDim; f += 2) {
        const auto number = [&](int i) { return static_cast<float>(x[reference::At(row, kDim, f + i)] * scale); };
        StorePair(&numbers[static_cast<size_t>(part * kPart) + At(row, f)], Pack(number(0), number(1)));
      }
    }
  }
  Vector Take(int part) const {
    Vector x;
    for (int row = 0; row < kSequences * tape; ++row) {
      for (int f = 0; f < kDim; ++f) x.push_back(ToFloat(numbers[static_cast<size_t>(part * kPart) + At(row, f)]));
    }
    return x;
  }
};

void ExpectNear(const char* what, const Vector& got, const Vector& want, double limit, double floor = 0) {
  Vector off;
  for (size_t i = 0; i < want.size(); ++i) off.push_back(got[i] - want[i]);
  EXPECT_LT(SizeOf(off), limit * std::max(SizeOf(want), floor)) << what;
}

template <Positional kPositional>
void ExpectAttention(int tape, Order order) {
  Random random(static_cast<uint64_t>(tape));
  const Terms terms({.tape = tape, .positional = kPositional}, kSequences, random);
  const size_t count = static_cast<size_t>(kSequences * tape * kDim);
  Vector q = random.Normals(count, 1), k = random.Normals(count, 1), v = random.Normals(count, 1), d_out = random.Normals(count, 1);
  const Input<Half> rounded[] = {Input<Half>(q), Input<Half>(k), Input<Half>(v), Input<Half>(d_out)};
  Vector rotation = terms.setting.rotation;
  const Input<float> rotation_of_kernel(rotation);
  Tile tile(tape);
  const auto fill = [&] {
    tile.Put(0, q, kHeadScale * kLog2e);
    tile.Put(1, k, 1);
    tile.Put(2, v, 1);
  };
  const auto terms_of = [&](int head) {
    // Kinds without terms have none of any head.
    const auto of_head = [head](const auto& of_heads) { return of_heads.empty() ? nullptr : of_heads.data() + head * kTable; };
    return HeadTerms{of_head(terms.table_of_kernel), of_head(terms.slopes_of_kernel), rotation_of_kernel.data()};
  };

  fill();
  RunBlock(
      [&] {
        for (int sequence = 0; sequence < kSequences; ++sequence) {
          ForKeyTiles(tape, [&]<int kKeyTiles>() {
            AttendForward<kKeyTiles, kPositional, kPart>(tile.numbers.data(), sequence * tape, tape, 0, Warp(), terms_of(Warp()),
                                                         &tile.lse_of_head[tile.OfHead(Warp(), sequence * tape)]);
          });
        }
      },
      order);
  reference::Activations want;
  reference::Attend(want, q, k, v, terms.setting);
  const Vector o = tile.Take(0);
  ExpectNear("o", o, want.o, OfOperands(4e-3));

  for (int row = 0; row < kSequences * tape; ++row) {
    for (int f = 0; f < kDim; ++f) {
      const size_t at = reference::At(row, kDim, f);
      tile.d_out[Tile::At(row, f)] = rounded[3].data()[at];
      tile.dot_of_head[tile.OfHead(f / kHeadDim, row)] += static_cast<float>(o[at] * d_out[at]);
    }
  }
  fill();
  Vector got_sums(kHeads * 2);
  RunBlock(
      [&] {
        SlopeSums sums;
        for (int sequence = 0; sequence < kSequences; ++sequence) {
          const size_t row = tile.OfHead(Warp(), sequence * tape);
          ForKeyTiles(tape, [&]<int kKeyTiles>() {
            AttendBackward<kKeyTiles, kPositional, kPart>(tile.numbers.data(), tile.d_out.data(), sequence * tape, tape, 0, Warp(), terms_of(Warp()),
                                                          &tile.lse_of_head[row], &tile.dot_of_head[row], sums);
          });
        }
        const float bias = SumOfWarp(sums.bias) * kLn2, slope = SumOfWarp(sums.slope);
        if (Lane() == 0) got_sums[reference::At(Warp(), 2, 0)] = bias;
        if (Lane() == 0) got_sums[reference::At(Warp(), 2, 1)] = slope;
      },
      order);
  Vector dq(count), dk(count), dv(count), want_sums;
  reference::AttendBackward(dq, dk, dv, want_sums, d_out, want.o, q, k, v, terms.slopes, terms.setting);
  // What the kernel gives are gradients of the projections, before they turned.
  reference::Rotate(dq, terms.setting, -1);
  reference::Rotate(dk, terms.setting, -1);
  const double floor = tape == 1 ? SizeOf(dv) : 0;
  ExpectNear("dq", tile.Take(0), dq, OfOperands(1e-2), floor);
  ExpectNear("dk", tile.Take(1), dk, OfOperands(1e-2), floor);
  ExpectNear("dv", tile.Take(2), dv, OfOperands(5e-3));
  if (kPositional == Positional::kTrainedBias) ExpectNear("sums", got_sums, want_sums, OfOperands(2e-2), tape == 1 ? SizeOf(dv) : 0);
}

TEST(AttentionTileTest, IsThatOfDoublePrecisionAtEveryTape) {
  for (int tape = 1; tape <= kMaxTape; tape += kForRaces ? 19 : 1) {
    SCOPED_TRACE(tape);
    const Order order = tape % 2 == 0 ? Order::kAscending : Order::kDescending;
    ExpectAttention<Positional::kTrainedBias>(tape, order);
    if (tape % 3 == 0) ExpectAttention<Positional::kRotary>(tape, order);
    if (tape % 3 == 1) ExpectAttention<Positional::kNone>(tape, order);
    if (tape % 3 == 2) ExpectAttention<Positional::kBias>(tape, order);
  }
}

}  // namespace

}  // namespace longreach::trainer::resident
