"""``firth recommend``: recommend a method and settings for a corpus, with the evidence."""

from typing import TYPE_CHECKING, Any

import click

from firth.corpora.common.command import Command, option

if TYPE_CHECKING:
    from firth.embed.compare.recommend import Advice, Features, Margin

_KINDS = {
    "similarity": "similarity",
    "meaning": "analogies of meaning",
    "grammar": "analogies of grammar",
}


@click.command("recommend", cls=Command)
@click.argument("corpus")
@option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(corpus: str, as_json: bool) -> None:
    """Recommend a method and settings for a corpus, with the evidence.

    CORPUS is a corpus made by build-corpus, or text, from which a corpus is built
    in the cache. Methods and settings were compared on English Wikipedia and
    WikiText-2, German novels and Chinese prose; the advice comes from the text
    most similar in script, language, size and number of words. To measure your
    own text, use learning-curve.

    \b
    Example:
        firth recommend out/wiki
        firth recommend novels/ --json
    """
    from firth.corpora.common.console import print_json
    from firth.corpora.encoding.build import open_or_build
    from firth.embed.compare.recommend import advise, features_of, read_evidence

    opened = open_or_build(corpus)
    evidence, features = read_evidence(), features_of(opened)
    advice = advise(features, evidence)
    if as_json:
        print_json(_document(corpus, features, advice, evidence))
    else:
        _print(corpus, features, advice, evidence)


def _document(
    corpus: str, features: "Features", advice: "Advice", evidence: dict[str, Any]
) -> dict[str, Any]:
    """Return the advice and its evidence as a JSON document."""
    import dataclasses

    from firth.corpora.common.urls import public

    return {
        "corpus": public(corpus),
        **dataclasses.asdict(features),
        "advice": [
            {
                "kinds": kinds,
                "candidate": candidate,
                **evidence["candidates"][candidate],
                "margins": {
                    kind: margin and dataclasses.asdict(margin)
                    for kind, margin in _margins(advice, candidate).items()
                },
                "command": _train_command(corpus, candidate, evidence),
            }
            for candidate, kinds in advice.choices.items()
        ],
        "good": advice.good,
        "factor": advice.factor,
        "is_far": advice.is_far,
        "differs": advice.differs,
        "left_out": advice.left_out,
        "evidence": advice.sample,
        "measured": evidence["machine"],
    }


def _print(corpus: str, features: "Features", advice: "Advice", evidence: dict[str, Any]) -> None:
    """Print a line per choice, one on the evidence, and the table of scores."""
    from firth.corpora.common.console import human, print_table
    from firth.embed.compare.recommend import name_of

    for candidate, kinds in advice.choices.items():
        suited = ", ".join(_KINDS[kind] for kind in kinds)
        click.echo(f"{suited}: {_train_command(corpus, candidate, evidence)}")
        for kind, margin in _margins(advice, candidate).items():
            if margin:
                click.echo(f"    {_KINDS[kind]}: {_in_words(margin, evidence['factor'])}")
    sample = advice.sample
    far = "; yours is very different, so use firth learning-curve" if advice.is_far else ""
    click.echo(
        f"evidence: {name_of(sample)}, "
        f"{human(sample['tokens'])} tokens, {max(sample['words'].values()):,} words; yours has "
        f"{human(features.tokens)} and {features.words:,}{far}"
    )
    known = advice.differs or "no difference of script or language was found"
    click.echo(f"yours against it: {known}; genres are not compared")
    seconds = sample.get("seconds", {})
    rows = [
        [*_row(name, advice), *([f"{seconds[name]:,.0f}"] if seconds else [])]
        for name in evidence["candidates"]
    ]
    print_table(["", *_KINDS.values(), *(["training, s"] if seconds else [])], rows)
    print(
        "mean Spearman, mean accuracies, ± standard error over items; "
        "* chosen, = no clear difference from it"
    )
    if advice.left_out:
        names = ", ".join(advice.left_out)
        print(f"not considered, with more dimensions than the text has words: {names}")


def _margins(advice: "Advice", candidate: str) -> "dict[str, Margin | None]":
    """Return the margin of a choice over the best other candidate, for each kind of sets."""
    from firth.embed.compare.recommend import margin_of

    return {
        kind: margin_of(advice.sample, kind, candidate, advice.left_out)
        for kind in advice.choices[candidate]
    }


def _in_words(margin: "Margin", factor: float) -> str:
    """Describe a margin with its interval, wide enough for the best of all candidates."""
    difference, half = margin.difference, factor * margin.error
    if abs(difference) <= half:
        return f"no clear difference from {margin.other} ({difference:+.3f} ± {half:.3f})"
    compared = "better" if difference > 0 else "worse"
    return f"{abs(difference):.3f} ± {half:.3f} {compared} than {margin.other}"


def _train_command(corpus: str, candidate: str, evidence: dict[str, Any]) -> str:
    """Return the command that trains a candidate."""
    from firth.corpora.common.console import shell_quoted

    about = evidence["candidates"][candidate]
    options = " ".join(f"--{name} {value}" for name, value in about["options"].items())
    return f"firth train-{about['method']} {shell_quoted(corpus)} {options} --out RUN"


def _row(name: str, advice: "Advice") -> list[object]:
    """Return the table row of one candidate."""
    from firth.embed.compare.recommend import mean_of

    cells = []
    for kind in _KINDS:
        mean = mean_of(advice.sample, kind, name)
        good = "=" if name in advice.good[kind] else ""
        mark = "*" if kind in advice.choices.get(name, ()) else good
        cells.append(f"{mean['score']:.3f} ±{mean['error']:.3f} {mark}".rstrip())
    return [name, *cells]
