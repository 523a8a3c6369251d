"""The embedded model with a LoRA adapter to be trained (Hu et al. 2021), and its loss on a reply.

What makes it fast enough for a processor: the body runs in bfloat16 where the machine can, with the adapter in
float32; the loss is on the reply's tokens only; and the output head is cut to the words that the data uses, with as
many others to choose against. It knows no files but the model's, and no loop.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

PARTS: Mapping[str, str] = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
"""The layers that get an adapter, by their names in transformers, with those in llama.cpp."""

_STEP = 32
"""Texts are filled up to a multiple of this: a matrix product of each new size is compiled and kept, which takes time
and gigabytes."""
_NO_TARGET = -100

_OTHER_WORDS = 15_000
"""Tokens of the vocabulary that the data doesn't use, kept to choose against."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """An example in tokens; the loss is on the reply's."""

    prompt: Sequence[int]
    reply: Sequence[int]

    def __len__(self) -> int:
        return len(self.prompt) + len(self.reply)


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss of replies, summed over their tokens, and how many of these were the likeliest ones."""

    total: torch.Tensor
    tokens: int
    right: int


class Tokenizer:
    """Text to tokens, as the server that will be asked makes them: one token that begins a text, none between."""

    def __init__(self, weights: Path) -> None:
        self._tokenizer: Any = AutoTokenizer.from_pretrained(str(weights.parent), gguf_file=weights.name)

    def tokens(self, prompt: str, reply: str) -> Tokens:
        """Return prompt and reply in tokens, the reply with the token that ends it."""
        inner: list[int] = self._tokenizer(prompt).input_ids
        answer: list[int] = self._tokenizer(reply, add_special_tokens=False).input_ids
        return Tokens(inner, [*answer, self._tokenizer.eos_token_id])


class AdaptedModel:
    """The model with an adapter. Only the adapter's numbers are trained; `parameters` are those, in a fixed order."""

    def __init__(self, weights: Path, rank: int, used: Iterable[int], device: str, seed: int) -> None:
        torch.manual_seed(seed)
        dtype = torch.bfloat16 if _has_bfloat16(device) else torch.float32
        # Attention in plain matrix products: for texts of some hundred tokens faster than the fused one of the CPU.
        whole: Any = AutoModelForCausalLM.from_pretrained(
            str(weights.parent), gguf_file=weights.name, dtype=torch.float32, attn_implementation="eager"
        )
        whole = whole.to(device=device, dtype=dtype)
        targets = [name.split(".")[1] for name in PARTS]
        config = LoraConfig(r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules=targets)
        self.device = device
        self._model: Any = get_peft_model(whole, config)
        self._model.train()
        causal: Any = self._model.base_model.model
        self._body = causal.model
        size = causal.lm_head.weight.shape[0]
        kept = _vocabulary(size, used, seed)
        self._place = torch.full((size,), -1, dtype=torch.long)
        self._place[kept] = torch.arange(len(kept))
        self._place = self._place.to(device)
        self._head = causal.lm_head.weight[kept.to(device)].detach()
        named = sorted((name, p) for name, p in self._model.named_parameters() if p.requires_grad)
        self.names = [name for name, _ in named]
        self.parameters = [p for _, p in named]

    def loss(self, example: Tokens) -> Loss:
        """Return the loss of one reply, given its prompt."""
        first, spare = len(example.prompt) - 1, -len(example.reply) % _STEP
        ids = [*example.prompt, *example.reply]
        ids += ids[:1] * (spare + -(len(ids) + spare) % _STEP)  # what comes after doesn't change what comes before
        hidden = self._body(input_ids=torch.tensor([ids], device=self.device)).last_hidden_state[0]
        logits = (hidden[first : first + len(example.reply) + spare] @ self._head.T).float()
        target = self._place[torch.tensor(example.reply, device=self.device)]
        target = torch.nn.functional.pad(target, (0, spare), value=_NO_TARGET)
        total = torch.nn.functional.cross_entropy(logits, target, reduction="sum", ignore_index=_NO_TARGET)
        right = int((logits.detach().argmax(dim=-1) == target).sum())
        return Loss(total, len(example.reply), right)

    def adapter(self) -> dict[str, torch.Tensor]:
        """Return a copy of the adapter's numbers by their names."""
        return {n: p.detach().to("cpu", copy=True) for n, p in zip(self.names, self.parameters, strict=True)}

    def load(self, adapter: Mapping[str, torch.Tensor]) -> None:
        """Take over an adapter's numbers; what a lower rank leaves open stays as it was made.

        Raises ValueError if it is of a higher rank or another model.
        """
        with torch.no_grad():
            for name, parameter in zip(self.names, self.parameters, strict=True):
                rank = 0 if "lora_A" in name else 1
                given = adapter.get(name)
                fits = given is not None and given.shape[1 - rank] == parameter.shape[1 - rank]
                if given is None or not fits or given.shape[rank] > parameter.shape[rank]:
                    raise ValueError(
                        f"the adapter has no {name} of the shape {tuple(parameter.shape)}, or of less rank"
                    )
                parameter.narrow(rank, 0, given.shape[rank]).copy_(given.to(parameter))


def device_at_hand() -> str:
    """Return the device to train on: a GPU if there is one."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def _has_bfloat16(device: str) -> bool:
    """Does the device multiply bfloat16 itself? Where it doesn't, float32 is several times faster."""
    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def _vocabulary(size: int, used: Iterable[int], seed: int) -> torch.Tensor:
    others = random.Random(seed).sample(range(size), min(_OTHER_WORDS, size))  # noqa: S311 - not for secrets
    return torch.tensor(sorted({*used, *others}))
