"""The weights of all heads of a model (Vaswani et al. 2017, section 3.2), and the pattern each is most like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
import traitlets
from torch import Tensor

from grader.sentences import say
from grader.views.base import KernelView, module, pack, style
from grader.views.picture import heatmap, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = tuple[Tensor, Sequence[str], Sequence[str]]
SPACE = "␣"
KINDS = {"encoder": "encoder", "decoder": "decoder", "cross": "cross"}  # names of kinds that languages translate


class HeadExplorer(KernelView):
    """The heads of every layer in small, the chosen one large.

    kinds: by name ("encoder", "cross", …) the weights (L, H, Tq, Tk), the Tq query names and the Tk key names.
    Layers and heads count from 0. Assigning to `kind`, `layer` and `head` does what the buttons do.

    >>> explorer = HeadExplorer({"encoder": (torch.eye(3).expand(2, 4, 3, 3), "abc", "abc")})
    >>> explorer.head = 3
    >>> explorer
    Head explorer, encoder, layer 0 of 2, head 3 of 4, 3 by 3: most like "itself" (1.00 of the weight); entropy 0.00.
    """

    _esm = module("head_explorer.js")
    _css = style("head_explorer.css")

    # Each: name, layers, heads, queries, keys. In the order of their buttons.
    kinds: traitlets.List[dict[str, Any]] = traitlets.List(traitlets.Dict()).tag(sync=True)
    measures: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)  # "kind/layer/head": pattern, share, entropy
    fixed = traitlets.Bytes().tag(sync=True)
    fixed_layout: traitlets.List[list[str | int]] = traitlets.List().tag(sync=True)
    kind = traitlets.Unicode().tag(sync=True, echo_update=False)
    layer = traitlets.Int(0).tag(sync=True, echo_update=False)
    head = traitlets.Int(0).tag(sync=True, echo_update=False)

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        if not kinds:
            raise ValueError("kinds: got none, expected at least one")
        tables: dict[str, Tensor] = {}
        for name, (weights, queries, keys) in kinds.items():
            _check(name, weights, len(queries), len(keys))
            tables |= {f"{name}/{i}/{n}": head for i, layer in enumerate(weights) for n, head in enumerate(layer)}
        self._tables = tables
        layout, buffer = pack(tables)
        super().__init__(
            kinds=[{"name": name, **_sizes(*kind)} for name, kind in kinds.items()],
            measures={
                key: _measured(table.detach().double(), _is_self_attention(kinds, key)) for key, table in tables.items()
            },
            fixed_layout=layout,
            fixed=buffer,
            kind=next(iter(kinds)),
        )

    @traitlets.validate("kind")
    def _known(self, proposal: traitlets.Bunch) -> str:
        names = [kind["name"] for kind in self.kinds]
        if proposal["value"] not in names:
            raise traitlets.TraitError(f"kind: got {proposal['value']!r}, expected one of {', '.join(names)}")
        return str(proposal["value"])

    @traitlets.observe("kind", "layer", "head")
    def _on_choice(self, _change: traitlets.Bunch) -> None:
        """Keep layer and head within those of the chosen kind: one with fewer shows its last ones."""
        chosen = self._chosen()
        with self.hold_sync():
            self.layer = max(0, min(self.layer, chosen["layers"] - 1))
            self.head = max(0, min(self.head, chosen["heads"] - 1))
            self.summary = self._in_words(chosen)

    def _chosen(self) -> dict[str, Any]:
        return next(kind for kind in self.kinds if kind["name"] == self.kind)

    def picture(self) -> Figure:
        """A picture of all heads of the chosen kind, a row for each layer."""
        chosen = self._chosen()
        layers, heads = chosen["layers"], chosen["heads"]
        figure = sheet(min(2.4 * heads, 10), min(2.4, 10 / heads) * layers + 0.3)
        for layer, line in enumerate(figure.subplots(layers, heads, squeeze=False)):
            for head, axes in enumerate(line):
                key = f"{self.kind}/{layer}/{head}"
                title = say(
                    "{kind}, layer {layer}, head {head}\nmost like: {pattern}",
                    kind=say(KINDS.get(self.kind, self.kind)),
                    layer=layer,
                    head=head,
                    pattern=say(self.measures[key]["pattern"]),
                )
                queries = chosen["queries"] if head == 0 else ()
                heatmap(axes, self._tables[key], title, queries, chosen["keys"], ends=(0, 1), text=None)
        return figure

    def _in_words(self, chosen: Mapping[str, Any]) -> str:
        layers, heads = chosen["layers"], chosen["heads"]
        measures = self.measures[f"{self.kind}/{self.layer}/{self.head}"]
        return say(
            "Head explorer, {kind}, layer {layer} of {layers}, head {head} of {heads}, {queries} by {keys}: most like "
            '"{pattern}" ({share} of the weight); entropy {entropy}.',
            kind=say(KINDS.get(self.kind, self.kind)),
            layer=self.layer,
            layers=layers,
            head=self.head,
            heads=heads,
            queries=len(chosen["queries"]),
            keys=len(chosen["keys"]),
            pattern=say(measures["pattern"]),
            share=f"{measures['share']:.2f}",
            entropy=f"{measures['entropy']:.2f}",
        )


def patterns(queries: int, keys: int, places: bool, causal: bool) -> dict[str, Tensor]:
    """Patterns by name: float64 (queries, keys), rows that sum to one. `places`: queries and keys are the same tokens,
    so distances mean something; `causal`: the future is hidden."""
    distance = torch.arange(keys) - torch.arange(queries)[:, None]
    first = torch.zeros(queries, keys, dtype=torch.float64)
    first[:, 0] = 1.0
    tables = {say("uniform"): torch.ones(queries, keys, dtype=torch.float64), say("the first"): first}
    if places:
        near = {say("itself"): (0, 0), say("the one before"): (-1, -1), say("the one after"): (1, 1)}
        near |= {say("neighbours within 1"): (-1, 1), say("neighbours within 2"): (-2, 2)}
        tables |= {name: ((distance >= low) & (distance <= high)).double() for name, (low, high) in near.items()}
    if causal:
        tables = {name: table.tril() for name, table in tables.items() if name != "the one after"}
    return {name: table / table.sum(-1, keepdim=True).clamp(min=1) for name, table in tables.items()}


def _is_self_attention(kinds: Mapping[str, Kind], key: str) -> bool:
    _, queries, keys = kinds[key.rsplit("/", 2)[0]]
    return list(queries) == list(keys)


def _measured(table: Tensor, places: bool) -> dict[str, str | float]:
    """What the browser shows of a table (Tq, Tk) of weights: the pattern that it shares the most weight with, that
    share (0 to 1), and the mean entropy of its rows, in nats."""
    table = table.detach().double()
    causal = places and bool((table.triu(1) == 0).all())
    known = patterns(table.shape[0], table.shape[1], places, causal)
    shares = {name: float(torch.minimum(table, pattern).sum(-1).mean()) for name, pattern in known.items()}
    best = max(shares, key=lambda name: round(shares[name], 6))
    return {"pattern": best, "share": shares[best], "entropy": float(torch.special.entr(table).sum(-1).mean())}


def _sizes(weights: Tensor, queries: Sequence[str], keys: Sequence[str]) -> dict[str, Any]:
    """The sizes of a kind of weights (L, H, Tq, Tk) and its words, for the browser. A space becomes a visible sign."""
    tokens = {"queries": queries, "keys": keys}
    names = {name: [SPACE if token == " " else str(token) for token in row] for name, row in tokens.items()}
    return {"layers": weights.shape[0], "heads": weights.shape[1], **names}


def _check(name: str, weights: Tensor, queries: int, keys: int) -> None:
    if weights.dim() != 4 or 0 in weights.shape or tuple(weights.shape[2:]) != (queries, keys):
        expected = f"(L, H, {queries}, {keys}) for {queries} queries and {keys} keys"
        raise ValueError(f"kinds[{name!r}]: got weights {tuple(weights.shape)}, expected {expected}")
