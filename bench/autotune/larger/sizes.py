"""The sizes of the whole models, which their JAX and PyTorch forms share."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Transformer:
    layers: int
    width: int
    heads: int
    length: int  # of the sequence, or of the cache
    vocabulary: int = 0
    tokens: int = 0  # of the decoder, where there are two
    groups: int = 0  # heads of keys and values
    hidden: int = 0


@dataclass(frozen=True)
class Recurrent:
    layers: int
    inputs: int
    width: int
    length: int
    batch: int


@dataclass(frozen=True)
class Recommender:
    batch: int
    bottom: tuple[int, ...]
    top: tuple[int, ...]
    tables: int
    rows: int


@dataclass(frozen=True)
class Denoiser:
    size: int
    features: int
    widths: tuple[int, ...]
    groups: int
    time: int


BERT = Transformer(12, 768, 12, 128, vocabulary=30522)
GPT2 = Transformer(12, 768, 12, 64, vocabulary=50257)
VIT = Transformer(12, 768, 12, 197)
WHISPER = Transformer(4, 384, 6, 1500, vocabulary=51865, tokens=16)
LLAMA = Transformer(12, 768, 12, 256, vocabulary=32000, groups=4, hidden=2048)
LSTM = Recurrent(2, 256, 512, 100, 8)
DLRM = Recommender(128, (13, 512, 256, 64), (512, 256), 26, 20000)
UNET = Denoiser(64, 4, (64, 128, 256), 8, 128)


def stages(first: int, expansion: int, counts: tuple[int, ...]) -> list[tuple[int, int, int, int]]:
    """(inputs, inner, outputs, stride) of each block of a ResNet."""
    blocks, inputs = [], 64
    for stage, count in enumerate(counts):
        inner = first << stage
        for i in range(count):
            blocks.append((inputs, inner, inner * expansion, 2 if stage > 0 and i == 0 else 1))
            inputs = inner * expansion
    return blocks


def inverted_residuals() -> list[tuple[int, int, int, int]]:
    """(inputs, outputs, expansion, stride) of each block: table 2 of Sandler et al. 2018."""
    blocks, inputs = [], 32
    for factor, outputs, count, stride in (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ):
        for i in range(count):
            blocks.append((inputs, outputs, factor, stride if i == 0 else 1))
            inputs = outputs
    return blocks


RESNET50 = stages(64, 4, (3, 4, 6, 3))
RESNET18 = [(inputs, outputs, stride) for inputs, _, outputs, stride in stages(64, 1, (2, 2, 2, 2))]
INVERTED_RESIDUALS = inverted_residuals()
# Bounds of integer inputs where 0 and 1 would say little: rows of tables, tokens.
INTEGERS = {"dlrm": DLRM.rows, "gpt2": GPT2.vocabulary, "whisper_tiny": WHISPER.vocabulary}
