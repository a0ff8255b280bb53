// The templates are LongBench's, to the letter, its slips among them: scores compare only so.
// Source: config/dataset2prompt.json of THUDM/LongBench, Copyright (c) 2023 THU-KEG & Zhipu AI, MIT License (LICENSE-LongBench.txt).
#include "worker/trainer/longbench/prompts.h"

#include <algorithm>
#include <iterator>

namespace longreach::longbench {

namespace {

struct Template {
  std::string_view task;
  std::string_view text;
};

constexpr Template kTemplates[] = {
    {"narrativeqa",
     "You are given a story, which can be either a novel or a movie script, and a question. Answer the question asconcisely "
     "as you can, using a single phrase if possible. Do not provide any explanation.\n\nStory: {context}\n\nNow, answer the "
     "question based on the story asconcisely as you can, using a single phrase if possible. Do not provide any "
     "explanation.\n\nQuestion: {input}\n\nAnswer:"},
    {"qasper",
     "You are given a scientific article and a question. Answer the question as concisely as you can, using a single phrase "
     "or sentence if possible. If the question cannot be answered based on the information in the article, write "
     "\"unanswerable\". If the question is a yes/no question, answer \"yes\", \"no\", or \"unanswerable\". Do not provide "
     "any explanation.\n\nArticle: {context}\n\n Answer the question based on the above article as concisely as you can, "
     "using a single phrase or sentence if possible. If the question cannot be answered based on the information in the "
     "article, write \"unanswerable\". If the question is a yes/no question, answer \"yes\", \"no\", or \"unanswerable\". "
     "Do not provide any explanation.\n\nQuestion: {input}\n\nAnswer:"},
    {"multifieldqa_en",
     "Read the following text and answer briefly.\n\n{context}\n\nNow, answer the following question based on the above "
     "text, only give me the answer and do not output any other words.\n\nQuestion: {input}\nAnswer:"},
    {"hotpotqa",
     "Answer the question based on the given passages. Only give me the answer and do not output any other words.\n\nThe "
     "following are given passages.\n{context}\n\nAnswer the question based on the given passages. Only give me the answer "
     "and do not output any other words.\n\nQuestion: {input}\nAnswer:"},
    {"2wikimqa",
     "Answer the question based on the given passages. Only give me the answer and do not output any other words.\n\nThe "
     "following are given passages.\n{context}\n\nAnswer the question based on the given passages. Only give me the answer "
     "and do not output any other words.\n\nQuestion: {input}\nAnswer:"},
    {"musique",
     "Answer the question based on the given passages. Only give me the answer and do not output any other words.\n\nThe "
     "following are given passages.\n{context}\n\nAnswer the question based on the given passages. Only give me the answer "
     "and do not output any other words.\n\nQuestion: {input}\nAnswer:"},
    {"gov_report",
     "You are given a report by a government agency. Write a one-page summary of the report.\n\nReport:\n{context}\n\nNow, "
     "write a one-page summary of the report.\n\nSummary:"},
    {"qmsum",
     "You are given a meeting transcript and a query containing a question or instruction. Answer the query in one or more "
     "sentences.\n\nTranscript:\n{context}\n\nNow, answer the query based on the above meeting transcript in one or more "
     "sentences.\n\nQuery: {input}\nAnswer:"},
    {"multi_news",
     "You are given several news passages. Write a one-page summary of all news. \n\nNews:\n{context}\n\nNow, write a "
     "one-page summary of all the news.\n\nSummary:"},
    {"trec",
     "Please determine the type of the question below. Here are some examples of questions.\n\n{context}\n{input}"},
    {"triviaqa",
     "Answer the question based on the given passage. Only give me the answer and do not output any other words. The "
     "following are some examples.\n\n{context}\n\n{input}"},
    {"samsum",
     "Summarize the dialogue into a few short sentences. The following are some examples.\n\n{context}\n\n{input}"},
    {"passage_count",
     "There are some paragraphs below sourced from Wikipedia. Some of them may be duplicates. Please carefully read these "
     "paragraphs and determine how many unique paragraphs there are after removing duplicates. In other words, how many "
     "non-repeating paragraphs are there in total?\n\n{context}\n\nPlease enter the final count of unique paragraphs after "
     "removing duplicates. The output format should only contain the number, such as 1, 2, 3, and so on.\n\nThe final "
     "answer is: "},
    {"passage_retrieval_en",
     "Here are 30 paragraphs from Wikipedia, along with an abstract. Please determine which paragraph the abstract is "
     "from.\n\n{context}\n\nThe following is an abstract.\n\n{input}\n\nPlease enter the number of the paragraph that the "
     "abstract is from. The answer format must be like \"Paragraph 1\", \"Paragraph 2\", etc.\n\nThe answer is: "},
    {"lcc",
     "Please complete the code given below. \n{context}Next line of code:\n"},
    {"repobench-p",
     "Please complete the code given below. \n{context}{input}Next line of code:\n"},
};

constexpr std::string_view kContext = "{context}";
constexpr std::string_view kInput = "{input}";

}  // namespace

std::string MakePrompt(const Task& task, std::string_view context, std::string_view input) {
  const auto* const found = std::ranges::find(kTemplates, task.name, &Template::task);
  if (found == std::end(kTemplates)) return "";
  std::string prompt;
  // What stands in braces in a sample stays as it is.
  for (std::string_view rest = found->text; !rest.empty();) {
    const size_t brace = std::min(rest.find('{'), rest.size());
    prompt += rest.substr(0, brace);
    rest.remove_prefix(brace);
    if (rest.starts_with(kContext)) {
      prompt += context;
      rest.remove_prefix(kContext.size());
    } else if (rest.starts_with(kInput)) {
      prompt += input;
      rest.remove_prefix(kInput.size());
    }
  }
  return prompt;
}

}  // namespace longreach::longbench
