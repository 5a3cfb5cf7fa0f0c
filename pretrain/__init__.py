"""Masked and causal language modeling: the encoder, its training and its inference."""

if __name__ == "pretrain":
    raise ImportError("this is a part of Firth: import firth, or firth.pretrain")
