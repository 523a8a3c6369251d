"""Reads a completion as the openai client makes it: whether it is one, what it says, what it took.

The client builds its types from whatever JSON came, unchecked, so nothing here is taken for granted.
"""

from openai.types.chat import ChatCompletion, ChatCompletionMessage, ChatCompletionMessageFunctionToolCall
from openai.types.chat.chat_completion_token_logprob import ChatCompletionTokenLogprob


def is_whole(completion: object) -> bool:
    """Is this a completion with a message in it? The client builds its types from whatever JSON came, unchecked."""
    if not isinstance(completion, ChatCompletion) or not isinstance(completion.choices, list) or not completion.choices:
        return False
    message = getattr(completion.choices[0], "message", None)
    if not isinstance(message, ChatCompletionMessage) or not isinstance(message.content, str | None):
        return False
    return isinstance(message.refusal, str | None) and isinstance(message.tool_calls, list | None)


def said_in(completion: ChatCompletion) -> str:
    """Return what a completion says: the arguments of its tool call, else its content, else its refusal."""
    message = completion.choices[0].message
    for call in message.tool_calls or ():
        if isinstance(call, ChatCompletionMessageFunctionToolCall):
            return call.function.arguments or ""
    return message.content or message.refusal or ""


def usage_of(completion: ChatCompletion | None) -> tuple[int | None, int | None, int | None]:
    """Return the tokens that a completion says it took: of the prompt, of its cached part, of the reply."""
    usage = completion.usage if completion else None
    if usage is None:
        return None, None, None
    details = usage.prompt_tokens_details
    counts = (usage.prompt_tokens, details.cached_tokens if details else None, usage.completion_tokens)
    prompt, cached, reply = (n if isinstance(n, int) else None for n in counts)  # the client doesn't check types
    return prompt, cached, reply


def logprobs_of(completion: ChatCompletion | None) -> str | None:
    """Return how likely each token was, as `store.rows.Attempt.logprobs` is written; None where it doesn't say."""
    said = completion.choices[0].logprobs if completion else None
    tokens = said.content if said else None
    if not isinstance(tokens, list):
        return None
    known = [(t.token, t.bytes, t.logprob) for t in tokens if isinstance(t, ChatCompletionTokenLogprob)]
    if not known or any(not isinstance(logprob, float | int) for _, _, logprob in known):
        return None
    lengths = (len(inner if isinstance(inner, list) else str(token).encode()) for token, inner, _ in known)
    return " ".join(f"{n}:{logprob:.4g}" for n, (_, _, logprob) in zip(lengths, known, strict=True))
