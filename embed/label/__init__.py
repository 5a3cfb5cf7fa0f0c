"""Labels of new text, by probes trained on labeled text, with calibrated probabilities."""
