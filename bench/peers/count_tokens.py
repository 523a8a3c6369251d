"""Counts tokens as OpenAI's newer models do (o200k_base): lists of texts as JSON lines in, lists of counts out.

Runs in curator's environment, with TIKTOKEN_CACHE_DIR set: of the libraries that it depends on, tiktoken counts and
litellm has the table.
"""

import json
import sys

import tiktoken  # type: ignore[import-not-found]  # lives in an environment of its own


def main() -> None:
    """Count until the input ends."""
    encoding = tiktoken.get_encoding("o200k_base")
    for line in sys.stdin:
        print(json.dumps([len(encoding.encode_ordinary(text)) for text in json.loads(line)]))


if __name__ == "__main__":
    main()
