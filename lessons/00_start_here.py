# ---
# jupyter:
#   course:
#     about: is the set-up right, how an exercise and its report work
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 00 · Start here
#
# Here you learn how to test your set-up, solve and reset an exercise, and read the report of a check. You also learn
# where your progress is kept.
#
# **Time:** <!-- time -->.
#
# A notebook is made of **cells**, and you read and run them from top to bottom. Click into the grey cell below and
# press **Shift+Enter**. The cell runs, its output appears below it, and the next cell is selected.

# %%
2 * 3 + 1

# %% [markdown]
# ## 1 · Is my set-up right?
#
# The next cell tests everything that the course needs, as `grader doctor` does in a terminal. Each line shows what was
# found, and a line marked *fix* also explains what to do.

# %% role="try" timed=true
from grader.learner.doctor import doctor

doctor()

# %% [markdown]
# ## 2 · What a check tells you
#
# This lesson's exercise asks for a function `first_steps` that takes a tensor of numbers, **doubles every number and
# adds one**, so that 3 becomes 7. Before you write it, look at how somebody else got it wrong.

# %%
import torch
from torch import Tensor

from grader import check


def wrong_on_purpose(x):
    return 2 * (x + 1)


print("3 becomes", wrong_on_purpose(torch.tensor(3.0)))

# %%
check(wrong_on_purpose, "first_steps", practice=True)

# %% [markdown]
# Read the report from top to bottom:
#
# 1. **The first line** reads *not passed yet* and shows how many of the points you have earned so far.
# 2. **What was tried** is listed part by part. Here the shape is right, but the values are wrong. The parts that depend
#    on the values are grey and *not judged yet*, so they have neither passed nor failed.
# 3. **The failure in detail** puts the numbers that your function returned beside those that were expected, with a
#    frame and a ≠ where they differ.
# 4. **The mistake it looks like** is named, since the check compares your result with those of common mistakes. If none
#    fits, the report leaves this out, and the hints point out what is right and what is wrong.
# 5. **The hints** are folded. Open the first, and try again before you open the next, because each one gives away more.
#
# A check tries your function on random numbers in several shapes, so only a correct function passes. It never changes
# your code, it costs nothing, and you may run it as often as you like.
#
# ## 3 · Solve it
#
# An exercise has two cells, one for you to write in and one with the check, which can't be edited.
#
# ### Exercise: `first_steps`
#
# Difficulty 1 of 5
#
# Let's do it together, with a mistake on the way:
#
# 1. Run both cells before you write anything, and the check reports that the function is not written yet.
# 2. Replace `raise NotImplementedError()` with `return 2 * x`, run the cell, and **then** run the check. Which mistake
#    does the report name?
# 3. Now correct your function, run its cell and then the check, which should pass this time.
#
# <details><summary>I changed my function, but the report stays the same</summary>
#
# The check uses the function as it was when its cell last *ran*, so run that cell before you run the check.
#
# </details>
#
# <details><summary>An error says that <code>first_steps</code> is not defined</summary>
#
# The cell with the function hasn't been run since the notebook was started. Run it, or run all cells from the top with
# *Run → Run All Cells*.
#
# </details>


# %% exercise="first_steps" role="solution"
def first_steps(x: Tensor) -> Tensor:
    """Double every number and add one.

    x: (..., T, E). Returns the same shape.
    """
    ### BEGIN SOLUTION
    return 2 * x + 1
    ### END SOLUTION


# %% exercise="first_steps" role="check"
check(first_steps)

# %% [markdown]
# After an exercise there is often a cell to play with, like the next one, which raises an error until your function
# exists.

# %% role="try"
# Try it: what happens to a small table?
print(first_steps(torch.tensor([[1.0, 2.0], [3.0, -4.0]])))

# %% [markdown]
# ## 4 · When you are stuck
#
# **Hints** help most if you open them one by one in the report. Many exercises also have folded notes, each about one
# thing that can go wrong.
#
# **To reset an exercise,** replace everything in its cell with this, and run it:
#
# ```python
# from grader import reset
# reset("first_steps")
# ```
#
# You get the original cell back, and your other answers stay. (If you change your mind, click into the cell and press
# Ctrl+Z.)
#
# **A model solution** shows one way to do it. If the solutions are installed, you can see it after three tries or once
# you have passed:
#
# ```python
# from grader import solution
# solution("first_steps")
# ```
#
# Your progress then shows that you have seen it, and that's all. Looking at a solution after a few honest tries is a
# good way to learn.
#
# **If a check seems wrong,** press *I think this is right* below its report to save a file that you can give to your
# teacher.
#
# <details><summary>A cell never ends, or no name is known any more</summary>
#
# The square ■ in the toolbar stops a running cell. *Kernel → Restart Kernel and Run All Cells* keeps your code and
# computes all values again. After *Restart Kernel* alone, no names are defined any more, and a check fails with
# `NameError: name 'check' is not defined` until you run the cells from the top again.
#
# </details>
#
# ## 5 · Your progress
#
# The result of every check is kept in one small file on this computer, `.attention-course/progress.json` in your home
# folder. It holds only exercises, scores, tries, times, your guesses and how sure you were of them, and it is never
# sent anywhere. Your best result counts, so a later mistake takes nothing away. The table below stays up to date while
# you work, in other notebooks too, and shows how often your guesses were right. In a terminal, `grader progress` prints
# the same table.

# %% role="try" timed=true
from grader.learner.progress import predictions, rows
from grader.views import ProgressTable

ProgressTable(rows, predictions)

# %% [markdown]
# If your teacher grades your notebook, it is run once more with other numbers, and the marks come from that run. To see
# beforehand whether all checks pass in a run from top to bottom, save and press **Validate** in the toolbar.
#
# ## 6 · Keys worth knowing
#
# | key | what it does |
# | --- | --- |
# | Shift+Enter | run the cell, go to the next one |
# | Ctrl+Enter | run the cell, stay there |
# | Enter, Esc | edit the cell; leave it again (the arrow keys then move between cells) |
# | Ctrl+Z | undo |
# | Tab, Shift+Tab | complete a name; show what a function takes |
# | Ctrl+S | save |
# | Esc, then A or B | a new cell above or below |
# | Esc, then 0 0 | restart the kernel |
# | Tab in a picture | go to its buttons and numbers; arrow keys move from number to number |
#
# On a Mac, use Cmd in place of Ctrl to save and to undo.
#
# ## 7 · Where the lessons lead
#
# <!-- lessons -->
#
# The lessons build on each other, but each runs by itself. They all use the same letters for shapes in the text, in
# docstrings and in reports, and each lesson repeats the letters that it needs.
#
# <details><summary>The letters of all lessons</summary>
#
# <!-- letters -->
#
# </details>
#
# **Next:** open `01_self_attention.ipynb`.
