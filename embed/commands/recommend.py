"""``firth recommend``: which method and settings suit a corpus, and on what evidence."""

import shlex
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from embed.compare.advice import Advice, Choice, Features

_KINDS = {"similarity": "similarity (mean Spearman)", "analogy": "analogies (mean accuracy)"}


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
        firth recommend novels/*.txt --json
    """
    from corpora.console import print_json
    from corpora.opening import open_or_build
    from embed.compare.advice import advise, features_of, read_evidence

    opened = open_or_build(corpus)
    evidence = read_evidence()
    features = features_of(opened)
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
            {**dataclasses.asdict(choice), **evidence["candidates"][choice.candidate]}
            | {"command": _typed(corpus, choice.candidate, evidence)}
            for choice in advice.choices
        ],
        "factor": advice.factor,
        "evidence": advice.sample,
        "measured": evidence["machine"],
    }


def _print(corpus: str, features: "Features", advice: "Advice", evidence: dict[str, Any]) -> None:
    """Three lines, and the scores behind them."""
    from corpora.console import human, print_table

    sample = advice.sample
    for choices in _by_candidate(advice):
        told = " and ".join(_KINDS[choice.task] for choice in choices)
        click.echo(f"for {told}: {_typed(corpus, choices[0].candidate, evidence)}")
    click.echo(
        f"evidence: {sample['text']} ({sample['language']}), {human(sample['tokens'])} tokens; "
        f"yours has {human(features.tokens)}"
        + (", far from it: firth learning-curve tells more" if advice.is_far else "")
    )
    rows = [_row(name, advice, evidence) for name in evidence["candidates"]]
    print_table(["", *_KINDS.values(), "words", "seconds"], rows)
    print("± standard error over items; * chosen, = not to be told from the best (p > 0.05)")
    print("n-grams of characters (--subwords) answer analogies of grammar by spelling")


def _by_candidate(advice: "Advice") -> "list[list[Choice]]":
    """The choices, those of one candidate together."""
    names = dict.fromkeys(choice.candidate for choice in advice.choices)
    return [[each for each in advice.choices if each.candidate == name] for name in names]


def _typed(corpus: str, candidate: str, evidence: dict[str, Any]) -> str:
    """What a person types to train a candidate."""
    about = evidence["candidates"][candidate]
    options = " ".join(f"--{name} {value}" for name, value in about["options"].items())
    return f"firth train-{about['method']} {shlex.quote(corpus)} {options} --out RUN"


def _row(name: str, advice: "Advice", evidence: dict[str, Any]) -> list[object]:
    """One candidate in numbers."""
    sample = advice.sample
    marks = {
        choice.task: "*" if name == choice.candidate else "=" if name in choice.equals else ""
        for choice in advice.choices
    }
    scores = {mean["task"]: mean for mean in sample["means"] if mean["run"] == name}
    return [
        name,
        *(
            f"{scores[task]['score']:.3f} ±{scores[task]['error']:.3f} {marks[task]}".rstrip()
            for task in _KINDS
        ),
        sample["words"][name],
        round(sample["seconds"][name]),
    ]
