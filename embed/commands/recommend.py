"""``firth recommend``: which method and settings suit a corpus, and on what evidence."""

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from embed.compare.recommend import Advice, Features

_KINDS = {
    "similarity": "similarity",
    "meaning": "analogies of meaning",
    "grammar": "analogies of grammar",
}


@click.command("recommend")
@click.argument("corpus")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(corpus: str, as_json: bool) -> None:
    """Say which method and settings suit a corpus, and on what evidence.

    CORPUS is what build-corpus made, or a source of text, which is built in a
    cache first. The advice is that of the text most like it, in script, size and
    number of words, among those on which methods and settings were compared:
    English Wikipedia and WikiText-2, German novels, Chinese prose. To see how
    your own text behaves, take learning-curve.

    \b
    Example:
        firth recommend out/wiki
        firth recommend novels/ --json
    """
    from corpora.build.open_or_build import open_or_build
    from corpora.common.console import print_json
    from corpora.common.reporting import note
    from embed.compare.recommend import advise, features_of, read_evidence

    opened = open_or_build(corpus)
    for line in opened.advice():
        note(line)
    evidence, features = read_evidence(), features_of(opened)
    advice = advise(features, evidence)
    if as_json:
        print_json(_document(corpus, features, advice, evidence))
    else:
        _print(corpus, features, advice, evidence)


def _document(
    corpus: str, features: "Features", advice: "Advice", evidence: dict[str, Any]
) -> dict[str, Any]:
    """The advice and all that stands behind it."""
    import dataclasses

    return {
        "corpus": corpus,
        **dataclasses.asdict(features),
        "advice": [
            {
                "kinds": choice.kinds,
                "candidate": choice.candidate,
                **evidence["candidates"][choice.candidate],
                "command": _typed(corpus, choice.candidate, evidence),
            }
            for choice in advice.choices
        ],
        "good": advice.good,
        "factor": advice.factor,
        "is_far": advice.is_far,
        "evidence": advice.sample,
        "measured": evidence["machine"],
    }


def _print(corpus: str, features: "Features", advice: "Advice", evidence: dict[str, Any]) -> None:
    """A line for each choice, one for the evidence, and the scores behind them."""
    from corpora.common.console import human, print_table

    for choice in advice.choices:
        told = ", ".join(_KINDS[kind] for kind in choice.kinds)
        click.echo(f"{told}: {_typed(corpus, choice.candidate, evidence)}")
    sample = advice.sample
    far = "; yours is so unlike it that firth learning-curve tells more" if advice.is_far else ""
    click.echo(
        f"evidence: {sample['text']} ({sample['language']} {sample['kind']}), "
        f"{human(sample['tokens'])} tokens, {max(sample['words'].values()):,} words; yours has "
        f"{human(features.tokens)} and {features.words:,}{far}"
    )
    rows = [_row(name, advice) for name in evidence["candidates"]]
    print_table(["", *_KINDS.values()], rows)
    print(
        "mean Spearman, mean accuracies, ± standard error over items; * chosen, = not surely worse"
    )


def _typed(corpus: str, candidate: str, evidence: dict[str, Any]) -> str:
    """What a person types to train a candidate."""
    from corpora.common.console import typed

    about = evidence["candidates"][candidate]
    options = " ".join(f"--{name} {value}" for name, value in about["options"].items())
    return f"firth train-{about['method']} {typed(corpus)} {options} --out RUN"


def _row(name: str, advice: "Advice") -> list[object]:
    """One candidate in numbers."""
    from embed.compare.recommend import mean_of

    chosen = {kind: choice.candidate for choice in advice.choices for kind in choice.kinds}
    cells = []
    for kind in _KINDS:
        mean = mean_of(advice.sample, kind, name)
        mark = "*" if name == chosen[kind] else "=" if name in advice.good[kind] else ""
        cells.append(f"{mean['score']:.3f} ±{mean['error']:.3f} {mark}".rstrip())
    return [name, *cells]
