// The base of every view: a named frame, listeners until it is closed, and at most one drawing for each picture.

import { Announcer, keepKeys, make, pageStyle, tableSwitch } from "./frame.js";
import { say, spoken } from "./say.js";

/** The default export of a view's module. anywidget calls `render`, and its return value when the view is removed. */
export function rendering(Kind) {
  return {
    render({ model, el }) {
      const view = new Kind(model, el);
      return () => view.close();
    },
  };
}

/** A view in its frame: `sum` describes the selection, `summary` shows the `sentence`, `announcer` is read aloud. */
export class View {
  #endings = [];

  constructor(name, model, root) {
    this.model = model;
    this.root = root;
    this.announcer = new Announcer();
    this.sum = make("p", { class: "att-sum" });
    this.summary = make("p", { class: "att-summary" });
    root.classList.add("att-view");
    root.setAttribute("role", "group");
    root.setAttribute("aria-label", name);
    if (spoken()) {
      root.lang = spoken();
    }
  }

  /** Ends listeners, timers and observers. */
  close() {
    for (const end of this.#endings) {
      end();
    }
  }

  /** Calls `end` when the view is closed. */
  atClose(end) {
    this.#endings.push(end);
  }

  /** Lays out the view's parts from top to bottom. */
  lay(...parts) {
    this.root.replaceChildren(...parts, this.announcer.element);
  }

  /** Lets the model call `listeners`, by the names of their events, until the view is closed. */
  listen(listeners) {
    for (const [name, listener] of Object.entries(listeners)) {
      this.model.on(name, listener);
      this.atClose(() => this.model.off(name, listener));
    }
  }

  /** Sets traits, by name, here and in Python, which answers. */
  set(state) {
    this.model.set(state);
    this.model.save_changes();
  }

  /** Sets what is chosen, by name, here alone: for a view that needs no answer. */
  choose(choices) {
    this.model.set(choices);
  }

  /** Chooses what isn't chosen yet. The model has it, not the view, which JupyterLab may make anew. */
  begin(choices) {
    this.choose(Object.fromEntries(Object.entries(choices).filter(([name]) => this.model.get(name) === undefined)));
  }

  /** The view in a sentence: what Python answered, unless the view itself computes. */
  sentence() {
    return this.model.get("summary");
  }

  /** Ends a drawing: shows the sentence, and dispatches `att-drawn`. */
  finish() {
    this.summary.textContent = this.sentence();
    this.root.dispatchEvent(new CustomEvent("att-drawn"));
  }
}

/**
 * A view with a figure, which a button turns into tables, and with a `selected` cell. A subclass defines
 * - `prepare()`: the data `shown`, for the methods below; null when nothing can be drawn now,
 * - `drawFigure(shown, style)`, called only while the figure has a width, and `tablesOf(shown)`,
 * - `writeTexts(shown)`: the texts around them,
 * - `words()`: the announcement when a key selects a cell.
 * `schedule` draws all of it again.
 */
export class Picture extends View {
  #missed = false; // whether the figure had no width at the last drawing

  constructor(name, model, root) {
    super(name, model, root);
    this.selected = { row: 0, column: 0 };
    this.schedule = oncePerPicture(() => this.#draw());
    this.figure = make("div", { class: "att-figure" });
    this.tables = make("div", { class: "att-tables", hidden: true });
    this.legend = make("div", { class: "att-legend" });
    this.foot = make("div", { class: "att-foot" }, tableSwitch(this.figure, this.tables, this.schedule), this.summary);
    this.atClose(this.schedule.cancel);
  }

  /** Draws the view, and again when the model (by `listeners`), the theme or the width changes or it comes into sight. */
  follow(listeners) {
    this.listen({ "change:summary": this.schedule, ...listeners });
    this.atClose(watchPage(this.root, this.schedule));
    this.schedule();
  }

  /** Selects a cell, by "key" or by "pointer". Only a key's selection is announced. */
  select(to, how) {
    this.selected = to;
    if (how === "key") {
      this.announcer.say(this.words());
    }
    this.schedule();
  }

  prepare() {
    return {};
  }

  drawFigure() {}

  writeTexts() {}

  #draw() {
    const shown = this.prepare();
    if (!shown) {
      return;
    }
    if (!this.tables.hidden) {
      this.tables.replaceChildren(...this.tablesOf(shown));
    } else if (this.figure.clientWidth) {
      this.#missed = false;
      this.drawFigure(shown, pageStyle(this.root));
      scrollByKeyboard(this.figure);
    } else if (!this.#missed) {
      // Out of the page. `watchPage` may miss that the view is already back, so try once more.
      this.#missed = true;
      this.schedule();
    }
    this.writeTexts(shown);
    this.finish();
  }
}

/** Lets a figure that is wider than its place have the focus, so that keys scroll it; not if something in it can. */
function scrollByKeyboard(figure) {
  if (figure.scrollWidth > figure.clientWidth && !figure.querySelector("[tabindex], button, input")) {
    keepKeys(figure);
    figure.tabIndex = 0;
    figure.setAttribute("role", "group");
    figure.setAttribute("aria-label", say("Figure"));
  } else {
    for (const name of ["tabindex", "role", "aria-label"]) {
      figure.removeAttribute(name);
    }
  }
}

/** Runs `draw` at most once before the next picture. */
function oncePerPicture(draw) {
  let waiting = 0;
  const schedule = () => {
    if (!waiting) {
      waiting = requestAnimationFrame(() => {
        waiting = 0;
        draw();
      });
    }
  };
  schedule.cancel = () => cancelAnimationFrame(waiting);
  return schedule;
}

/**
 * Calls `redraw` when the theme or the width changes, and when the view comes back into sight: JupyterLab removes cells
 * that are out of sight from the page, where they have no width. Returns a function that ends it.
 */
function watchPage(root, redraw) {
  const theme = new MutationObserver(redraw);
  const attributeFilter = ["class", "data-jp-theme-name", "data-jp-theme-light", "data-vscode-theme-id"];
  theme.observe(document.body, { attributes: true, attributeFilter });
  theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] }); // the course's site
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", redraw);
  let width = root.clientWidth;
  const size = new ResizeObserver(() => {
    if (root.clientWidth !== width) {
      width = root.clientWidth;
      redraw();
    }
  });
  size.observe(root);
  const sight = new IntersectionObserver((changes) => {
    if (changes.some((change) => change.isIntersecting)) {
      redraw();
    }
  });
  sight.observe(root);
  return () => {
    theme.disconnect();
    system.removeEventListener("change", redraw);
    size.disconnect();
    sight.disconnect();
  };
}
