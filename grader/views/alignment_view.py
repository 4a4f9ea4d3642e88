"""Cross-attention as an alignment: which source characters each answer character looks at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
import traitlets
from torch import Tensor

from grader.sentences import say
from grader.views.base import KernelView, module, pack, style
from grader.views.picture import heatmap, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Entries = Sequence[tuple[Tensor, Sequence[str]]]  # for each pair: weights (H, T, S), T guessed tokens
ALL = say("all heads")


class AlignmentView(KernelView):
    """Steps through a translator's answers at several moments of its training.

    pairs: (source, answer) texts, one token per character, the answer without bos and eos. moments: by name, for each
    pair the cross-attention weights (H, T, S) and the T guessed tokens. T counts the answer's characters and eos, S the
    source's characters.

    >>> view = AlignmentView([("ab", "b")], {"after": [(torch.eye(2).flip(0)[None], ["b", "<eos>"])]})
    >>> view
    Alignment view, "ab" to "b", after, all heads; character 1 of 2, "b": guessed "b", looks most at "b" (1.00).
    """

    _esm = module("alignment_view.js")
    _css = style("alignment_view.css")

    sources: traitlets.List[str] = traitlets.List(traitlets.Unicode()).tag(sync=True)
    answers: traitlets.List[list[str]] = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)
    moments: traitlets.List[str] = traitlets.List(traitlets.Unicode()).tag(sync=True)
    heads: traitlets.List[str] = traitlets.List(traitlets.Unicode()).tag(sync=True)
    guesses = traitlets.Dict().tag(sync=True)  # "moment/pair": tokens
    layout_of_weights: traitlets.List[list[str | int]] = traitlets.List().tag(
        sync=True
    )  # of "moment/pair/head": (T, S)
    weights = traitlets.Bytes().tag(sync=True)
    # The selected indices, set from Python or the browser.
    pair = traitlets.Int(0, min=0).tag(sync=True, echo_update=False)
    moment = traitlets.Int(0, min=0).tag(sync=True, echo_update=False)
    head = traitlets.Int(0, min=0).tag(sync=True, echo_update=False)
    row = traitlets.Int(0, min=0).tag(sync=True, echo_update=False)

    def __init__(self, pairs: Sequence[tuple[str, str]], moments: Mapping[str, Entries]) -> None:
        answers = [[*answer, "<eos>"] for _, answer in pairs]
        tables, guesses = _tables(pairs, answers, moments)
        self._tables, self._guessed = tables, guesses
        num_heads = next(iter(moments.values()))[0][0].shape[0]
        layout, buffer = pack(tables)
        super().__init__(
            sources=[source for source, _ in pairs],
            answers=answers,
            moments=list(moments),
            heads=[ALL, *(say("head {head}", head=head) for head in range(num_heads))],
            guesses=guesses,
            layout_of_weights=layout,
            weights=buffer,
            moment=len(moments) - 1,
        )
        self._summarise()

    @traitlets.observe("pair", "moment", "head", "row")
    def _on_choice(self, _change: traitlets.Bunch) -> None:
        if self.weights:
            self._summarise()

    def picture(self) -> Figure:
        """A picture of the chosen pair at every moment of the training, with all heads or the chosen one."""
        pair, head = min(self.pair, len(self.sources) - 1), self.heads[min(self.head, len(self.heads) - 1)]
        source, answer = self.sources[pair], self.answers[pair]
        size = (min(0.2 * len(source), 5) + 0.9, min(0.2 * len(answer), 5) + 0.7)
        figure = sheet(max(2.2, size[0]) * len(self.moments), size[1])
        for axes, moment in zip(figure.subplots(1, len(self.moments), squeeze=False)[0], self.moments, strict=True):
            weights = self._tables[f"{moment}/{pair}/{head}"]
            rows = ["eos" if token == "<eos>" else token for token in answer]
            heatmap(
                axes,
                weights,
                say("{moment}, {head}", moment=say(moment), head=say(head)),
                rows,
                [*source],
                ends=(0, 1),
                text=None,
            )
        return figure

    def _summarise(self) -> None:
        pair, moment, head = (
            min(index, len(names) - 1)
            for index, names in ((self.pair, self.sources), (self.moment, self.moments), (self.head, self.heads))
        )
        key, source, answer = f"{self.moments[moment]}/{pair}", self.sources[pair], self.answers[pair]
        row = min(self.row, len(answer) - 1)
        weights = self._tables[f"{key}/{self.heads[head]}"][row]
        most = int(weights.argmax())
        self.summary = say(
            'Alignment view, "{source}" to "{answer}", {moment}, {head}; character {at} of {count}, "{character}": '
            'guessed "{guess}", looks most at "{most}" ({weight}).',
            source=source,
            answer="".join(answer[:-1]),
            moment=say(self.moments[moment]),
            head=say(self.heads[head]),
            at=row + 1,
            count=len(answer),
            character=answer[row],
            guess=self._guessed[key][row],
            most=source[most],
            weight=f"{float(weights[most]):.2f}",
        )


def _tables(
    pairs: Sequence[tuple[str, str]], answers: Sequence[Sequence[str]], moments: Mapping[str, Entries]
) -> tuple[dict[str, Tensor], dict[str, list[str]]]:
    """Weights (T, S) by "moment/pair/head", the mean of the heads first, and the guessed tokens by "moment/pair".
    ValueError where there is nothing to show or the sizes don't fit the texts."""
    if not pairs or not moments:
        raise ValueError("expected at least one pair and one moment")
    tables: dict[str, Tensor] = {}
    guesses: dict[str, list[str]] = {}
    for moment, entries in moments.items():
        if len(entries) != len(pairs):
            raise ValueError(
                f"moments[{moment!r}]: got {len(entries)} entries, expected {len(pairs)}, one for each pair"
            )
        for i, ((source, _), answer, (weights, guessed)) in enumerate(zip(pairs, answers, entries, strict=True)):
            expected = (len(answer), len(source))
            if weights.dim() != 3 or tuple(weights.shape[1:]) != expected or len(guessed) != len(answer):
                got = f"weights {tuple(weights.shape)} and {len(guessed)} guesses"
                wanted = f"weights (H, {expected[0]}, {expected[1]}) and {len(answer)} guesses"
                raise ValueError(f"moments[{moment!r}][{i}]: got {got}, expected {wanted}")
            weights = weights.detach().to(torch.float32)
            tables[f"{moment}/{i}/{ALL}"] = weights.mean(dim=0)
            tables |= {f"{moment}/{i}/head {head}": table for head, table in enumerate(weights)}
            guesses[f"{moment}/{i}"] = [str(token) for token in guessed]
    return tables, guesses
