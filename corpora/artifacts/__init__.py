"""Files and directories that are whole or absent: writing, arrays, checkpoints, provenance."""
