"""HuggingFaceEncoder: the states of any encoder that stock transformers loads from a folder."""

import contextlib
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from corpora.artifacts import read_json
from corpora.errors import ArtifactError, FirthError, SettingError
from corpora.stock_pieces import StockPieces
from pretrain.machine import choose_device
from pretrain.weights import TOKENIZER
from pretrain.windows import PiecedText, Windows

# As for our own encoders on a CPU; a GPU has to hold the states of all layers at once.
_SLOTS = {"cpu": 2048, "cuda": 1 << 14}
_OPTIONS = "tokenizer_config.json"
_RELATIVE_LENGTH = 512  # of windows, where no table of positions bounds them


class HuggingFaceEncoder:
    """A Hugging Face model; a ContextualEncoder.

    Everything is computed in float32, without dropout.

    Parameters
    ----------
    model : torch.nn.Module
        Of stock transformers: gives hidden states. Set to be asked (``eval``).
    pieces : StockPieces
        Its tokenizer.
    most_pieces : int
        Pieces that are read at once, special ones not counted, at least 2.
    width : int
        D, of the states of every layer.
    name : str
        What messages call it.
    """

    def __init__(
        self,
        model: nn.Module,
        pieces: StockPieces,
        *,
        most_pieces: int,
        width: int,
        name: str = "model",
    ) -> None:
        self.model: Any = model.eval()
        self.pieces = pieces
        self.most_pieces = most_pieces
        self.width = width
        self.name = name

    @property
    def n_layers(self) -> int:
        """Layers above the embeddings, which are layer 0."""
        return int(self.model.config.num_hidden_layers)

    def words(self, text: str) -> list[str]:
        """Cut text into words by the tokenizer's own normaliser and pre-tokeniser.

        Parameters
        ----------
        text : str
            A sentence.

        Returns
        -------
        list of str
            Words, known or not.
        """
        return self.pieces.words(text)

    def encode(self, sentences: Sequence[Sequence[str]], layers: Sequence[int]) -> list[np.ndarray]:
        """Encode words in their sentences.

        A word's vector is the mean over the layers, then over its pieces, of which the words get
        those that they have after a space, wherever they stand. The special pieces that the
        tokenizer puts around a sentence are read but left out. Long sentences are read in
        windows, as :meth:`pretrain.contextual.MlmEncoder.encode` does: nothing is cut off.

        Parameters
        ----------
        sentences : sequence of sequences of str
            Words, known or not; a sentence may be empty.
        layers : sequence of int
            Which layers to average: 0 are the embeddings, i the states after block i.

        Returns
        -------
        list of float32 (n_words, D)
            Per sentence.

        Raises
        ------
        ArtifactError
            The states hold NaN or infinity.
        """
        text = self._pieced(sentences)
        states = text.word_means(self._piece_states(text.windows(self.most_pieces), layers))
        return np.split(states, text.sentences[1:-1]) if len(sentences) else []

    def knows(self, words: Sequence[str]) -> np.ndarray:
        """Tell which words are all there in their pieces.

        Parameters
        ----------
        words : sequence of str
            Any.

        Returns
        -------
        bool (n_words,)
            False where [UNK] is among a word's pieces.
        """
        return self.pieces.knows(words)

    def input_embeddings(self, words: Sequence[str]) -> np.ndarray:
        """Look words up in the table of pieces, before norm, positions and context.

        Parameters
        ----------
        words : sequence of str
            Known or not.

        Returns
        -------
        float32 (n_words, D)
            Means over the pieces of each word.
        """
        text = self._pieced([words])
        table = self.model.get_input_embeddings().weight.detach()
        return text.word_means(table[torch.from_numpy(text.ids).to(table.device)].cpu().numpy())

    @property
    def _device(self) -> torch.device:
        device: torch.device = self.model.device
        return device

    def _pieced(self, sentences: Sequence[Sequence[str]]) -> PiecedText:
        return PiecedText.split(self.pieces, sentences)

    def _piece_states(self, windows: Windows, layers: Sequence[int]) -> np.ndarray:
        """The state of each piece, mean over layers, float32 (P, D)."""
        states = np.empty((len(windows.ids), self.width), dtype=np.float32)
        with torch.inference_mode():
            for numbers in windows.batches(_SLOTS[self._device.type]):
                some = windows.take(numbers)
                ids, mask, own = self._rows(some)
                found = self.model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
                mean = torch.stack([found.hidden_states[layer] for layer in layers]).mean(0)
                states[some.own_places()] = mean[own].cpu().numpy()
        if not np.isfinite(states).all():
            raise ArtifactError(
                f"{self.name}: gives states that hold NaN or infinity; take another"
            )
        return states

    def _rows(self, windows: Windows) -> tuple[Tensor, Tensor, Tensor]:
        """Each window between special pieces: int64 ids, int64 mask, bool own, (B, T) each."""
        before, after = self.pieces.frame
        lengths = (windows.stops - windows.starts)[:, None]
        columns = np.arange(len(before) + int(lengths.max()) + len(after))
        places = windows.starts[:, None] + columns - len(before)
        ids = windows.ids[np.clip(places, 0, len(windows.ids) - 1)]
        ids[:, : len(before)] = before
        for nth, piece in enumerate(after):
            ids[columns == len(before) + lengths + nth] = piece
        real = columns < len(before) + lengths + len(after)
        ids[~real] = _padding(self.model)
        own = (places >= windows.own_starts[:, None]) & (places < windows.own_stops[:, None])
        on_device = [torch.from_numpy(array).to(self._device) for array in (ids, real, own)]
        return on_device[0], on_device[1].long(), on_device[2]


