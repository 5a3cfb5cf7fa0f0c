"""``firth reorder``: put the words of a sentence in order."""

from pathlib import Path

import click

from firth.corpora.common.command import PATH, Command, option
from firth.corpora.common.device import device_option


@click.command("reorder", cls=Command)
@click.argument("run", type=PATH)
@click.argument("text", required=False)
@option("--lines", type=PATH, help="Instead of TEXT, a file with a sentence per line; - reads "
        "standard input.")  # fmt: skip
@option("--score", is_flag=True, needs="--lines", help="Shuffle the lines, and print how many words"
        " are then followed by the right one, and Kendall's tau.")  # fmt: skip
@device_option
@option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    run: Path, text: str | None, lines: Path | None, score: bool, device: str, as_json: bool
) -> None:
    """Put the words of a sentence in order.

    RUN is a run of train-mlm. With --objective point it points at the word that
    comes next, with other objectives it predicts its first piece; the best of
    the words that are left is taken, one after the other. In JSON, "order" has the numbers
    of the words.

    \b
    Example:
        firth train-mlm out/wiki --objective point --boundary sentence --out out/point
        firth reorder out/point "saw a I saw"
        firth reorder out/point --lines sentences.txt --score
    """
    from firth.corpora.common.console import print_json, print_table
    from firth.corpora.common.errors import SettingError
    from firth.corpora.common.reporting import progress
    from firth.pretrain.inference.mlm_encoder import open_run
    from firth.pretrain.inference.word_order import read_sentences, score_orders

    if (text is None) == (lines is None):
        raise SettingError("pass a TEXT, or a file of sentences after --lines; one of the two")
    encoder = open_run(run, device)
    sentences = read_sentences(encoder, lines) if lines else [encoder.words(text or "")]
    if score:
        with progress("reordering", "lines") as show:
            scores = score_orders(encoder, sentences, show)
        if as_json:
            print_json([row.to_json() for row in scores])
        else:
            print_table(("words", "sentences", "right neighbors", "tau", "shuffled", "tau"), scores)
        return
    orders = [encoder.reorder(words) for words in sentences]
    texts = [
        encoder.text.written([words[n] for n in order])
        for words, order in zip(sentences, orders, strict=True)
    ]
    if as_json:
        answers = zip(sentences, orders, texts, strict=True)
        print_json(
            [{"words": words, "order": order, "text": text} for words, order, text in answers]
        )
    else:
        click.echo("\n".join(texts))
