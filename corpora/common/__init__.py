"""What every package uses: errors, options, console, threads, memory; no file formats, no text."""
