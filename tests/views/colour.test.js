import assert from "node:assert/strict";
import { test } from "node:test";
import { cividis, css, inkOn, luminance, shareOf } from "../../grader/views/colour.js";

test("cividis runs from dark blue to yellow and stops at its ends", () => {
  assert.deepEqual(cividis(0), [0, 34, 78]);
  assert.deepEqual(cividis(1), [254, 232, 56]);
  assert.deepEqual(cividis(-3), cividis(0));
  assert.deepEqual(cividis(7), cividis(1));
});

test("a larger share is never darker", () => {
  const lights = Array.from({ length: 101 }, (_, at) => luminance(cividis(at / 100)));
  assert.ok(lights.every((light, at) => at === 0 || light >= lights[at - 1] - 0.001));
});

test("the ink reads on every colour of the scale (contrast 4.5 and more)", () => {
  for (let at = 0; at <= 100; at += 1) {
    const paper = luminance(cividis(at / 100));
    const ink = inkOn(cividis(at / 100)) === "#000000" ? 0 : 1;
    const contrast = (Math.max(paper, ink) + 0.05) / (Math.min(paper, ink) + 0.05);
    assert.ok(contrast >= 4.5, `at ${at} %: ${contrast}`);
  }
});

test("a value's share of a scale; one colour where there is no scale", () => {
  assert.deepEqual([shareOf(5, 0, 20), shareOf(3, 3, 3)], [0.25, 0.5]);
});

test("colours are written for CSS", () => {
  assert.equal(css([1, 2, 3]), "rgb(1 2 3)");
});
