"""Readers turn what people have into records, lazily: one abstract at a time, with where it came from."""

from extract.readers.read import read

__all__ = ["read"]
