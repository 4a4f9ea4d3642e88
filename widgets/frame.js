// What every view shares: its root, its colours in either theme, what it says to a screen reader, its table.

import { cividis, css } from "./colour.js";
import { written } from "./numbers.js";

/**
 * Leaves an element's keys to itself. JupyterLab takes arrow keys, Enter and single letters for its own before a widget
 * sees them; what may have the focus has to say so itself, an ancestor's word doesn't count.
 */
export function keepKeys(element) {
  element.dataset.lmSuppressShortcuts = "true";
}

/** A new element with attributes (`class`, `text`, `on…` among them) and children. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  if (["button", "input", "summary"].includes(tag)) {
    keepKeys(element);
  }
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") {
      element.textContent = value;
    } else if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value);
    } else if (value !== false && value !== undefined) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children);
  return element;
}

/** The colours and the font that a canvas draws with, as the page's theme has them now. */
export function pageStyle(root) {
  const computed = getComputedStyle(root);
  const colour = (name) => computed.getPropertyValue(name).trim();
  return {
    ink: colour("--att-ink") || "#000000",
    muted: colour("--att-muted") || "#555555",
    paper: colour("--att-paper") || "#ffffff",
    font: computed.fontFamily,
  };
}

/**
 * Calls `redraw` when the theme or the width changes, and when the view comes back into sight: JupyterLab takes cells
 * that are out of sight out of the page, and what is drawn then has no width. Returns what ends that.
 */
export function watchPage(root, redraw) {
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

/** Has the model call `listeners` by the names of their events. Returns what ends that. */
export function listen(model, listeners) {
  for (const [name, listener] of Object.entries(listeners)) {
    model.on(name, listener);
  }
  return () => {
    for (const [name, listener] of Object.entries(listeners)) {
      model.off(name, listener);
    }
  };
}

/** Runs `draw` once before the next picture, however often it is asked to. */
export function oncePerPicture(draw) {
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

/** A region that is read out, not seen. Only the last of several quick messages is said. */
export class Announcer {
  constructor() {
    this.element = make("div", { class: "att-unseen", "aria-live": "polite", "aria-atomic": "true" });
    this.timer = 0;
  }

  say(text) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.element.textContent = text;
    }, 150);
  }
}

/** What a legend shows: the colours of the scale between its two ends, and whose they are. */
export function colourScale(name, [low, high]) {
  const stops = Array.from({ length: 9 }, (_, at) => css(cividis(at / 8))).join(", ");
  const bar = make("span", { class: "att-bar", "aria-hidden": "true" });
  bar.style.background = `linear-gradient(to right, ${stops})`;
  return [`Colours of ${name}: ${written(low)} `, bar, ` ${written(high)}`];
}

/** A matrix as a table with headings: what a heatmap says, for a screen reader or for copying. */
export function table(caption, matrix, rowLabels, columnLabels, write = written) {
  const head = make("tr", {}, make("td"), ...columnLabels.map((text) => make("th", { scope: "col", text })));
  const rows = rowLabels.map((text, row) => {
    const cells = Array.from({ length: matrix.columns }, (_, column) =>
      make("td", { text: write(matrix.values[row * matrix.columns + column]) }),
    );
    return make("tr", {}, make("th", { scope: "row", text }), ...cells);
  });
  return make("table", {}, make("caption", { text: caption }), make("thead", {}, head), make("tbody", {}, ...rows));
}

/** A button that shows `tables` in place of `figure`, and back. `redraw` fills whichever is to be seen. */
export function tableSwitch(figure, tables, redraw) {
  // Long tables scroll, by keyboard too.
  tables.tabIndex = 0;
  tables.setAttribute("role", "group");
  tables.setAttribute("aria-label", "Tables");
  keepKeys(tables);
  const flip = () => {
    tables.hidden = !tables.hidden;
    figure.hidden = !tables.hidden;
    button.setAttribute("aria-pressed", String(!tables.hidden));
    redraw();
  };
  const button = make("button", { type: "button", text: "Show as table", "aria-pressed": "false", onclick: flip });
  return button;
}

/** Numbered buttons, one a step, with Back and Next. `go` is called with the number of the wanted step, from 1. */
export class Stepper {
  constructor(names, go) {
    const button = (attributes, ...inside) => make("button", { type: "button", ...attributes }, ...inside);
    this.at = 1;
    this.buttons = names.map((name, place) => {
      const number = make("span", { class: "att-number", text: String(place + 1) });
      return button({ class: "att-step", onclick: () => go(place + 1) }, number, name);
    });
    this.back = button({ text: "Back", onclick: () => go(this.at - 1) });
    this.next = button({ text: "Next", onclick: () => go(this.at + 1) });
    const list = make("ol", { class: "att-steps" }, ...this.buttons.map((step) => make("li", {}, step)));
    const attributes = { class: "att-stepper", role: "group", "aria-label": "Steps" };
    this.element = make("div", attributes, list, this.back, this.next);
  }

  /** Marks step `at`, from 1, as the present one. */
  show(at) {
    this.at = at;
    this.buttons.forEach((step, place) => {
      step.toggleAttribute("aria-current", false);
      if (place === at - 1) {
        step.setAttribute("aria-current", "step");
      }
    });
    this.back.disabled = at === 1;
    this.next.disabled = at === this.buttons.length;
  }
}

/** Buttons of which one is pressed, or none. `pick` is called with the wanted one's name. */
export class Choice {
  constructor(label, names, pick) {
    this.buttons = names.map((text) => make("button", { type: "button", text, onclick: () => pick(text) }));
    const caption = make("span", { class: "att-caption", "aria-hidden": "true", text: `${label}:` });
    const attributes = { class: "att-choice", role: "group", "aria-label": label };
    this.element = make("div", attributes, caption, ...this.buttons);
  }

  /** Shows which one it is. */
  show(name) {
    for (const button of this.buttons) {
      button.setAttribute("aria-pressed", String(button.textContent === name));
    }
  }
}
