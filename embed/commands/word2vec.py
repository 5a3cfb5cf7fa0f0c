"""What train-skipgram and train-cbow have in common."""

from pathlib import Path
from typing import Any

from firth.embed.commands.training import TrainingRequest, print_losses


def train(request: TrainingRequest[Any]) -> None:
    """Train with the method of the config."""
    from firth.corpora.store.corpus import is_corpus
    from firth.embed.word2vec.initial import open_init
    from firth.embed.word2vec.train import estimate_word2vec, make_run
    from firth.embed.word2vec.trainer import build_trainer

    config = request.config
    if not is_corpus(Path(request.corpus)):
        open_init(config)  # raises, if it does not fit, before a corpus is built
    corpus = request.open_corpus()
    trainer = build_trainer(corpus, config)
    if request.dry_run:
        request.print_plan(estimate_word2vec(trainer))
        return
    for run, seeded in request.unfinished(corpus, **trainer.resolved_options()):
        make_run(trainer.with_seed(seeded.seed), run, force=request.force)
        print_losses(run)
