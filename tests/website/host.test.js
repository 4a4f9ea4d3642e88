import assert from "node:assert/strict";
import { test } from "node:test";
import { Model, unstored } from "../../website/host.js";

const STATE = { traits: { step: 1, sizes: [2, 3], table: { base64: "AQI=" }, summary: "one" }, kept: { extra: 5 } };
const turn = () => new Promise((done) => setTimeout(done));

test("bytes are DataViews, everything else is what it was", () => {
  const { table, sizes } = unstored(STATE.traits);
  assert.deepEqual([table.byteLength, table.getUint8(1)], [2, 2]);
  assert.deepEqual(sizes, [2, 3]);
});

test("a change is told to those who listen, and only if it is one", () => {
  const model = new Model(STATE);
  const heard = [];
  const listener = () => heard.push(model.get("step"));
  model.on("change:step", listener);
  model.set({ step: 1, sizes: [2, 3] });
  assert.deepEqual(heard, []);
  model.set("step", 2);
  model.off("change:step", listener);
  model.set("step", 3);
  assert.deepEqual(heard, [2]);
});

test("an answer comes later, once for all changes, and is told as one", async () => {
  const asked = [];
  const model = new Model(STATE, (state, changed) => {
    asked.push([changed, state.step, state.kept.extra]);
    return { summary: `step ${state.step}` };
  });
  const heard = [];
  model.on("change:summary", () => heard.push(model.get("summary")));
  model.set({ step: 2 });
  model.save_changes();
  model.set({ sizes: [1, 1] });
  model.save_changes();
  assert.deepEqual(heard, []);
  await turn();
  assert.deepEqual(heard, ["step 2"]);
  model.set({ step: 4 });
  model.save_changes();
  await turn();
  assert.deepEqual(asked, [
    [["step", "sizes"], 2, 5],
    [["step"], 4, 5],
  ]);
});

test("what was set but is not a change is not asked about", async () => {
  const model = new Model(STATE, () => assert.fail("asked"));
  model.set({ step: 1 });
  model.save_changes();
  await turn();
});

test("an answer that fails is told", async () => {
  const failures = [];
  const fail = () => {
    throw new Error("no");
  };
  const model = new Model(STATE, fail, (error) => failures.push(error.message));
  model.set({ step: 2 });
  model.save_changes();
  await turn();
  assert.deepEqual(failures, ["no"]);
});
