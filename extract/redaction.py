"""Takes an endpoint's secrets out of what is kept or shown, should a server echo them."""

from urllib.parse import unquote, urlsplit

from openai.types.chat import ChatCompletion, ChatCompletionMessageFunctionToolCall

from extract.errors import CallError, FatalError
from extract.settings import Endpoint

_SECRET_LENGTH = 8
"""A shorter key is no secret ("none"), and a word of the text as like as not."""


class Secrets:
    """What must never be shown or stored: an endpoint's key, and a password in its address."""

    def __init__(self, endpoint: Endpoint) -> None:
        passwords = [urlsplit(url).password or "" for url in endpoint.base_urls]
        known = {endpoint.api_key, *passwords, *map(unquote, passwords)}
        self.words = sorted((s for s in known if len(s) >= _SECRET_LENGTH), key=len, reverse=True)

    def out_of(self, words: str) -> str:
        """Take the secrets out of some words, and what is left of one that they were shortened within."""
        for secret in self.words:
            words = words.replace(secret, "[secret]")
            cut = next((n for n in range(len(secret) - 1, 3, -1) if words.endswith(f"{secret[:n]}…")), 0)
            words = f"{words[: -cut - 1]}…" if cut else words
        return words

    def out_of_error(self, error: CallError | FatalError) -> CallError | FatalError:
        """Take the secrets out of a provider's words, should it echo them."""
        words = self.out_of(error.words)
        if isinstance(error, FatalError):
            return FatalError(error.kind, words)
        return CallError(error.kind, words, error.retry_after_s)

    def out_of_completion(self, completion: ChatCompletion) -> ChatCompletion:
        """Take the secrets out of what a completion says, should a server echo them there."""
        message = completion.choices[0].message
        message.content = message.content and self.out_of(message.content)
        message.refusal = message.refusal and self.out_of(message.refusal)
        for call in message.tool_calls or ():
            if isinstance(call, ChatCompletionMessageFunctionToolCall):
                call.function.arguments = self.out_of(call.function.arguments or "")
        return completion
