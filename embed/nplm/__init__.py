"""The next-word network of Bengio et al. (2003), whose first layer is word vectors."""
