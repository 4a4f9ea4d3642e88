// Follows a training while it runs: a progress bar, the loss of each step, now and then a score and what is written.

import { make, textTable } from "./frame.js";
import { unpack } from "./numbers.js";
import { say } from "./say.js";
import {
  between,
  changes,
  chosenRows,
  decades,
  lossInDigits,
  lossShare,
  powerOfTen,
  stepsDone,
} from "./training_curves.js";
import { Picture, rendering } from "./view.js";

const HEIGHT = 170;
const MARGIN = { left: 46, right: 10, top: 10, bottom: 24 };
const ROWS_IN_TABLE = 24;

class TrainingMonitor extends Picture {
  constructor(model, element) {
    super(say("Training monitor"), model, element);
    this.announced = 0;
    this.#receive();
    this.#build();
    const changed = () => {
      this.#receive();
      this.#say();
      this.schedule();
    };
    this.follow({ "change:curves": changed });
  }

  #receive() {
    const { losses, scores } = unpack(this.model.get("layout_of_curves"), this.model.get("curves"));
    this.losses = losses.values;
    this.scores = Array.from({ length: scores.rows }, (_, at) => [scores.values[2 * at], scores.values[2 * at + 1]]);
  }

  #build() {
    this.bar = make("span", { class: "att-done" });
    this.progress = make(
      "div",
      { class: "att-progress-bar", role: "progressbar", "aria-label": say("Steps"), "aria-valuemin": 0 },
      this.bar,
    );
    this.steps = make("p", { class: "att-steps-done" });
    this.written = make("table", { class: "att-written-so-far" });
    const titles = [
      say("Loss, where each line is a tenth of the one above"),
      say("Fraction of {score}", { score: say(this.model.get("score")) }),
    ];
    this.charts = titles.map((title) => {
      const canvas = make("canvas", { "aria-hidden": "true" });
      const element = make("div", { class: "att-chart" }, make("span", { class: "att-caption", text: title }), canvas);
      return { canvas, element };
    });
    this.figure.classList.add("att-charts");
    this.figure.append(...this.charts.map(({ element }) => element));
    this.lay(this.progress, this.steps, this.written, this.figure, this.tables, this.foot);
  }

  /** Announces the summary when there is a new score, not at every step. */
  #say() {
    if (this.scores.length !== this.announced) {
      this.announced = this.scores.length;
      this.announcer.say(this.model.get("summary"));
    }
  }

  writeTexts() {
    const total = this.model.get("steps");
    const done = this.losses.length;
    this.progress.setAttribute("aria-valuemax", total);
    this.progress.setAttribute("aria-valuenow", done);
    this.bar.style.width = `${(100 * done) / total}%`;
    this.steps.textContent = stepsDone(done, total, this.model.get("on_page"));
    this.#writeLines();
  }

  /** What the model wrote for the watched example, whenever it became another; wrong characters are underlined. */
  #writeLines() {
    const [source, answer] = this.model.get("watched");
    const lines = source ? changes(this.model.get("written")) : [];
    this.written.hidden = lines.length === 0;
    const rows = lines.map(([step, text]) => {
      const characters = [...text].map((character, at) =>
        character === answer[at]
          ? character
          : make("span", { class: "att-wrong", title: say("wrong"), text: character }),
      );
      const cell = make("td", {}, ...characters, text.length < answer.length ? "…" : "");
      return make("tr", {}, make("th", { scope: "row", text: say("step {step}", { step }) }), cell);
    });
    const text = say("“{source}” as the model writes it, with wrong characters underlined", { source });
    const caption = make("caption", { text });
    this.written.replaceChildren(caption, ...rows);
  }

  drawFigure(_shown, style) {
    const width = Math.floor(Math.min(460, (this.figure.clientWidth - 24) / (this.figure.clientWidth > 640 ? 2 : 1)));
    if (width < 100) {
      return; // on its way into the page or out of it
    }
    const total = this.model.get("steps");
    const ends = decades(this.losses);
    const lossTicks = Array.from({ length: ends[1] - ends[0] + 1 }, (_, at) => ends[0] + at);
    const points = [...this.losses].map((loss, at) => [(at + 1) / total, lossShare(loss, ends)]);
    const ticks = lossTicks.map((tick) => [between(tick, ends), powerOfTen(tick)]);
    chart(this.charts[0].canvas, { width, ticks, points, total }, style);
    const shares = this.scores.map(([step, share]) => [step / total, share]);
    const percents = [0, 0.25, 0.5, 0.75, 1].map((share) => [share, `${100 * share} %`]);
    chart(this.charts[1].canvas, { width, ticks: percents, points: shares, total, dots: true }, style);
  }

  tablesOf() {
    const at = new Map(this.scores.map(([step, share]) => [step, share]));
    const scored = this.scores.map(([step]) => step).filter((step) => step > 0);
    const steps = scored.length ? scored : chosenRows(this.losses.length, ROWS_IN_TABLE).map((row) => row + 1);
    const rows = steps.map((step) => {
      const share = at.has(step) ? `${Math.round(100 * at.get(step))} %` : "";
      return [String(step), lossInDigits(this.losses[step - 1]), share];
    });
    const heads = [say("step"), say("loss"), say(this.model.get("score"))];
    return [textTable(say("The training so far"), heads, rows)];
  }
}

/** A curve in a frame: `points` are shares of width and height, `ticks` [share of height, label]. */
function chart(canvas, { width, ticks, points, total, dots = false }, style) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(HEIGHT * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${HEIGHT}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const across = width - MARGIN.left - MARGIN.right;
  const up = HEIGHT - MARGIN.top - MARGIN.bottom;
  const place = ([x, y]) => [MARGIN.left + x * across, MARGIN.top + (1 - y) * up];
  drawFrame(context, { ticks, total, place }, style);
  context.strokeStyle = style.ink;
  context.fillStyle = style.ink;
  context.lineWidth = 2;
  context.beginPath();
  points.forEach((point, at) => {
    context[at ? "lineTo" : "moveTo"](...place(point));
  });
  context.stroke();
  for (const point of dots ? points : points.slice(-1)) {
    context.beginPath();
    context.arc(...place(point), 3, 0, 2 * Math.PI);
    context.fill();
  }
}

function drawFrame(context, { ticks, total, place }, style) {
  context.font = `11px ${style.font}`;
  context.fillStyle = style.muted;
  context.strokeStyle = style.muted;
  context.lineWidth = 0.5;
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const [share, label] of ticks) {
    const [x, y] = place([0, share]);
    context.fillText(label, x - 6, y);
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(place([1, share])[0], y);
    context.stroke();
  }
  context.textBaseline = "alphabetic";
  for (const share of [0, 0.5, 1]) {
    const [x, y] = place([share, 0]);
    context.textAlign = share === 1 ? "right" : share === 0 ? "left" : "center";
    const step = Math.round(share * total);
    context.fillText(share === 0 ? say("step {step}", { step }) : String(step), x, y + 16);
  }
}

export default rendering(TrainingMonitor);