def open_folder(folder: str | Path, device: str = "auto") -> HuggingFaceEncoder:
    """Open the encoder of a Hugging Face folder; nothing is fetched, and no code of it is run.

    Parameters
    ----------
    folder : str or Path
        With ``config.json``, safetensors and ``tokenizer.json``.
    device : str
        ``auto``, ``cpu`` or ``cuda``.

    Returns
    -------
    HuggingFaceEncoder
        Ready to be asked. Of a model that has an encoder and a decoder, the encoder.

    Raises
    ------
    ArtifactError
        A file is missing or damaged, transformers has no such model, weights are missing, it has
        no states of pieces, or its rows have no room for two of them.
    SettingError
        transformers is not installed, or there is no such device.
    """
    folder = Path(folder)
    chosen = choose_device(device)
    pieces = StockPieces(folder / TOKENIZER)
    with _in_one_line(folder):
        model = _load(folder).to(chosen)
        if model.config.is_encoder_decoder:
            model = model.get_encoder()
        n_rows = int(model.get_input_embeddings().weight.shape[0])
    if len(pieces) > n_rows:
        raise ArtifactError(
            f"{folder / TOKENIZER}: has {len(pieces)} pieces, and the model only {n_rows}; "
            "take both from the same model"
        )
    room = _row_length(folder, model) - sum(map(len, pieces.frame))
    if room < 2:
        raise ArtifactError(
            f"{folder}: its rows have room for {max(room, 0)} pieces of text; correct "
            f"max_position_embeddings in config.json or model_max_length in {_OPTIONS}"
        )
    with _in_one_line(folder):
        width = _width(folder, model.eval(), pieces)
    return HuggingFaceEncoder(model, pieces, most_pieces=room, width=width, name=str(folder))


def _load(folder: Path) -> Any:
    """The model without a head, in float32."""
    transformers = _transformers(folder)
    with _quiet(transformers.utils.logging):
        model, info = transformers.AutoModel.from_pretrained(
            folder,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
        )
    # masked language models come without the pooler, which comes after all states
    if missing := sorted(name for name in info["missing_keys"] if "pooler" not in name):
        raise ArtifactError(
            f"{folder}: its weights lack {missing[0]}, which config.json tells otherwise; "
            "fetch it again"
        )
    return model


def _transformers(folder: Path) -> Any:
    """The package, which is no part of the smallest installation."""
    try:
        import transformers
    except ImportError:
        raise SettingError(
            f"{folder}: the states of a Hugging Face model need the package transformers; "
            "pip install 'firth[hf]'"
        ) from None
    return transformers


@contextlib.contextmanager
def _in_one_line(folder: Path) -> Iterator[None]:
    """Turn what models raise into one line; each has errors of its own."""
    try:
        yield
    except FirthError:
        raise
    except Exception as error:  # noqa: BLE001 - there is no end to their kinds
        lines = str(error).strip().splitlines() or [type(error).__name__]
        told = " ".join(line.strip() for line in lines[: 2 if lines[0].endswith(":") else 1])
        version = f"transformers {_transformers(folder).__version__}"
        if isinstance(error, ImportError):
            told = (
                f"{version} needs a package of its own for it ({told}); take the model "
                "unquantized, with usual attention"
            )
            raise ArtifactError(f"{folder}: {told}") from None
        raise ArtifactError(f"{folder}: {version} does not open it: {told}") from None


@contextlib.contextmanager
def _quiet(logging: Any) -> Iterator[None]:
    """No bars, and no report of heads that are left out."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def _row_length(folder: Path, model: nn.Module) -> int:
    """Pieces in a row, special ones counted."""
    config: Any = model.config
    length = _length(getattr(config, "max_position_embeddings", None), _RELATIVE_LENGTH)
    for name, module in model.named_modules():  # RoBERTa's positions begin behind the padding's
        if "position" in name and getattr(module, "padding_idx", None) is not None:
            length -= int(module.padding_idx) + 1
    options = read_json(folder / _OPTIONS) if (folder / _OPTIONS).is_file() else None
    told = options.get("model_max_length") if isinstance(options, dict) else None
    return min(length, _length(told, length))


def _length(told: object, otherwise: int) -> int:
    """A length as far as it is one; XLNet tells -1 where there is no bound."""
    if isinstance(told, int | float) and 1 <= told < math.inf:
        return int(told)
    return otherwise


def _width(folder: Path, model: Any, pieces: StockPieces) -> int:
    """Read a short row: how wide the states are, if there is one of each piece and layer."""
    before, after = pieces.frame
    piece = int(pieces.split(["a"])[0][0])
    row = torch.tensor([[*before, piece, piece, *after]], device=model.device)
    with torch.inference_mode():
        asked = {"input_ids": row, "attention_mask": torch.ones_like(row)}
        states = model(**asked, output_hidden_states=True).hidden_states
    shapes = {tuple(layer.shape) for layer in states}
    width = int(states[0].shape[-1])
    if shapes != {(*row.shape, width)} or len(states) != model.config.num_hidden_layers + 1:
        raise ArtifactError(
            f"{folder}: its states are not one per piece and layer, all of one width; take an "
            "encoder that has such"
        )
    return width


def _padding(model: Any) -> int:
    """The piece that fills rows up; attention never sees it, but RoBERTa counts positions by it."""
    piece = getattr(model.config, "pad_token_id", None)
    n_rows = model.get_input_embeddings().weight.shape[0]
    return int(piece) if piece is not None and 0 <= piece < n_rows else 0
