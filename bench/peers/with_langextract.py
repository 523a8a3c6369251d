"""langextract, an abstract in one piece: as many workers, and batches as long, as calls may be in flight.

Its examples are those of the shipped prompt, said in its own terms.
"""

import logging
import os
import warnings
from collections.abc import Iterator

import langextract as lx  # type: ignore[import-not-found]  # lives in an environment of its own
from langextract.factory import ModelConfig  # type: ignore[import-not-found]

from bench.peers.driving import KEY, MODEL, Task, read_task

IN_ONE_PIECE = "10000"
"""Characters of a piece: its default of 1,000 cuts most abstracts in two."""
PROMPT = (
    "Extract the task, method, datasets, baselines and headline numbers of the paper from its abstract. Use exact text "
    "for every extraction. Do not paraphrase. Give attributes for context."
)


def examples() -> list[object]:
    """Two examples: a paper with a number, and one without."""
    extraction, example = lx.data.Extraction, lx.data.ExampleData
    # An attribute that no example has is not in the schema that it sends, and can't be answered.
    number = {"unit": "x", "role": "gain", "direction": "increase", "qualifier": "up_to", "metric": "faster"}
    return [
        example(
            text=r"On AdLog-9, SkimNet, our click predictor, is up to $2.5\times$ faster than DeepFold.",
            extractions=[
                extraction("dataset", "AdLog-9"),
                extraction("method", "SkimNet"),
                extraction("task", "click predictor", attributes={"contribution": "method"}),
                extraction(
                    "number", r"$2.5\times$", attributes={**number, "dataset": "AdLog-9", "baseline": "DeepFold"}
                ),
                extraction("baseline", "DeepFold"),
            ],
        ),
        example(
            text="We prove that greedy pruning of random forests is consistent in 3D.",
            extractions=[extraction("task", "pruning of random forests", attributes={"contribution": "theory"})],
        ),
    ]


def extract_all(task: Task) -> Iterator[dict[str, object]]:
    """A row a document, with each extraction's offsets."""
    options = {"api_key": KEY, "base_url": task.base_url, "max_workers": task.in_flight}
    found = lx.extract(
        text_or_documents=[lx.data.Document(text=text, document_id=str(n)) for n, text in enumerate(task.texts)],
        prompt_description=PROMPT,
        examples=examples(),
        config=ModelConfig(model_id=MODEL, provider="openai", provider_kwargs=options),
        max_workers=task.in_flight,
        batch_length=task.in_flight,
        max_char_buffer=int(os.environ.get("MAX_CHAR_BUFFER", IN_ONE_PIECE)),
        show_progress=False,
    )
    for document in found:
        places = [(one.char_interval.start_pos if one.char_interval else None) for one in document.extractions]
        texts = [one.extraction_text for one in document.extractions]
        yield {"id": document.document_id, "extractions": list(zip(texts, places, strict=True))}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    given = read_task()
    given.finish(extract_all(given))
