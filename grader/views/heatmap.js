// A matrix as coloured cells on a canvas: fast at 48 x 48, sharp on every screen, and operable by keyboard.

import { cividis, css, inkOn, shareOf } from "./colour.js";
import { keepKeys } from "./frame.js";
import { entry, written } from "./numbers.js";

const LARGEST_CELL = 56;
const SMALLEST_CELL = 5;
const NUMBERS_FROM = 30; // pixels: smaller cells have no room for numbers
const LABELS_FROM = 11;
const TINY = 16; // pixels: smaller cells of a small matrix are worth another line
const MOST_ON_A_PHONE = 12; // columns

/**
 * The side of a cell, in whole pixels, with which `columns` cells fit into `width`, within limits. Matrices side by side,
 * of which the widest has `widest` columns, are put below each other instead where their cells would be tiny.
 */
export function cellSize(width, columns, widest = Infinity) {
  const fitting = Math.floor((width - 1) / columns); // the browser may have rounded the width up
  const side = Math.max(SMALLEST_CELL, Math.min(LARGEST_CELL, fitting));
  return side < TINY && widest <= MOST_ON_A_PHONE ? NUMBERS_FROM : side;
}

/** The cell to which an arrow key (or Home, End, with Ctrl to the corners) leads; null for any other key. */
export function moved(key, ctrl, { row, column }, { rows, columns }) {
  const inside = (to) => ({
    row: Math.min(Math.max(to.row, 0), rows - 1),
    column: Math.min(Math.max(to.column, 0), columns - 1),
  });
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  if (key in steps) {
    return inside({ row: row + steps[key][0], column: column + steps[key][1] });
  }
  if (key === "Home") {
    return { row: ctrl ? 0 : row, column: 0 };
  }
  return key === "End" ? { row: ctrl ? rows - 1 : row, column: columns - 1 } : null;
}

/** A text cut to `width` pixels as `measure` counts them. */
export function fitted(text, width, measure) {
  if (measure(text) <= width) {
    return text;
  }
  let kept = text.length - 1;
  while (kept > 0 && measure(`${text.slice(0, kept)}…`) > width) {
    kept -= 1;
  }
  return kept > 0 ? `${text.slice(0, kept)}…` : "";
}

/**
 * One heatmap. With `onSelect` it can have the focus, arrow keys move in it, and a screen reader gets role "application".
 * `onKey` gets every other key and returns whether it used it. `onPaint` gets the pressed cell (with true) and the cells
 * that the pressed pointer then moves over (with false).
 */
