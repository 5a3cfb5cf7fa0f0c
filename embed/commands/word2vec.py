"""What train-skipgram and train-cbow have in common."""

from pathlib import Path
from typing import Any

from firth.embed.commands.training import Request, size_and_losses


def train(request: Request[Any]) -> None:
    """Train with the method of the config."""
    from firth.corpora.artifacts.checkpoint import CHECKPOINTS
    from firth.corpora.store.corpus import is_corpus
    from firth.embed.word2vec.dry_run import estimate_word2vec
    from firth.embed.word2vec.initial import open_init
    from firth.embed.word2vec.train import make_run
    from firth.embed.word2vec.trainer import build_trainer

    config = request.config
    request.train(
        f"train-{config.method}",
        check=lambda: is_corpus(Path(request.corpus)) or open_init(config),
        prepare=lambda corpus: build_trainer(corpus, config),
        estimate=estimate_word2vec,
        chosen=lambda trainer: trainer.resolved_options(),
        make=lambda trainer, one, run: make_run(
            trainer.with_seed(one.seed), run, force=request.force
        ),
        describe=size_and_losses,
        resume=CHECKPOINTS,
    )
