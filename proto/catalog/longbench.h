// LongBench's sixteen tasks in English and code, as data: the columns of the NoPE paper's second table.
// Source: eval.py and config/dataset2maxlen.json of THUDM/LongBench; arXiv:2308.14508, table 1, for the samples.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

namespace longreach::catalog {

enum class LongBenchMetric { kTokenF1, kRougeL, kClassMatch, kCount, kRetrieval, kCodeSimilarity };

struct LongBenchTask {
  std::string_view name;    // Of its file, without ".jsonl".
  std::string_view column;  // In the paper's table.
  LongBenchMetric metric;
  int most_new_tokens;
  bool first_line_only;     // The prediction ends with its first line.
  int samples;              // As published: what a plan counts with.
};

// In the order of the table.
inline constexpr std::array kLongBenchTasks = {
    LongBenchTask{"narrativeqa", "NQA", LongBenchMetric::kTokenF1, 128, false, 200},
    LongBenchTask{"qasper", "Qsp", LongBenchMetric::kTokenF1, 128, false, 200},
    LongBenchTask{"multifieldqa_en", "MulF", LongBenchMetric::kTokenF1, 64, false, 150},
    LongBenchTask{"hotpotqa", "HpQA", LongBenchMetric::kTokenF1, 32, false, 200},
    LongBenchTask{"2wikimqa", "2WQA", LongBenchMetric::kTokenF1, 32, false, 200},
    LongBenchTask{"musique", "Musq", LongBenchMetric::kTokenF1, 32, false, 200},
    LongBenchTask{"gov_report", "GRpt", LongBenchMetric::kRougeL, 512, false, 200},
    LongBenchTask{"qmsum", "QSum", LongBenchMetric::kRougeL, 512, false, 200},
    LongBenchTask{"multi_news", "MulN", LongBenchMetric::kRougeL, 512, false, 200},
    LongBenchTask{"trec", "TREC", LongBenchMetric::kClassMatch, 64, true, 200},
    LongBenchTask{"triviaqa", "TrQA", LongBenchMetric::kTokenF1, 32, true, 200},
    LongBenchTask{"samsum", "SSum", LongBenchMetric::kRougeL, 128, true, 200},
    LongBenchTask{"passage_count", "PsgC", LongBenchMetric::kCount, 32, false, 200},
    LongBenchTask{"passage_retrieval_en", "PsgR", LongBenchMetric::kRetrieval, 32, false, 200},
    LongBenchTask{"lcc", "Lcc", LongBenchMetric::kCodeSimilarity, 64, false, 500},
    LongBenchTask{"repobench-p", "Re-P", LongBenchMetric::kCodeSimilarity, 64, false, 500}};

// nullptr when there is none.
inline const LongBenchTask* FindLongBenchTask(std::string_view name) {
  const auto* const found = std::ranges::find(kLongBenchTasks, name, &LongBenchTask::name);
  return found == std::end(kLongBenchTasks) ? nullptr : found;
}

}  // namespace longreach::catalog
