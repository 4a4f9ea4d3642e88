"""Lesson 08, training a Transformer: its inputs and labels, loss, learning rate, decoding and accuracy."""

LESSON = "08_training"
NAMES = (
    "shift_target",
    "sequence_loss",
    "noam_rate",
    "train_step",
    "greedy_decode",
    "exact_match",
    "quiz_08",
)
