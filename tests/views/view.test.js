import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { Picture, rendering } from "../../grader/views/view.js";

/** As much of a page as a view needs: elements that hold what they are given, and frames that come when they are called. */
let frames;
let watching;

class Element {
  constructor() {
    Object.assign(this, { attributes: {}, children: [], clientWidth: 300, dataset: {}, drawn: 0, hidden: false });
    this.classList = { add: (name) => this.setAttribute("class", name) };
  }
  addEventListener(name, listener) {
    this[name] = listener;
  }
  append(...children) {
    this.children.push(...children);
  }
  dispatchEvent({ type }) {
    this.drawn += type === "att-drawn" ? 1 : 0;
  }
  replaceChildren(...children) {
    this.children = children;
  }
  setAttribute(name, value) {
    this.attributes[name] = value;
    this.hidden ||= name === "hidden";
  }
  removeAttribute(name) {
    delete this.attributes[name];
  }
  querySelector() {
    return null;
  }
}

class Observer {
  constructor(notice) {
    this.notice = notice;
  }
  observe() {
    watching.add(this);
  }
  disconnect() {
    watching.delete(this);
  }
}

class Model {
  listeners = new Map();
  state = { summary: "One sentence." };
  saved = 0;
  get(name) {
    return this.state[name];
  }
  set(state) {
    Object.assign(this.state, state);
  }
  save_changes() {
    this.saved += 1;
  }
  on(name, listener) {
    this.listeners.set(name, listener);
  }
  off(name, listener) {
    assert.equal(this.listeners.get(name), listener);
    this.listeners.delete(name);
  }
}

class Sample extends Picture {
  constructor(model, element) {
    super("Sample", model, element);
    this.calls = [];
    this.lay(this.figure, this.tables, this.sum, this.foot);
    this.follow({ "change:step": this.schedule });
    element.view = this;
  }
  prepare() {
    return this.model.get("nothing") ? null : { text: "here" };
  }
  drawFigure(shown) {
    this.calls.push(["figure", shown.text]);
  }
  tablesOf(shown) {
    return [["table", shown.text]];
  }
  writeTexts(shown) {
    this.sum.textContent = shown.text;
  }
  words() {
    return "said";
  }
}

beforeEach(() => {
  frames = [];
  watching = new Set();
  const system = {
    addEventListener: () => watching.add("system"),
    removeEventListener: () => watching.delete("system"),
  };
  Object.assign(globalThis, {
    document: { createElement: () => new Element(), body: new Element() },
    window: { matchMedia: () => system },
    getComputedStyle: () => ({ fontFamily: "sans-serif", getPropertyValue: () => "" }),
    requestAnimationFrame: (call) => frames.push(call),
    cancelAnimationFrame: (number) => frames.splice(number - 1, 1),
    CustomEvent: class {
      constructor(type) {
        this.type = type;
      }
    },
    MutationObserver: Observer,
    ResizeObserver: Observer,
    IntersectionObserver: Observer,
  });
});

/** A view, and what ends it. */
function opened() {
  const [model, el] = [new Model(), new Element()];
  const close = rendering(Sample).render({ model, el });
  return { model, el, close, view: el.view };
}

/** The next picture. */
function frame() {
  for (const call of frames.splice(0)) {
    call();
  }
}

test("a view has a name, its parts and what is read out", () => {
  const { el, view } = opened();
  assert.deepEqual(el.attributes, { class: "att-view", role: "group", "aria-label": "Sample" });
  assert.deepEqual(el.children, [view.figure, view.tables, view.sum, view.foot, view.announcer.element]);
});

test("it draws once before a picture, however often it is asked to", () => {
  const { el, model, view } = opened();
  view.schedule();
  model.listeners.get("change:step")();
  model.listeners.get("change:summary")();
  assert.deepEqual(view.calls, []);
  frame();
  assert.deepEqual(view.calls, [["figure", "here"]]);
  assert.equal(view.sum.textContent, "here");
  assert.equal(view.summary.textContent, "One sentence.");
  assert.equal(el.drawn, 1);
  assert.equal(frames.length, 0);
});

test("a figure that is wider than its place can have the focus, for keys to scroll it", () => {
  const { view } = opened();
  view.figure.scrollWidth = 400;
  frame();
  assert.deepEqual([view.figure.tabIndex, view.figure.attributes.role], [0, "group"]);
});

test("tables are filled while they are seen, the figure isn't drawn then", () => {
  const { view } = opened();
  view.tables.hidden = false;
  frame();
  assert.deepEqual(view.tables.children, [["table", "here"]]);
  assert.deepEqual(view.calls, []);
});

test("without room it tries once more, and then waits until it is called", () => {
  const { view } = opened();
  view.figure.clientWidth = 0;
  frame();
  view.figure.clientWidth = 300;
  frame();
  assert.equal(view.calls.length, 1);
  view.figure.clientWidth = 0;
  view.schedule();
  frame();
  frame();
  assert.equal(frames.length, 0);
  view.figure.clientWidth = 300;
  view.schedule();
  frame();
  assert.equal(view.calls.length, 2);
});

test("nothing is drawn while there is nothing to show", () => {
  const { el, model, view } = opened();
  model.state.nothing = true;
  frame();
  assert.deepEqual([view.calls, view.sum.textContent, el.drawn], [[], undefined, 0]);
});

test("a key says what it selects, the pointer doesn't", () => {
  const { view } = opened();
  const texts = [];
  view.announcer.say = (text) => texts.push(text);
  view.select({ row: 1, column: 2 }, "pointer");
  view.select({ row: 2, column: 2 }, "key");
  assert.deepEqual(texts, ["said"]);
  assert.deepEqual(view.selected, { row: 2, column: 2 });
});

test("what is set goes to Python", () => {
  const { model, view } = opened();
  view.set({ step: 2 });
  assert.deepEqual([model.state.step, model.saved], [2, 1]);
});

test("what is chosen stays here, and is not chosen twice", () => {
  const { model, view } = opened();
  view.begin({ row: 1, summary: "Another one." });
  view.choose({ row: 2 });
  view.begin({ row: 1 });
  assert.deepEqual([model.state.row, model.state.summary, model.saved], [2, "One sentence.", 0]);
});

test("a change of the page draws it anew", () => {
  const { el, view } = opened();
  frame();
  const [theme, , size, sight] = watching;
  theme.notice();
  frame();
  size.notice();
  frame();
  assert.equal(view.calls.length, 2); // the same width
  el.clientWidth = 200;
  size.notice();
  frame();
  sight.notice([{ isIntersecting: false }]);
  frame();
  assert.equal(view.calls.length, 3);
  sight.notice([{ isIntersecting: true }]);
  frame();
  assert.equal(view.calls.length, 4);
});

test("a view that is closed listens to nothing and draws nothing", () => {
  const { close, model, view } = opened();
  assert.deepEqual([...model.listeners.keys()], ["change:summary", "change:step"]);
  assert.equal(watching.size, 4);
  close();
  assert.deepEqual([model.listeners.size, watching.size], [0, 0]);
  frame();
  assert.deepEqual(view.calls, []);
});
