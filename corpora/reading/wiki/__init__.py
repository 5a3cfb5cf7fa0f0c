"""Wikipedia dumps and WikiExtractor files: reading them and removing their markup."""
