"""Files of other tools, written by hand after the structure that each format's docstring names."""

from __future__ import annotations

import json

TALK = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
MT_BENCH = [
    {"question_id": 81, "model_a": "alpaca-13b", "model_b": "gpt-3.5-turbo", "winner": "model_b",
     "judge": "author_2", "conversation_a": TALK, "conversation_b": TALK, "turn": 1},
    {"question_id": 81, "model_a": "gpt-3.5-turbo", "model_b": "alpaca-13b", "winner": "model_a",
     "judge": "expert_17", "conversation_a": TALK, "conversation_b": TALK, "turn": 2},
    {"question_id": 82, "model_a": "gpt-4", "model_b": "alpaca-13b",
     "winner": "tie (inconsistent)", "judge": ["gpt-4", "pair-v2"], "conversation_a": TALK,
     "conversation_b": TALK, "turn": 1},
]  # fmt: skip
FASTCHAT = [
    {"question_id": 81, "model_1": "alpaca-13b", "model_2": "gpt-4", "g1_winner": "model_2",
     "g2_winner": "model_2", "judge": ["gpt-4", "pair-v2"], "g1_user_prompt": "a",
     "g1_judgment": "[[B]]", "g2_user_prompt": "b", "g2_judgment": "[[A]]", "turn": 1,
     "tstamp": 1687222222.1},
    {"question_id": 81, "model_1": "alpaca-13b", "model_2": "gpt-4", "g1_winner": "tie",
     "g2_winner": "model_1", "judge": ["gpt-4", "pair-v2-multi-turn"], "g1_user_prompt": "a",
     "g1_judgment": "[[C]]", "g2_user_prompt": "b", "g2_judgment": "[[B]]", "turn": 2,
     "tstamp": 1687222223.1},
]  # fmt: skip
"""After `play_a_match_pair` of FastChat's fastchat/llm_judge/common.py."""
ARENA = [
    {"question_id": "58210e39", "model_a": "chatglm-6b", "model_b": "koala-13b",
     "winner": "model_b", "judge": "arena_user_973", "conversation_a": TALK,
     "conversation_b": TALK, "turn": 1, "anony": True, "language": "English",
     "tstamp": 1682351591.1},
    {"question_id": "2cb6b23f", "model_a": "koala-13b", "model_b": "vicuna-13b",
     "winner": "tie (bothbad)", "judge": "arena_user_973", "conversation_a": TALK,
     "conversation_b": TALK, "turn": 1, "anony": True, "language": "German",
     "tstamp": 1682351654.7},
]  # fmt: skip
KAGGLE = (
    "id,model_a,model_b,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie\n"
    '30192,gpt-4-1106-preview,gpt-4-0613,"[""hi""]","[""a""]","[""b""]",1,0,0\n'
    '53567,koala-13b,gpt-4-0613,"[""hi""]","[""a""]","[""b""]",0,1,0\n'
    '65089,koala-13b,mistral-medium,"[""hi""]","[""a""]","[""b""]",0,0,1\n'
)
LEWIDI_2023 = {
    "1": {
        "text": "one", "annotation task": "hate speech detection", "number of annotations": 3,
        "annotations": "0,0,1", "annotators": "Ann1,Ann2,Ann3", "lang": "en", "hard_label": "0",
        "soft_label": {"0": 0.67, "1": 0.33}, "split": "dev",
        "other_info": {"other annotations": {"offensive language detection": "0,1,1"}},
    },
    "2": {
        "text": "two", "annotation task": "hate speech detection", "number of annotations": 2,
        "annotations": "1,1", "annotators": "Ann1,Ann4", "lang": "en", "hard_label": "1",
        "soft_label": {"0": 0.0, "1": 1.0}, "split": "dev", "other_info": {},
    },
}  # fmt: skip
LEWIDI_2025 = {
    "1248": {
        "annotation task": "irony detection", "text": {"post": "a", "reply": "b"},
        "number of annotators": 2, "annotators": "Ann0,Ann10", "number of annotations": 2,
        "annotations": {"Ann0": "0", " Ann10": "1"}, "soft_label": {"0.0": 0.5, "1.0": 0.5},
        "split": "train", "lang": "en",
        "other_info": {"source": "twitter", "level": 1.0, "language_variety": "us"},
    },
    "1280": {
        "annotation task": "irony detection", "text": {"post": "c", "reply": "d"},
        "number of annotators": 1, "annotators": "Ann10", "number of annotations": 1,
        "annotations": {"Ann10": "0"}, "soft_label": {"0.0": 1.0, "1.0": 0.0},
        "split": "train", "lang": "de",
        "other_info": {"source": "reddit", "level": 2.0, "language_variety": ""},
    },
}  # fmt: skip
VARIERR = {
    "a": {
        "annotation task": "natural language inference",
        "annotators": "Ann1,Ann3", "number of annotators": 2, "number of annotations": 3,
        "annotations": {"Ann1": "contradiction,neutral", "Ann3": "entailment"},
        "soft_label": {"neutral": {"0": 0.5, "1": 0.5}}, "split": "train", "lang": "en",
    },
    "b": {
        "annotation task": "natural language inference",
        "annotators": "Ann1", "number of annotators": 1, "number of annotations": 1,
        "annotations": {"Ann1": "neutral"}, "split": "train", "lang": "en",
    },
}  # fmt: skip
JUDGE_BENCH = {
    "dataset": "Rewritten cooking recipes",
    "dataset_url": "https://example.org/recipes",
    "expert_annotator": "false",
    "annotations": [
        {"metric": "grammaticality", "category": "graded", "prompt": "Rate {{ instance }}",
         "worst": 1, "best": 7},
        {"metric": "safety", "category": "categorical", "prompt": "Safe? {{ instance }}",
         "labels_list": ["No", "Yes", "Unsure"]},
    ],
    "instances": [
        {"id": 1, "instance": "Salt water lightly.", "annotations": {
            "grammaticality": {"mean_human": 3.67, "individual_human_scores": [2, 6, 3]},
            "safety": {"majority_human": "No", "individual_human_scores": ["No", "No", "Yes"]}}},
        {"id": 2, "instance": {"query": "Cook?", "response": "Yes"}, "annotations": {
            "grammaticality": {"mean_human": 5.5, "individual_human_scores": [5, 6]},
            "safety": {"majority_human": "Yes", "individual_human_scores": []}}},
    ],
}  # fmt: skip
INSPECT = (
    "eval_id,sample_id,id,epoch,input,target,metadata_topic,score_match,score_model_graded_qa,"
    "score_model_graded_qa_answer,score_model_graded_qa_explanation,model_usage,error,retries\n"
    "ev1,s1,q1,1,1+1?,2,sums,C,C,2,right,{},,0\n"
    "ev1,s2,q2,1,2+2?,4,sums,I,C,four,right,{},,0\n"
    "ev1,s3,q3,1,capital?,Bern,facts,I,I,Basel,wrong,{},,0\n"
)


