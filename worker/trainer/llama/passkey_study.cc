#include "worker/trainer/llama/passkey_study.h"

#include <algorithm>

#include "worker/trainer/llama/evaluation.h"
#include "worker/trainer/llama/passkey.h"

namespace longreach::trainer {

PasskeyStudy::PasskeyStudy(const PackSettings& settings, int threads, std::unique_ptr<tokenizer::Tokenizer> tokenizer)
    : questions_(MakePasskeyQuestions(settings, std::move(tokenizer))), model_(settings), pool_(threads) {}

absl::StatusOr<double> PasskeyStudy::Accuracy(const Tensor& member, int cell, const std::function<void()>& between) {
  const bool shares_threads = !member.is_cpu() || questions_->LengthOf(cell) >= kSharedLength;
  // Short prompts are made in a moment: signs of life in between would make their pace the usual one, which answers do not keep.
  const std::function<void()> nothing = [] {};
  ASSIGN_OR_RETURN(const std::vector<AskedPasskey> questions, questions_->Of(cell, shares_threads ? between : nothing));
  const ParameterSet parameters = ViewParameters(model_.layout(), member);
  const torch::NoGradGuard no_gradient;
  FrozenModel model{.decoder = &model_.decoder(), .parameters = &parameters, .head_factors = model_.HeadFactors(parameters)};
  std::vector<Tokens> answers(questions.size());
  const auto answer = [&](size_t i) {
    DecoderContinuation continuation(model, DecoderContinuation::Memory::kCache);
    answers[i] = Greedy(continuation, questions[i].prompt, questions[i].rule).tokens;
  };
  if (shares_threads) {
    model.pool = &pool_;
    model.between = between;
    for (size_t i = 0; i < questions.size(); ++i) answer(i);
  } else {
    const int64_t count = static_cast<int64_t>(questions.size());
    for (int64_t done = 0; done < count; done += pool_.threads()) {
      pool_.Run(std::min<int64_t>(pool_.threads(), count - done), [&](int64_t i) {
        const c10::InferenceMode inference;
        answer(static_cast<size_t>(done + i));
      });
      between();
    }
  }
  int64_t right = 0;
  for (size_t i = 0; i < questions.size(); ++i) {
    ASSIGN_OR_RETURN(const bool is_right, questions[i].is_right(answers[i]));
    right += is_right;
  }
  return static_cast<double>(right) / static_cast<double>(questions.size());
}

}  // namespace longreach::trainer
