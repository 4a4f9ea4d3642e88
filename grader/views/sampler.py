"""A language model's next word: its distribution, cut by temperature, top-k and top-p (Holtzman et al. 2020)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
import traitlets
from torch import Tensor

from grader.models.gpt import as_gpt, words_of
from grader.sentences import say
from grader.views.base import KernelView, layout_of, module, pack, style
from grader.views.picture import sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 12  # words with a bar
FEW = 3  # words that the summary names
TAIL = 30  # characters of the text that the summary shows


class Sampler(KernelView):
    """Writes a text with a model, word by word, and shows what each one is drawn from. A mark is a word, too.

    model: ids (1, T) give logits (1, T, V); `words` has the V tokens by id. It reads at most the last `max_length`
    words of the text. The arithmetic on the logits is the browser's, in `sampler_numbers.js`; here it is done once
    more, for the sentence and the picture. `top_k` V and `top_p` 1 cut nothing.

    >>> sampler = Sampler(lambda tokens: torch.eye(3)[tokens] * 2, ["an", "owl", "."], "an owl")
    >>> sampler
    Sampler after "an owl", temperature 1, top-k all, top-p all: 3 words stay, "owl" 79 %, "an" 11 %, "." 11 %.
    >>> sampler.top_k, sampler.text = 1, "an owl."
    >>> sampler
    Sampler after "an owl.", temperature 1, top-k 1, top-p all: 1 word stays, "." 100 %.
    """

    _esm = module("sampler.js")
    _css = style("sampler.css")

    words: traitlets.List[str] = traitlets.List(traitlets.Unicode()).tag(sync=True)
    prompt = traitlets.Unicode().tag(sync=True)
    text = traitlets.Unicode().tag(sync=True, echo_update=False)  # what is wanted, and
    read = traitlets.Unicode().tag(sync=True)  # what the logits belong to
    temperature = traitlets.Float(1.0, min=0.0).tag(sync=True, echo_update=False)
    top_k = traitlets.Int(min=1).tag(sync=True, echo_update=False)
    top_p = traitlets.Float(1.0, min=0.0, max=1.0).tag(sync=True, echo_update=False)
    logits_layout: traitlets.List[list[str | int]] = traitlets.List().tag(sync=True)
    logits = traitlets.Bytes().tag(sync=True)

    def __init__(
        self,
        model: Callable[[Tensor], Tensor],
        words: Sequence[str],
        prompt: str,
        max_length: int = 256,
        **options: Any,
    ) -> None:
        self._model, self._max_length = model, max_length
        options = {"top_k": len(words), **options}
        super().__init__(words=list(words), prompt=prompt, text=prompt, **options)
        self._read()

    @traitlets.validate("prompt", "text")
    def _known(self, proposal: traitlets.Bunch) -> str:
        name, words = proposal["trait"].name, words_of(proposal["value"])
        unknown = set(words) - set(self.words)
        if unknown:
            raise traitlets.TraitError(f"{name}: got {sorted(unknown)}, which the vocabulary doesn't have")
        if not words:
            raise traitlets.TraitError(f"{name}: got an empty text, expected at least one word")
        return str(proposal["value"])

    @traitlets.observe("text")
    def _on_text(self, _change: traitlets.Bunch) -> None:
        self._read()

    @traitlets.observe("temperature", "top_k", "top_p")
    def _on_settings(self, _change: traitlets.Bunch) -> None:
        if self.read:
            self.summary = self._in_words()

    def _read(self) -> None:
        """Let the model read the text so far, and show its probabilities of the next word."""
        ids = torch.tensor([[self.words.index(word) for word in words_of(self.text)[-self._max_length :]]])
        with torch.no_grad():
            self._last = self._model(ids)[0, -1].detach().to("cpu", torch.float64)  # as the browser computes
        layout, buffer = pack({"logits": self._last[None]})
        with self.hold_sync():
            self.logits_layout, self.logits, self.read = layout, buffer, self.text
            self.summary = self._in_words()

    def kept(self) -> dict[str, Any]:
        """The weights of lesson 11's GPT: matrices rounded to 8 bits, as whole numbers and one factor a row, which is a
        quarter of the size, and vectors as they are. Nothing of another model: its logits need a kernel."""
        gpt = as_gpt(self._model, torch.arange(min(len(self.words), self._max_length)))
        if gpt is None:
            return {}
        weights = {name: weight.detach().to("cpu", torch.float32) for name, weight in gpt.weights.items()}
        if torch.equal(weights["token_embedding.weight"], weights["head.weight"]):
            del weights["token_embedding.weight"]
        matrices = {name: weight for name, weight in weights.items() if weight.dim() == 2}
        factors = {name: matrix.abs().amax(-1).clamp(min=1e-12) / 127 for name, matrix in matrices.items()}
        whole = [(matrix / factors[name][:, None]).round().to(torch.int8) for name, matrix in matrices.items()]
        layout, numbers = pack({name: vector[None] for name, vector in (weights | factors).items()})
        return {
            "sizes": {**gpt.sizes, "max_length": self._max_length},
            "layout": layout,
            "numbers": numbers,
            "rounded_layout": layout_of(matrices),
            "rounded": b"".join(part.numpy().tobytes() for part in whole),
        }

    def picture(self) -> Figure:
        """A picture with a bar for each of the likeliest words, and a mark where it would end by softmax alone."""
        plain, final = self._last.softmax(-1), drawn_from(self._last, self.temperature, self.top_k, self.top_p)
        order = plain.argsort(descending=True, stable=True)[:SHOWN].tolist()
        figure = sheet(6.4, 3.2)
        axes = figure.add_subplot()
        axes.barh(range(len(order)), [100 * float(final[at]) for at in order], color="#1565c0")
        axes.plot([100 * float(plain[at]) for at in order], range(len(order)), "|", color="black", markersize=12)
        axes.set_yticks(range(len(order)), [self.words[at].replace("\n", "↵") for at in order])
        axes.invert_yaxis()
        after = self.read[-TAIL:].replace("\n", "↵")
        title = say("after “{text}”, {settings}", text=after, settings=self._settings())
        axes.set(title=title, xlabel=say("% (marks: softmax alone)"), xlim=(0, 102))
        return figure

    def _settings(self) -> str:
        return say(
            "temperature {temperature}, top-k {top_k}, top-p {top_p}",
            temperature=f"{self.temperature:g}",
            top_k=say("all") if self.top_k >= len(self.words) else self.top_k,
            top_p=say("all") if self.top_p >= 1 else f"{self.top_p:g}",
        )

    def _in_words(self) -> str:
        final = drawn_from(self._last, self.temperature, self.top_k, self.top_p)
        stay = int((final > 0).sum())
        order = final.argsort(descending=True, stable=True)[: min(FEW, stay)].tolist()
        named = ", ".join(f'"{_visible(self.words[at])}" {100 * float(final[at]):.0f} %' for at in order)
        return say(
            'Sampler after "{after}", {settings}: {who}, {words}.',
            after=_visible(self.read[-TAIL:]),
            settings=self._settings(),
            who=say("1 word stays") if stay == 1 else say("{count} words stay", count=stay),
            words=named,
        )


def _visible(text: str) -> str:
    return text.replace("\n", "↵")


def drawn_from(logits: Tensor, temperature: float, top_k: int, top_p: float) -> Tensor:
    """The distribution (V,) that is drawn from, given `logits` (V,), by a walk from the likeliest token down.

    >>> drawn_from(torch.tensor([0.15, 0.5, 0.05, 0.3]).log(), 1.0, 4, 0.7)
    tensor([0.0000, 0.6250, 0.0000, 0.3750])
    """
    final = torch.zeros_like(logits)
    if temperature == 0:
        final[logits.argmax()] = 1.0
        return final
    tempered = (logits / temperature).softmax(-1)
    order = tempered.argsort(descending=True, stable=True).tolist()[:top_k]
    whole, reached = float(tempered[order].sum()), 0.0
    for rank, at in enumerate(order):
        if rank and reached >= top_p - 1e-9:
            break
        final[at] = tempered[at]
        reached += float(tempered[at]) / whole
    return final / final.sum()
