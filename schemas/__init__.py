"""What to extract: Pydantic models whose strings may be verbatim, and the code that reads the numbers in them.

This package knows nothing of models that answer, of prompts or of the database.
"""
