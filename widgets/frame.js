// What every view shares: its root, its colours in either theme, what it says to a screen reader, its table.

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

/** A matrix as a table with headings: what a heatmap says, for a screen reader or for copying. */
export function table(caption, matrix, rowLabels, columnLabels) {
  const head = make("tr", {}, make("td"), ...columnLabels.map((text) => make("th", { scope: "col", text })));
  const rows = rowLabels.map((text, row) => {
    const cells = Array.from({ length: matrix.columns }, (_, column) =>
      make("td", { text: written(matrix.values[row * matrix.columns + column]) }),
    );
    return make("tr", {}, make("th", { scope: "row", text }), ...cells);
  });
  return make("table", {}, make("caption", { text: caption }), make("thead", {}, head), make("tbody", {}, ...rows));
}
