// A learner's progress: a table and a bar for each lesson, updated while it is visible.

import { make } from "./frame.js";
import { say } from "./say.js";
import { rendering, View } from "./view.js";

const SECONDS = 2;

const HEADS = [say("exercise"), say("state"), say("points"), say("tries")];

/** What the states of an exercise are called, as `grader/learner/progress.py` has them. */
const STATES = {
  passed: say("passed"),
  "passed-seen": say("passed, solution seen"),
  started: say("started"),
  "started-seen": say("started, solution seen"),
  "not-tried": say("not tried"),
  "not-tried-seen": say("not tried, solution seen"),
};

/** Rows of [lesson, exercise, state, points reached, points, tries] by lesson: its rows, and how many passed. */
export function byLesson(rows) {
  const lessons = new Map();
  for (const [lesson, ...row] of rows) {
    if (!lessons.has(lesson)) {
      lessons.set(lesson, { lesson, rows: [], passed: 0 });
    }
    const entry = lessons.get(lesson);
    entry.rows.push(row);
    entry.passed += row[1] === "passed" || row[1] === "passed-seen" ? 1 : 0;
  }
  return [...lessons.values()];
}

/** "01_self_attention" as a title: "01 · self attention". */
export function title(lesson) {
  const [number, ...words] = lesson.split("_");
  return `${number} · ${words.join(" ")}`;
}

function line([exercise, state, reached, points, tries]) {
  return make(
    "tr",
    { class: `att-${state}` },
    make("th", { scope: "row" }, make("code", { text: exercise })),
    make("td", { text: STATES[state] }),
    make("td", { text: points ? say("{reached} of {points}", { reached, points }) : reached }),
    make("td", { text: tries }),
  );
}

function lessonTable({ lesson, rows, passed }, open) {
  const head = HEADS.map((text) => make("th", { scope: "col", text }));
  const meter = make("span", { class: "att-meter", "aria-hidden": "true" }, make("span"));
  meter.firstChild.style.width = `${(100 * passed) / rows.length}%`;
  const values = { lesson: title(lesson), passed, count: rows.length };
  const summary = make("summary", { text: say("{lesson}: {passed} of {count} passed", values) }, meter);
  const body = make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows.map(line)));
  return make("details", { open, "data-lesson": lesson }, summary, body);
}

class ProgressTable extends View {
  constructor(model, element) {
    super(say("Your progress"), model, element);
    this.lessons = make("div", { class: "att-progress" });
    this.told = make("p", { class: "att-sum" });
    this.lay(this.lessons, this.told);
    this.listen({
      "change:rows": () => this.#draw(),
      "change:told": () => this.#draw(),
      "change:summary": () => this.announcer.say(model.get("summary")),
    });
    this.#draw();
    const timer = setInterval(() => {
      if (!document.hidden && element.offsetParent) {
        model.send({ ask: "rows" });
      }
    }, SECONDS * 1000);
    this.atClose(() => clearInterval(timer));
  }

  #draw() {
    const isOpen = (lesson, at) => this.lessons.querySelector(`[data-lesson="${lesson}"]`)?.open ?? at < 2;
    const lessons = byLesson(this.model.get("rows"));
    this.lessons.replaceChildren(...lessons.map((entry, at) => lessonTable(entry, isOpen(entry.lesson, at))));
    this.told.textContent = this.model.get("told") ?? "";
    this.told.hidden = !this.told.textContent;
    this.finish();
  }
}

export default rendering(ProgressTable);
