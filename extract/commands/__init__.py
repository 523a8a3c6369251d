"""Commands of the command line, a module each; `extract.cli` adds them to its app."""
