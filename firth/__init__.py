"""Train, query and compare word vectors from one encoded corpus.

corpus = firth.build_corpus(["novel.txt", "letters/"])  # or a list of texts, a data frame ...
svd, cbow = firth.train_svd(corpus), firth.train_cbow(corpus)
firth.nearest(svd, "sea")
firth.compare({"svd": svd, "cbow": cbow})
"""

import os

import lazy_loader

__version__ = "1.0.0.dev0"

# The folders of the program are links to those in the root of the repository; a wheel has no links.
if not os.path.isdir(os.path.join(__path__[0], "corpora")):  # Git on Windows writes links as files
    raise ImportError(
        f"{__path__[0]}: this checkout has no links; run: git config core.symlinks true && "
        "git checkout -- firth"
    )

from firth.corpora.common.errors import needed_packages
from firth.corpora.common.keywords import with_suggestions
from firth.corpora.common.openmp import set_wait_policy

set_wait_policy()  # before anything imports torch

# Public names are in __init__.pyi; each is imported on first use, as numpy and torch take seconds.
_lazy_name, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    with needed_packages(f"firth.{name}"):
        globals()[name] = found = with_suggestions(_lazy_name(name), name)
    return found