export class Heatmap {
  constructor(onSelect, { onKey = null, onPaint = null } = {}) {
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("aria-hidden", "true");
    this.element = document.createElement("div");
    this.element.className = "att-heatmap";
    this.element.append(this.canvas);
    this.picture = null;
    this.onSelect = onSelect;
    this.onKey = onKey;
    this.onPaint = onPaint;
    if (onPaint) {
      this.canvas.style.touchAction = "none"; // a finger paints, it doesn't scroll
    }
    if (onSelect) {
      this.element.tabIndex = 0;
      keepKeys(this.element);
      this.element.setAttribute("role", "application");
      this.element.addEventListener("keydown", (event) => this.#onKey(event));
      this.canvas.addEventListener("pointermove", (event) => this.#onPointer(event));
      this.canvas.addEventListener("pointerdown", (event) => this.#onPointer(event));
    }
  }

  /**
   * `picture`: matrix, low, high (the ends of the colour scale), rowLabels, columnLabels, cell (pixels), and the marks:
   * selected {row, column}, row, column. `look(row, column, value)` may give a cell another `text`, or make it `hatched`
   * (like NaN and infinity), `plain` (no colour), `strong` (bold) or `marked` (a dot). Cells beyond `reach`
   * {rows, columns} are shown but can't be selected.
   */
  draw(picture, style) {
    this.picture = picture;
    const context = this.#prepare(picture, style);
    this.#drawCells(context, picture, style);
    if (picture.cell >= LABELS_FROM) {
      this.#drawLabels(context, picture, style);
    }
    this.#drawMarks(context, picture, style);
  }

  /** The width of the row labels, in pixels. */
  static gutter(labels, cell, style) {
    if (cell < LABELS_FROM) {
      return 2;
    }
    const context = measuring(style, cell);
    return Math.min(90, Math.ceil(Math.max(...labels.map((label) => context.measureText(label).width))) + 8);
  }

  #prepare({ matrix, cell, rowLabels }, style) {
    this.left = Heatmap.gutter(rowLabels, cell, style);
    this.top = cell >= LABELS_FROM ? 20 : 2;
    const width = this.left + matrix.columns * cell + 2;
    const height = this.top + matrix.rows * cell + 2;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return context;
  }

  #drawCells(context, { matrix, low, high, cell, look }, style) {
    const side = cell > 12 ? cell - 1 : cell;
    context.font = `${Math.min(13, Math.round(cell * 0.3))}px sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let row = 0; row < matrix.rows; row += 1) {
      for (let column = 0; column < matrix.columns; column += 1) {
        const value = entry(matrix, row, column);
        const cellLook = { text: written(value), hatched: !Number.isFinite(value), ...look?.(row, column, value) };
        const place = [...this.#corner(row, column, cell), side];
        const ink = cellLook.hatched || cellLook.plain ? drawEmpty(context, place, cellLook, style) : null;
        drawCell(context, place, ink ?? drawColour(context, place, shareOf(value, low, high)), cellLook, style);
      }
    }
  }

  #drawLabels(context, { matrix, reach = matrix, cell, rowLabels, columnLabels }, style) {
    const measure = (text) => context.measureText(text).width;
    context.font = labelFont(style, cell);
    context.fillStyle = style.muted;
    context.textAlign = "right";
    for (let row = 0; row < matrix.rows; row += 1) {
      const [x, y] = this.#corner(row, 0, cell);
      context.fillText(fitted(rowLabels[row], this.left - 6, measure), x - 6, y + cell / 2);
    }
    context.textAlign = "center";
    const fit = columnLabels.slice(0, reach.columns).every((label) => measure(label) <= cell - 2);
    for (let column = 0; column < matrix.columns; column += 1) {
      const [x, y] = this.#corner(0, column, cell);
      const label = fit || column >= reach.columns ? columnLabels[column] : String(column);
      context.fillText(label, x + cell / 2, y - 9);
    }
  }

  #drawMarks(context, { matrix, reach = matrix, cell, selected, row, column }, style) {
    const box = (top, left, rows, columns) => {
      const [x, y] = this.#corner(top, left, cell);
      const size = [columns * cell, rows * cell];
      // Two lines, so that one of them is visible on any colour.
      context.lineWidth = 3;
      context.strokeStyle = style.paper;
      context.strokeRect(x - 0.5, y - 0.5, ...size);
      context.lineWidth = 1.5;
      context.strokeStyle = style.ink;
      context.strokeRect(x - 0.5, y - 0.5, ...size);
    };
    if (row !== undefined) {
      box(row, 0, 1, reach.columns);
    }
    if (column !== undefined) {
      box(0, column, reach.rows, 1);
    }
    if (selected) {
      box(selected.row, selected.column, 1, 1);
    }
  }

  #corner(row, column, cell) {
    return [this.left + column * cell, this.top + row * cell];
  }

  #onKey(event) {
    const { selected, matrix, reach = matrix } = this.picture;
    const to = moved(event.key, event.ctrlKey, selected, reach);
    if (to) {
      this.#select(to, "key");
    }
    if (to || this.onKey?.(event)) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  /** Selects at once, since the next key may come before the next picture. */
  #select(to, how) {
    this.picture.selected = to;
    this.onSelect(to, how);
  }

  #onPointer(event) {
    const { matrix, reach = matrix, cell, selected } = this.picture;
    const row = Math.floor((event.offsetY - this.top) / cell);
    const column = Math.floor((event.offsetX - this.left) / cell);
    const inside = row >= 0 && column >= 0 && row < reach.rows && column < reach.columns;
    const isNew = inside && (row !== selected.row || column !== selected.column);
    if (isNew) {
      this.#select({ row, column }, "pointer");
    }
    const isPress = event.type === "pointerdown";
    if (inside && event.buttons & 1 && (isNew || isPress)) {
      this.onPaint?.({ row, column }, isPress);
    }
  }
}

/** Draws paper, hatched or plain. Returns the ink to write on it. */
function drawEmpty(context, [x, y, side], { hatched }, style) {
  context.save();
  context.beginPath();
  context.rect(x, y, side, side);
  context.clip();
  context.fillStyle = style.paper;
  context.fill();
  context.strokeStyle = style.muted;
  context.lineWidth = 0.5;
  for (let at = 6; hatched && at < 2 * side; at += 6) {
    context.beginPath();
    context.moveTo(x + at, y);
    context.lineTo(x, y + at);
    context.stroke();
  }
  if (hatched) {
    context.strokeRect(x, y, side, side);
  }
  context.restore();
  return style.ink;
}

function drawColour(context, [x, y, side], share) {
  const colour = cividis(share);
  context.fillStyle = css(colour);
  context.fillRect(x, y, side, side);
  return inkOn(colour);
}

/** Draws a cell's text (outlined on hatching) and its mark. */
function drawCell(context, [x, y, side], ink, { text, hatched, strong, marked }, style) {
  const [middle, centre] = [x + side / 2, y + side / 2];
  if (side >= NUMBERS_FROM - 1) {
    if (hatched) {
      context.lineWidth = 5;
      context.lineJoin = "round";
      context.strokeStyle = style.paper;
      context.strokeText(text, middle, centre, side - 2);
    }
    context.fillStyle = ink;
    const { font } = context;
    context.font = strong ? `bold ${font}` : font;
    context.fillText(text, middle, centre, side - 2); // squeezed, not over its neighbour
    context.font = font;
  }
  if (marked) {
    context.fillStyle = ink;
    context.beginPath();
    context.arc(x + side - 7, y + 7, Math.min(4, side / 8), 0, 2 * Math.PI);
    context.fill();
  }
}

function labelFont(style, cell) {
  return `${cell >= 24 ? 12 : 10}px ${style.font}`;
}

function measuring(style, cell) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = labelFont(style, cell);
  return context;
}
