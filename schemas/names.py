"""Digits that belong to a name or a label: GPT-4, ResNet-32,44, Llama 2, MultiWOZ 2.0, Section 3, top-5, 3D, 2nd.

Judges by shape alone (capitals, hyphens, the word before): no list of models or datasets is kept, so a name that looks
like a sentence ("Using Gemini 2 models") may pass for a count. `scan` asks it for each number.
"""

import re
from typing import Literal

from schemas.folding import SYMBOL as UNKNOWN
from schemas.readings import Reading

PartOfName = Literal["name", "ordinal", "label", "year"]


def one_of(words: str) -> str:
    """A pattern for any of these words, which are separated by blanks; `_` stands for a blank inside one."""
    return "(?:" + "|".join(word.replace("_", r"\s") for word in words.split()) + ")"


_JOINED_BEFORE = frozenset(("sub", "near", "over", "a", "by", "to", "of", "about", "under"))
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b")
_DEVIATION_AFTER = re.compile(r"_\s?±")
_DIMENSION_AFTER = re.compile(r"-(?:[dD]|[A-Z]+\d)\b")
_LETTERS_AFTER = re.compile(r"[A-Z_@]|[a-z]\b|[a-z]{1,3}\d")
_WORD_AND_DASH = re.compile(r"(\w{1,20})[-–]$")
_LABEL_NOUNS = one_of(
    r"""
    sections? sec\. figures? figs?\. tables? theorems? lemmas? algorithms? alg\. thm\. appendix chapters? equations?
    eqs?\. propositions? corollary definitions? steps? stages? phases? levels? tiers? tracks? (?:sub)?tasks? types?
    version ver\. v\. layers? lines? pages? pp\. vol\. no\. rounds? scenario challenge category top rank(?:ed)? class
    grades? day week epoch seed session part assumption question rq problem grade-level generation gen mode system row
    column iteration group cluster place number threshold temperature
    """
)
_LABEL_BEFORE = re.compile(rf"\b{_LABEL_NOUNS}[\s#-]?$|#\s?$", re.IGNORECASE)
_DESIGN_NOUNS = one_of(
    r"""
    DoF shot way turn layer(?:s|ed)? stage steps? hop player sided party norm th st nd rd sphere tuple grams? hot off
    pass class phase level branch stream pronged armed in-one
    """
)
DESIGN_WORD_AFTER = re.compile(rf"-{_DESIGN_NOUNS}\b|-?d\b|\sway\b", re.IGNORECASE)
"""What makes a number a word of a method's design: 5-shot, two-stage, 7-DoF, one-turn."""

_METRIC = re.compile(
    one_of(
        r"""
        F-?[\d.]* mF1 BLEU(?:-?\d)? ROUGE(?:-?[\dL]+)? METEOR CIDEr SPICE FID IS AUC AUROC AUPRC ROC PR-AUC mAP AP\d*
        MAP MRR NDCG nDCG IoU mIoU PSNR SSIM LPIPS WER CER PER MOS MSE RMSE MAE R2 NLL PPL EER DER UAS LAS Dice Kappa
        Pearson Spearman Kendall Accuracy Acc Precision Recall Perplexity Smatch chrF(?:\+\+)? TER COMET BERTScore Elo
        EM ASR SR TPR FPR FDR SDR SNR STOI PESQ Hits? Score Averages? Avg Mean Median USD EUR RTF MCC CCC PCC CI GPU
        CPU
        """
    )
)
_MONTHS = frozenset("january february march april may june july august september october november december".split())
_FUNCTION_WORDS = frozenset(
    """
    a about above across additionally after against all almost also although among an and any around as at average
    based be because before between both but by compared comprising considering containing conversely covering despite
    each either especially evaluated evaluating even every exactly existing experiments extensive final finally
    following for from furthermore given good have here however i if in including introducing involving is it its just
    leveraging less like many moreover more most nearly new no not notably of on only or our out over overall per
    performing published results roughly second since so some spanning specifically such than that the their them then
    there these they third this those through throughout thus to towards trained training under up upon using via we
    when where whereas which while with within without yet
    """.split()
)
_PREVIOUS_WORD = re.compile(r"([A-Za-z][\w.+'-]{0,40})\s?[\s(]?$")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;]\s+|[\"(]\s?|[-–—]\s)$")
_NAMELIKE = re.compile(r"[A-Z]|[a-z]+[A-Z]|\w*\d")
_ACRONYM_BEFORE = re.compile(r"\([A-Z][\w-]{0,15}\)\s$")
_PLAIN_WORD = re.compile(r"[A-Z]?[a-z']+")


