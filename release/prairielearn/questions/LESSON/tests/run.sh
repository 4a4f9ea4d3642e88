#!/bin/sh
# PrairieLearn runs this for every submission, in the image of image/Dockerfile: /grade/tests is this folder.
cd "$(dirname "$0")/.."
mkdir -p results
grader grade student --lesson {lesson} --solutions tests/solutions --secret tests/judge_secret \
    --as prairielearn --output results/results.json || test -f results/results.json
