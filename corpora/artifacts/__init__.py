"""Atomic files and directories: artifacts, arrays, checkpoints, provenance."""