def part_of_word(text: str, reading: Reading, before: Reading | None, named_before: bool) -> PartOfName | None:
    """What digits glued to letters are part of, if they are; `before` is the number before, `named_before` if a name's.

    A range's second member (`4x-11.6x`) is no name; a list's (`ResNet-32,44`) is one if the first is.
    """
    start, end = reading.start, reading.end
    last = text[start - 1 : start]
    measured = reading.unit in ("%", "pp", "x") and not reading.lent
    if last and last in "-–/,." and before is not None and before.end == start - 1:
        if named_before and reading.bare:
            return "name"
    elif last == "_" or last == "@" or (last.isalpha() and not (last.islower() and measured)):  # "to13%" misses a blank
        return "name"
    elif (word := _WORD_AND_DASH.search(text, max(0, start - 21), start)) and word[1].lower() not in _JOINED_BEFORE:
        return "name"
    if _ORDINAL.match(text, end):
        return "ordinal"
    after = text[end : end + 1]
    if after == UNKNOWN or _DIMENSION_AFTER.match(text, end):
        return "name"
    if after == "_" and _DEVIATION_AFTER.match(text, end):
        return None
    return "name" if (after.isalpha() or after in ("_", "@")) and _LETTERS_AFTER.match(text, end) else None


def label(text: str, reading: Reading) -> PartOfName | None:
    """Whether the number is a thing's number, or a design word: Section 3, top-5, 7-DoF, 5-shot."""
    if reading.start != reading.numeral.start or not reading.bare or reading.scaled:
        return None
    if DESIGN_WORD_AFTER.match(text, reading.end):
        return "label"
    noun = _LABEL_BEFORE.search(text, max(0, reading.start - 24), reading.start)
    if noun is None or (reading.unit == "count" and noun[0].rstrip(" -").endswith("s")):  # "on tasks 3 datasets"
        return None
    return "label"


def follows_name(text: str, reading: Reading) -> PartOfName | None:
    """Whether the number is the version, size or year of the name before it: Llama 2, Qwen2.5-VL 7B, CoNLL 2003."""
    if reading.start != reading.numeral.start or not reading.bare:
        return None
    before = text[max(0, reading.start - 60) : reading.start]
    if _ACRONYM_BEFORE.search(before):
        return "name"
    match = _PREVIOUS_WORD.search(before)
    if match is None or match[0].endswith("(") or match[1].endswith(("'s", "s'")):
        return None
    word = match[1]
    if word.lower() in _MONTHS:
        return "year"
    if not _NAMELIKE.match(word) or word.lower() in _FUNCTION_WORDS or _METRIC.fullmatch(word):
        return None
    return None if _reads_as_count(before, match.start(), word, text, reading) else "name"


def _reads_as_count(before: str, word_start: int, word: str, text: str, reading: Reading) -> bool:
    """Whether a number after a capitalised word is a count or score all the same: `Comparing 3 models`, `Kappa 0.8`."""
    digits = text[reading.numeral.start : reading.numeral.end]
    if digits.startswith(("0.", ".")) or "," in digits:
        return True
    if _PLAIN_WORD.fullmatch(word) is None:
        return False
    lead = before[:word_start]
    counts = reading.unit == "count"
    starts_sentence = _SENTENCE_START.search(lead) is not None and (word_start > 0 or reading.start < 60)
    if starts_sentence and (counts or word.endswith(("ing", "ly", "ed"))):
        return True
    return counts and len(digits) > 2 and not lead.endswith(("the ", "The "))
