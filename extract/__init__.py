"""The engine: reads records, asks a model, grounds its quotes, and hands outcomes to the store."""

__version__ = "0.1.0"
