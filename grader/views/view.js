// What every view is: a frame with a name, what it listens to until it is closed, and one drawing before each picture.

import { Announcer, make, pageStyle, tableSwitch } from "./frame.js";

/** What a view's module exports. anywidget calls `render`, and what that returns when the view goes. */
export function rendering(Kind) {
  return {
    render({ model, el }) {
      const view = new Kind(model, el);
      return () => view.close();
    },
  };
}

/** A view in its frame: `sum` tells of what is selected, `summary` is Python's sentence, `announcer` is heard. */
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
  }

  /** Ends everything that outlives the elements. */
  close() {
    for (const end of this.#endings) {
      end();
    }
  }

  /** Has `end` called when the view is closed. */
  atClose(end) {
    this.#endings.push(end);
  }

  /** What is to be seen, from top to bottom. */
  lay(...parts) {
    this.root.replaceChildren(...parts, this.announcer.element);
  }

  /** Has the model call `listeners` by the names of their events, until the view is closed. */
  listen(listeners) {
    for (const [name, listener] of Object.entries(listeners)) {
      this.model.on(name, listener);
      this.atClose(() => this.model.off(name, listener));
    }
  }

  /** Sets traits, by name, here and in Python. */
  set(state) {
    this.model.set(state);
    this.model.save_changes();
  }

  /** Ends a drawing: brings in the summary, and says that the view is drawn. */
  finish() {
    this.summary.textContent = this.model.get("summary");
    this.root.dispatchEvent(new CustomEvent("att-drawn"));
  }
}

/**
 * A view with a figure, which a button turns into tables, and with a cell that is `selected`. Its class says
 * - `prepare()`: what is to be shown, for the methods below; null when nothing can be drawn now,
 * - `drawFigure(shown, style)`, called only while there is room for it, and `tablesOf(shown)`, for the tables,
 * - `tell(shown)`: what is written around them,
 * - `words()`: what is said when a key selects a cell.
 * `schedule` has all of it drawn anew.
 */
export class Picture extends View {
  #missed = false; // whether the last drawing found no room

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

  /** Follows the model by `listeners`, and the page: its theme, its width, whether the view is in sight. */
  follow(listeners) {
    this.listen({ "change:summary": this.schedule, ...listeners });
    this.atClose(watchPage(this.root, this.schedule));
    this.schedule();
  }

  /** A cell is selected, by "key" or by "pointer". Only what a key does is said aloud. */
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

  tell() {}

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
    } else if (!this.#missed) {
      // Out of the page. `watchPage` tells when it is back, unless that is sooner than anybody looks: so once more.
      this.#missed = true;
      this.schedule();
    }
    this.tell(shown);
    this.finish();
  }
}

/** Runs `draw` once before the next picture, however often it is asked to. */
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
 * Calls `redraw` when the theme or the width changes, and when the view comes back into sight: JupyterLab takes cells
 * that are out of sight out of the page, and what is drawn then has no width. Returns what ends that.
 */
function watchPage(root, redraw) {
  const theme = new MutationObserver(redraw);
  const attributeFilter = ["class", "data-jp-theme-name", "data-jp-theme-light", "data-vscode-theme-id"];
  theme.observe(document.body, { attributes: true, attributeFilter });
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
