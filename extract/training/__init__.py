"""Training of a small adapter for the embedded model from gold (extra `train`), as `docs/training.md` shows."""
