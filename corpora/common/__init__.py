"""Shared utilities: errors, options, console, threads, memory, compiled kernels."""
