"""Versioned prompts: `NAME.vN.md` files, and the loader that turns one into the messages of a call."""