def lm_eval_line(doc_id, answer, exact_match, filter_name="strict-match", **more):
    """Make a line of generation with a filter."""
    return {
        "doc_id": doc_id, "doc": {"question": f"question {doc_id}", "answer": "18"}, "target": "18",
        "arguments": {"gen_args_0": {"arg_0": "Q:", "arg_1": {"until": ["Q:"]}}},
        "resps": [[f"The answer is {answer}."]], "filtered_resps": [answer], "filter": filter_name,
        "metrics": ["exact_match"], "doc_hash": "9", "prompt_hash": "4", "target_hash": "8",
        "exact_match": exact_match, **more,
    }  # fmt: skip


LM_EVAL = [lm_eval_line(0, "11", 0.0), lm_eval_line(1, "18", 1.0), lm_eval_line(2, "18", 1.0)]
CHOICE = {
    "doc_id": 0, "doc": {"query": "Which?"}, "target": "1",
    "arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": " yes"}},
    "resps": [[["-5.9", "False"]], [["-0.3", "True"]]],
    "filtered_resps": [["-5.9", "False"], ["-0.3", "True"]], "filter": "none",
    "metrics": ["acc", "acc_norm"], "acc": 1.0, "acc_norm": 0.0,
}  # fmt: skip


def assertion(kind, passed, score=None, **more):
    """Make the result of one assertion."""
    score = float(passed) if score is None else score
    return {"pass": passed, "score": score, "reason": "", "assertion": {"type": kind, **more}}


def result(test, components, provider="openai:gpt-4", prompt=0, **more):
    """Make the result of a test, a prompt and a provider."""
    passed = all(component["pass"] for component in components)
    return {
        "id": f"uuid-{test}-{provider}-{prompt}", "testIdx": test, "promptIdx": prompt,
        "provider": {"id": provider}, "prompt": {"raw": "p", "label": "p"},
        "vars": {"question": f"question {test}"}, "response": {"output": "text"},
        "success": passed, "score": 1.0 if passed else 0.4, "failureReason": 0 if passed else 1,
        "latencyMs": 3, "namedScores": {},
        "gradingResult": {"pass": passed, "score": 1.0, "componentResults": components}, **more,
    }  # fmt: skip


def promptfoo(*results):
    """Make a file of results."""
    inner = {"version": 3, "timestamp": "2025-01-15T10:30:00Z", "prompts": [], "stats": {}}
    return {"evalId": "eval-1", "results": {**inner, "results": list(results)}, "config": {}}


PROMPTFOO = promptfoo(
    result(0, [assertion("llm-rubric", True, 0.9), assertion("human", True)]),
    result(1, [assertion("llm-rubric", False, 0.2), assertion("human", True)]),
)


def metric(name, score, success=None, **more):
    """Make the result of one metric."""
    success = score >= 0.5 if success is None else success
    return {"name": name, "threshold": 0.5, "success": success, "score": score,
            "evaluationModel": "gpt-4.1", "strictMode": False, **more}  # fmt: skip


DEEPEVAL = {
    "testFile": "test_it.py",
    "testCases": [
        {"name": "test_case_0", "input": "Why?", "actualOutput": "So.", "success": True,
         "metricsData": [metric("Faithfulness", 0.9), metric("Correctness [GEval]", 0.3)],
         "order": 0, "metadata": {"topic": "shoes"}},
        {"name": "test_case_1", "input": "How?", "actualOutput": "Thus.", "success": True,
         "metricsData": [metric("Faithfulness", 0.6), metric("Correctness [GEval]", 0.8)],
         "order": 1, "metadata": {"topic": "hats"}},
    ],
    "conversationalTestCases": [],
    "metricsScores": [], "testPassed": 2, "testFailed": 0, "runDuration": 1.5,
}  # fmt: skip
FILES = {
    "arena": ("votes.json", MT_BENCH),
    "deepeval": ("run.json", DEEPEVAL),
    "inspect-ai": ("samples.csv", INSPECT),
    "judge-bench": ("recipes.json", JUDGE_BENCH),
    "lewidi": ("HS-Brexit_dev.json", LEWIDI_2023),
    "lm-eval": ("samples_gsm8k.jsonl", "\n".join(map(json.dumps, LM_EVAL))),
    "promptfoo": ("results.json", PROMPTFOO),
}
"""A file of each tool: its name and contents."""
