"""Readers turn what people have into records, lazily: one abstract at a time, with where it came from."""

from extract.readers.fields import Columns
from extract.readers.notices import Notices
from extract.readers.read import check_inputs, read

__all__ = ["Columns", "Notices", "check_inputs", "read"]
