"""Units: how texts and models write them, and the one way in which the database does.

Holds the symbols that are part of a quote (`%`, `×`, `ms`, `GB`), the words that follow one (`percentage points`,
`times`, `GPU hours`), and whether a model's word for a unit may stand beside what code read. It converts nothing:
3 ms stays 3 ms.
"""

import re

_SYNONYMS: dict[str, tuple[str, ...]] = {
    "%": ("%", "percent", "per cent", "percentage", "pct", "percents", "％", "\\%"),
    "pp": ("pp", "pps", "p.p.", "%p", "ppt", "ppts", "percentage point", "percentage points", "percent point",
           "percent points", "% point", "% points", "%-point", "%-points", "%pt", "%pts"),
    "x": ("x", "×", "times", "time", "fold", "-fold", "factor", "multiple", "ratio", "\\times", "$\\times$"),
    "count": ("count", "counts", "number", "items", "#"),
    "ns": ("ns", "nanosecond", "nanoseconds"),
    "us": ("us", "µs", "microsecond", "microseconds"),
    "ms": ("ms", "msec", "msecs", "millisecond", "milliseconds"),
    "s": ("s", "sec", "secs", "second", "seconds"),
    "min": ("min", "mins", "minute", "minutes"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
    "days": ("days", "day"),
    "weeks": ("weeks", "week"),
    "months": ("months", "month"),
    "years": ("years", "year", "yr", "yrs"),
    "KB": ("KB", "kB", "KiB", "kilobyte", "kilobytes"),
    "MB": ("MB", "MiB", "megabyte", "megabytes"),
    "GB": ("GB", "GiB", "gigabyte", "gigabytes", "gig"),
    "TB": ("TB", "TiB", "terabyte", "terabytes"),
    "PB": ("PB", "petabyte", "petabytes"),
    "bytes": ("bytes", "byte"),
    "bits": ("bits", "bit", "bpc"),
    "Hz": ("Hz", "hertz"),
    "kHz": ("kHz", "kilohertz"),
    "MHz": ("MHz", "megahertz"),
    "GHz": ("GHz", "gigahertz"),
    "FPS": ("FPS", "fps", "frames per second", "frames/s", "frames/second"),
    "FLOPs": ("FLOPs", "FLOPS", "flops", "FLOP"),
    "GFLOPs": ("GFLOPs", "GFLOPS", "GFlops"),
    "TFLOPs": ("TFLOPs", "TFLOPS", "TFlops"),
    "nm": ("nm", "nanometers", "nanometres"),
    "um": ("um", "µm", "micrometers", "micrometres", "microns", "micron"),
    "mm": ("mm", "millimeter", "millimeters", "millimetre", "millimetres"),
    "cm": ("cm", "centimeter", "centimeters", "centimetre", "centimetres"),
    "m": ("m", "meter", "meters", "metre", "metres"),
    "km": ("km", "kilometer", "kilometers", "kilometre", "kilometres"),
    "mg": ("mg", "milligrams"),
    "g": ("g", "gram", "grams"),
    "kg": ("kg", "kilogram", "kilograms"),
    "dB": ("dB", "decibel", "decibels"),
    "mW": ("mW", "milliwatts"),
    "W": ("W", "watt", "watts"),
    "kWh": ("kWh", "kilowatt-hours"),
    "J": ("J", "joule", "joules"),
    "mJ": ("mJ", "millijoules"),
    "°": ("°", "deg", "degree", "degrees"),
    "°C": ("°C", "degrees Celsius", "celsius"),
    "K": ("K", "kelvin", "kelvins"),
    "meV": ("meV",),
    "eV": ("eV", "electronvolt", "electronvolts", "electron volts"),
    "keV": ("keV",),
    "kPa": ("kPa", "kilopascals"),
    "MPa": ("MPa", "megapascals"),
    "GPa": ("GPa", "gigapascals"),
    "USD": ("USD", "$", "US$", "dollar", "dollars", "US dollars", "\\$"),
    "EUR": ("EUR", "€", "euro", "euros"),
    "GBP": ("GBP", "£", "pound sterling", "pounds sterling"),
    "CNY": ("CNY", "RMB", "yuan"),
    "JPY": ("JPY", "¥", "yen"),
    "INR": ("INR", "₹", "rupees"),
    "m/s": ("m/s", "meters per second", "metres per second"),
    "words/min": ("words/min", "words-per-minute", "words per minute", "wpm"),
}  # fmt: skip
_EXACT = {said: unit for unit, ways in _SYNONYMS.items() for said in ways}
_ANY_CASE = {said.lower(): unit for unit, ways in reversed(_SYNONYMS.items()) for said in reversed(ways)}

CURRENCIES = {"$": "USD", "US$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR"}

# Symbols that a quote includes. Case counts: 3 mW is not 3 MW, and B alone is a billion, not a byte.
_SYMBOLS = (
    "ns", "us", "µs", "ms", "msec", "sec", "secs", "s", "mins", "min", "hrs", "hr", "h", "KB", "kB", "KiB", "MB",
    "MiB", "GB", "GiB", "TB", "TiB", "PB", "kHz", "MHz", "GHz", "Hz", "FPS", "fps", "GFLOPs", "GFLOPS", "TFLOPs",
    "TFLOPS", "nm", "µm", "um", "mm", "cm", "km", "m", "mg", "kg", "g", "dB", "mW", "W", "kWh", "mJ", "J", "°C", "°",
    "USD", "EUR", "€", "m/s", "cm/s", "mm/s", "km/h", "tokens/s", "MB/s", "GB/s", "TB/s", "Gbps", "Mbps", "meV", "eV",
    "keV", "kPa", "MPa", "GPa",
)  # fmt: skip
_KELVIN = (
    r"\sK(?=\s*(?:[,.;:)\]]|\Z)|\s(?:and|or|to|for|in|on|at|under|over|with|while|by|is|was|are|were|than|when|from|the|"
    r"as|but|after|before|per)\b)"
)
"""A K set apart that no noun follows: 300 K is a temperature, 300K and 300 K images are thousands."""
KELVIN = re.compile(_KELVIN)
SYMBOL = re.compile(
    r"\s?(?P<points>%[\s-]?p(?:oin)?ts?\b|%p\b)|\s?(?P<percent>%)|\s?(?P<times>×)(?!\s?\d|[A-Za-z(])"
    r"|(?P<ex>[xX])(?![\w×])|\s(?P<spaced>[xX])(?!\w|\s?[\d.])"
    rf"|(?P<kelvin>{_KELVIN})"
    rf"|[\s-]?(?P<symbol>{'|'.join(sorted(_SYMBOLS, key=len, reverse=True))})(?![\w°/^]|-[A-Za-z])"
)
"""A unit symbol right after a number (folded text)."""

_QUALIFIER = (
    r"(?:(?:absolute|relative|additional|full|wall-?clock|more|fewer|less|[CGT]PU|"
    r"[A-Z]{1,4}\d{1,4}[\w-]{0,8})[\s-]){0,2}"
)
_METRIC = r"(?:[A-Za-z]{0,10}[A-Z][\w@.-]{0,20}\s){1,2}|perplexity\s"
_OF_METRIC = r"\s(?:in|of|on)\s(?:terms\sof\s)?(?:[\w-]{1,30}\s)?(?:F-?\d|BLEU|ROUGE|perplexity|SARI|METEOR|chrF|COMET)"
_WORDS = sorted(
    (
        word
        for unit, ways in _SYNONYMS.items()
        if unit not in ("%", "x", "count", "°")
        for word in ways
        if len(word) > 2 and word[0].isalpha()
    ),
    key=len,
    reverse=True,
)
_WORD = "|".join(re.escape(word) for word in _WORDS)
FOLLOWING = re.compile(
    r"[\s-]?(?:(?P<points>(?:absolute\s)?(?:percentage|percent|per cent|%)[\s-]?(?:points?|pts?)\b|pp\b|p\.p\.|ppts?\b)"
    r"|(?P<percent>percent(?:age)?\b|per\scent\b|pct\b)"
    r"|(?P<order>(?:orders?\sof\s)?magnitudes?\b)"
    r"|(?P<times>times\b|[\s-]?folds?\b|×(?!\s?\d)|[xX](?=[\s,.;)]))"
    r"|(?P<degrees>degrees?(?:\s(?:Celsius|C)\b)?|deg\b)"
    rf"|{_QUALIFIER}(?P<word>{_WORD})\b(?P<per>(?:\sper\s|-per-|/)[a-z]{{1,20}})?"
    rf"|(?:absolute\s|relative\s|average\s){{0,2}}(?P<metric>{_METRIC})?(?:points?|pts)\b(?P<of>{_OF_METRIC})?)"
)
"""The words right after a number that are its unit (folded text)."""


def canonical_unit(said: str) -> str:
    """A unit as the guidelines write it: `percent` is `%`, `GPU hours` is `h`; an unknown one comes back stripped."""
    unit = " ".join(said.split())
    if unit in _EXACT:
        return _EXACT[unit]
    lower = unit.lower()
    if lower in _ANY_CASE:
        return _ANY_CASE[lower]
    if lower in ("", "none", "null", "n/a", "score", "point", "points", "unitless"):
        return ""
    head, _, per = lower.replace(" per ", "/").replace("-per-", "/").partition("/")
    if per and head in _ANY_CASE:
        return f"{_ANY_CASE[head]}/{per.removesuffix('s') or per}"
    last = lower.rpartition(" ")[2]
    if lower.startswith(("gpu", "cpu", "tpu", "wall")) and last in _ANY_CASE:
        return _ANY_CASE[last]
    return unit


def units_agree(said: str, read: str) -> bool:
    """Whether a unit that a model said may stand beside the one that code read from the text.

    A unit in the text is a fact: it must be the same. A number that carries none ("", or `count` where a noun of
    things follows) may be a count or a plain score; bare, it may also be a factor ("a speed-up of 41"). Never a
    percentage or a measure: the text would have to say so.
    """
    said, read = canonical_unit(said), canonical_unit(read)
    if said == read:
        return True
    measure = said.partition("/")[0] in _SYNONYMS and said not in ("", "count")
    if read == "":
        return said == "x" or not measure
    return read == "count" and not measure
