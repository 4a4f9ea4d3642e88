import assert from "node:assert/strict";
import { test } from "node:test";
import { byLesson, title } from "../../grader/views/progress_table.js";

const rows = [
  ["00_start_here", "first_steps", "passed-seen", "1", "1", "2"],
  ["01_self_attention", "project_qkv", "started", "1", "2", "1"],
  ["01_self_attention", "quiz_01", "not-tried", "0", "2", "0"],
];

test("rows are gathered by lesson, with how many passed", () => {
  const lessons = byLesson(rows);
  assert.deepEqual(
    lessons.map(({ lesson, rows: exercises, passed }) => [lesson, exercises.length, passed]),
    [
      ["00_start_here", 1, 1],
      ["01_self_attention", 2, 0],
    ],
  );
});

test("a lesson is named as people say it", () => {
  assert.equal(title("01_self_attention"), "01 · self attention");
});
