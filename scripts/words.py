"""The few words that the tools themselves put on a page, in both languages."""

WORDS = {
    "all of it": {"en": "everything", "zh": "全部"},
    "answer": {"en": "To the answer", "zh": "看答案"},
    "back": {"en": "Back to the question", "zh": "回到题目"},
    "bytes": {"en": "bytes", "zh": "字节"},
    "checked": {"en": "checked", "zh": "已检验"},
    "claims": {"en": "Claims", "zh": "断言"},
    "command": {"en": "Command", "zh": "命令"},
    "comparison": {"en": "Comparison", "zh": "比较"},
    "compares": {"en": "the comparisons and claims", "zh": "比较与断言"},
    "copied": {"en": "Copied", "zh": "已复制"},
    "copy": {"en": "Copy", "zh": "复制"},
    "exit status": {"en": "exit status", "zh": "退出状态"},
    "features": {"en": "features", "zh": "特性"},
    "filter": {"en": "Filter", "zh": "筛选"},
    "lesson": {"en": "Lesson", "zh": "课"},
    "needs": {"en": "Read first: ", "zh": "先读："},
    "numbers": {"en": "Numbers", "zh": "数的个数"},
    "on this machine": {"en": "on this machine", "zh": "本机"},
    "one thread": {"en": "one thread", "zh": "单线程"},
    "reading": {"en": "How a tolerance is chosen, and a mismatch read", "zh": "容差怎么选，不一致怎么读"},
    "reason": {"en": "Why this tolerance", "zh": "容差的理由"},
    "repeat": {"en": "Run it again", "zh": "重新运行"},
    "repeats": {"en": "Repeats", "zh": "重做"},
    "side": {"en": "Side", "zh": "哪一边"},
    "tolerance": {"en": "Tolerance", "zh": "容差"},
    "unfold": {"en": "Show all {lines} lines", "zh": "展开全部 {lines} 行"},
    "verdict": {"en": "Verdict", "zh": "结论"},
    "version": {"en": "Version", "zh": "版本"},
    "where": {"en": "Where", "zh": "机器"},
    "worst": {"en": "Worst |difference|", "zh": "最大偏差"},
}


def word(key: str, language: str) -> str:
    """`key` in the language; a key that is not in WORDS (a name, such as PyTorch or ulp) stands for itself."""
    return WORDS.get(key, {}).get(language, key)
