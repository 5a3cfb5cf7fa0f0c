"""Reads Wikipedia dumps and WikiExtractor files, removing their markup."""
