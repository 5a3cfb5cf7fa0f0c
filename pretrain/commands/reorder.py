"""``firth reorder``: put the words of a sentence in order."""

from pathlib import Path

import click

from firth.corpora.common.command import PATH, Command, device_option, option


@click.command("reorder", cls=Command)
@click.argument("run", type=PATH)
@click.argument("text", required=False)
@option("--lines", type=PATH, help="Instead of TEXT, a file of sentences; - is standard input.")
@option("--score", is_flag=True, needs="--lines", help="Shuffle the lines, and print the share of "
        "words that get the right neighbor, and Kendall's tau.")  # fmt: skip
@device_option
@option("--json", "as_json", is_flag=True, excludes=["--score"], help="Print JSON.")
def command(
    run: Path, text: str | None, lines: Path | None, score: bool, device: str, as_json: bool
) -> None:
    """Put the words of a sentence in order.

    RUN is a run of train-mlm. With --objective point it points at the word that
    comes next, with another it predicts its first piece; the best word is taken
    until none is left. In JSON, "order" has the numbers of the words.

    \b
    Example:
        firth train-mlm out/wiki --objective point --boundary sentence --out out/point
        firth reorder out/point "saw a I saw"
        firth reorder out/point --lines sentences.txt --score
    """
    from firth.corpora.common.console import print_json, print_table
    from firth.corpora.common.errors import SettingError, SourceError
    from firth.embed.contextual.encoded_text import text_lines
    from firth.pretrain.inference.mlm_encoder import open_run
    from firth.pretrain.inference.word_order import COLUMNS, score_orders, shuffled

    if (text is None) == (lines is None):
        raise SettingError("pass a TEXT, or a file of sentences after --lines; one of the two")
    encoder, orders = open_run(run, device), []
    texts = [encoder.words(line) for line in ([text or ""] if lines is None else text_lines(lines))]
    if score and not any(len(words) > 1 for words in texts):
        raise SourceError(f"{lines}: has no sentence of two words to shuffle; pass some")
    given = [shuffled(words, n) for n, words in enumerate(texts)] if score else texts
    for number, words in enumerate(given, 1):
        try:
            orders.append(encoder.reorder(words))
        except SettingError as error:
            raise SourceError(f"{lines or 'TEXT'}:{number}: {error}") from None
    answers = [[words[n] for n in order] for words, order in zip(given, orders, strict=True)]
    written = [encoder.text.written(words) for words in answers]
    if score:
        print_table(COLUMNS, score_orders(texts, answers, given))
    elif as_json:
        columns = zip(given, orders, written, strict=True)
        print_json([dict(zip(("words", "order", "text"), row, strict=True)) for row in columns])
    else:
        click.echo("\n".join(written))
