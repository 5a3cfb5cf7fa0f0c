"""Train, query and compare word vectors from one encoded corpus.

The folders of the program are links in this package to the top level of the repository, where they
are the same files. Public names are listed in ``__init__.pyi``; each is imported on first use,
since numpy, torch and others take seconds.
"""

import os

import lazy_loader

__version__ = "0.1.0"

if not os.path.isdir(os.path.join(__path__[0], "corpora")):  # Git on Windows writes links as files
    raise ImportError(
        f"{__path__[0]}: this checkout has no links; run: git config core.symlinks true && "
        "git checkout -- firth"
    )

from firth.corpora.common.openmp import set_wait_policy

set_wait_policy()  # before anything imports torch

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
