// Runs the lessons' views on a page without a kernel. A figure holds the stored picture of a view; when it comes near the
// window, its state, the view's own module and what answers in Python's place are loaded, and the view takes the place of
// the picture. Where anything fails, the picture stays, with a sentence.
//
// `live_views.py` writes all files as plain scripts, which a page may load from a disk, too. They put themselves into
// `window.courseViews`: modules as { view, answer } by name, states by "lesson/cell-order".

import { say } from "../grader/views/say.js";

const NEAR = "500px"; // how far from the window a view is loaded

/** The bytes of a base64 text, as a view's trait holds them. */
function bytesOf(text) {
  return new DataView(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer);
}

/** Values by name as the build has stored them, their bytes as DataViews. */
export function unstored(values) {
  const plain = (value) => (typeof value?.base64 === "string" ? bytesOf(value.base64) : value);
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, plain(value)]));
}

/** Whether two values are the same. Bytes count as new ones, whatever they are. */
function isSame(one, other) {
  const isList = typeof one === "object" && !(one instanceof DataView);
  return Object.is(one, other) || (isList && JSON.stringify(one) === JSON.stringify(other));
}

/**
 * What a view takes for its model, with the methods of anywidget's. `answer(state, changed)`, if there is one, says what
 * Python would have set after the browser's changes; it is called after the view has had its turn, as the kernel's
 * answer comes later, too. `failed` is called with what it throws.
 */
export class Model {
  #listeners = new Map();
  #changed = new Set();
  #waiting = false;

  constructor({ traits, kept }, answer, failed) {
    this.traits = { ...unstored(traits), on_page: true };
    this.kept = unstored(kept);
    this.answer = answer;
    this.failed = failed;
  }

  get(name) {
    return this.traits[name];
  }

  set(name, value) {
    for (const changed of this.#put(typeof name === "string" ? { [name]: value } : name)) {
      this.#changed.add(changed);
    }
  }

  save_changes() {
    if (this.answer && this.#changed.size && !this.#waiting) {
      this.#waiting = true;
      setTimeout(() => this.#ask());
    }
  }

  on(event, listener) {
    this.#listeners.set(event, [...(this.#listeners.get(event) ?? []), listener]);
  }

  off(event, listener) {
    const left = (this.#listeners.get(event) ?? []).filter((other) => listener && other !== listener);
    this.#listeners.set(event, left);
  }

  /** Nobody hears it. */
  send() {}

  #ask() {
    const changed = [...this.#changed];
    this.#changed.clear();
    this.#waiting = false;
    try {
      this.#put(this.answer({ ...this.traits, kept: this.kept }, changed));
    } catch (error) {
      this.failed(error);
    }
  }

  /** Sets traits, then tells of those that are not what they were; returns their names. */
  #put(values) {
    const changed = Object.keys(values).filter((name) => !isSame(values[name], this.traits[name]));
    Object.assign(this.traits, values);
    for (const event of [...changed.map((name) => `change:${name}`), ...(changed.length ? ["change"] : [])]) {
      for (const listener of this.#listeners.get(event) ?? []) {
        listener();
      }
    }
    return changed;
  }
}

/** Loads a script once. */
function loader(folder) {
  const loaded = new Map();
  return (file) => {
    if (!loaded.has(file)) {
      const script = document.createElement("script");
      const done = new Promise((resolve, reject) => {
        script.onload = resolve;
        script.onerror = () => reject(new Error(say("{file} can't be read", { file })));
      });
      script.src = new URL(file, folder).href;
      document.head.append(script);
      loaded.set(file, done);
    }
    return loaded.get(file);
  };
}

/** Puts a live view into a figure, whose style then shows what was there on paper alone. */
async function show(figure, load) {
  const { view: name, lesson, cell, order } = figure.dataset;
  const key = `${lesson}/${cell}-${order}`;
  const place = document.createElement("div");
  figure.append(place);
  let close = () => {};
  const fail = (error) => {
    close();
    const sentence = document.createElement("p");
    const reason = error.message;
    sentence.textContent = say("This view doesn't run on this page ({reason}), but it does in the notebook.", {
      reason,
    });
    place.replaceWith(sentence);
    figure.dataset.live = "failed";
  };
  try {
    await Promise.all([load(`${name}.js`), load(`states/${key}.js`)]);
    const { views, states } = window.courseViews;
    figure.dataset.live = "yes"; // before the view is drawn, which needs its width
    const model = new Model(states[key], views[name].answer, fail);
    close = views[name].view.render({ model, el: place });
  } catch (error) {
    fail(error);
  }
}

/** Opens the fold with the answer of a prediction: the first one behind its figure. */
function answer(figure) {
  const folds = [...document.querySelectorAll(".tag_hide-output details")];
  const fold = folds.find((one) => figure.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);
  if (fold) {
    fold.open = true;
  }
}

/** Shows each view of the page when it comes near the window. All files lie in `folder`, an address. */
export function start(folder) {
  window.courseViews = { views: {}, states: {} };
  const load = loader(folder);
  const sight = new IntersectionObserver(
    (changes) => {
      for (const { isIntersecting, target } of changes) {
        if (isIntersecting) {
          sight.unobserve(target);
          show(target, load);
        }
      }
    },
    { rootMargin: NEAR },
  );
  for (const figure of document.querySelectorAll("figure[data-view]")) {
    sight.observe(figure);
    figure.addEventListener("att-answer", () => answer(figure));
  }
}
