"""``firth attend``: show how much each word of a sentence contributes to its label."""

from typing import TYPE_CHECKING

import click

from firth.corpora.common.command import Command, option

if TYPE_CHECKING:
    from firth.embed.compare.pooling_weights import WeightedSentence

_BAR = 24  # length of the longest bar in characters


@click.command("attend", cls=Command)
@click.argument("run")
@click.argument("sentences", nargs=-1, required=True, metavar="SENTENCE...")
@option(
    "--on",
    required=True,
    metavar="TRAIN[,DEV]",
    help="Files of labeled sentences to learn from, as compare takes them.",
)
@option("--seed", type=click.IntRange(0, 2**64 - 1), default=1, help="Seed of the training.")
@option(
    "--encoding",
    default="",
    metavar="ENCODING",
    help="Encoding of files that are not UTF-8, such as latin-1.",
)
@option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    run: str, sentences: tuple[str, ...], on: str, seed: int, encoding: str, as_json: bool
) -> None:
    """Show how much each word of a sentence contributes to its label.

    Attention pooling is trained on labeled sentences, with the same result for
    the same seed: a sentence is the weighted mean of its words' vectors, or of
    their states if RUN has an encoder, from which its label is predicted. After
    texts of two sentences or more on average, the words of each sentence are
    weighted, and the sentences. RUN is as for compare; SENTENCE - reads lines
    from standard input.

    \b
    Example:
        firth attend out/svd --on sst2.train,sst2.dev "a gripping and funny film"
        firth attend out/svd --on trec.train --json - < questions.txt
    """
    from firth.corpora.common.console import print_json
    from firth.corpora.common.errors import SettingError
    from firth.embed.compare.datasets.parts import split_names
    from firth.embed.compare.pooling_weights import pooling_weights
    from firth.embed.query.prompt import read_queries

    texts = list(sentences)
    if "-" in texts and len(texts) > 1:
        raise click.UsageError("- cannot be combined with sentences")
    if texts == ["-"]:
        texts = [" ".join(line) for line in read_queries()]
        if not texts:
            raise click.UsageError("no sentence on standard input")
    names = split_names(on)
    if len(names) > 2 or not all(names):
        raise SettingError(f"`on={on!r}`: expected 1 or 2 files; pass TRAIN or TRAIN,DEV")
    found = pooling_weights(run, texts, *names, seed=seed, encoding=encoding)
    if as_json:
        print_json([each.to_json() for each in found])
        return
    for each in found:
        _print(each)


def _print(sentence: "WeightedSentence") -> None:
    """Print a row per word, in tables of sentences if there are several, then the label."""
    from firth.corpora.common.console import print_table

    numbers = dict.fromkeys(sentence.sentences.tolist())
    if len(numbers) != 1:
        click.echo(sentence.text + ": no words" * (not numbers) + "\n")
    for number in numbers:
        of_sentence = sentence.sentences == number
        whole = float(sentence.sentence_weights[number])
        weights = (sentence.weights[of_sentence] / (whole or 1.0)).tolist()
        places = of_sentence.nonzero()[0].tolist()
        rows = [
            [
                sentence.words[place],
                f"{weight:.3f}",
                "█" * max(1, round(_BAR * weight / (max(weights) or 1.0))),
                "unknown" * bool(sentence.unknown[place]),
            ]
            for place, weight in zip(places, weights, strict=True)
        ]
        title = sentence.text if len(numbers) == 1 else f"sentence {number + 1}, weight {whole:.3f}"
        print_table(["word", "weight", "", ""], rows, title=title)
    count = len(numbers) if len(numbers) > 1 else len(sentence.words)
    equal = f" (equal weights: {1 / count:.3f})" if count else ""
    click.echo(f"{sentence.label}: {sentence.probabilities[sentence.label]:.1%}{equal}\n")
