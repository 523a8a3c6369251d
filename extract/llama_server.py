"""The child process of the embedded model: llama.cpp's servers, until standard input ends.

It reads its settings as a line of JSON, prints its addresses when it serves, and logs to standard error. Whatever
happens to the parent, a kill included, closes the pipe and so ends the server.
"""

import json
import os
import sys
from typing import Any

import xllamacpp

RAW_TEMPLATE = "{% for message in messages %}{{ message.content }}{% endfor %}"
"""The model is a base model with an adapter: it continues a text, and has no turns."""

CONTEXT = 8192
"""Tokens: an abstract of 20,000 characters and its reply. A longer one is refused by the server."""


def main() -> None:
    """Serve until the parent is gone."""
    settings = json.loads(sys.stdin.readline())
    servers = [xllamacpp.Server(parameters(settings)) for _ in range(settings["servers"])]
    print(*(server.listening_address for server in servers), flush=True)
    sys.stdin.read()
    # Freeing the model takes a while, and the parent may be waiting for its prompt back.
    os._exit(0)


def parameters(settings: dict[str, Any]) -> Any:
    """Return the parameters of one server: one thread, one slot, the adapter on the weights."""
    params = xllamacpp.CommonParams()
    params.model.path = settings["weights"]
    adapter = xllamacpp.CommonAdapterLoraInfo()
    adapter.path, adapter.scale = settings["adapter"], 1.0
    params.lora_adapters = [adapter]
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.api_keys = [settings["key"]]
    params.n_parallel, params.n_ctx = 1, CONTEXT
    params.n_gpu_layers = 0
    params.cache_ram_mib = 0  # no abstract comes twice
    params.use_jinja, params.chat_template = True, RAW_TEMPLATE
    params.ui = False
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads, threads.poll = 1, 0
    return params


if __name__ == "__main__":
    main()
