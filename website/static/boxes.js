// Boxes that scroll sideways: they can be reached by keyboard in every browser, and show that there is more to the right.

// In the language of the page.
const LABEL = document.currentScript.dataset.label;

/** Mark a box that is wider inside than outside, and unmark it where it no longer is. */
function mark(box) {
  const more = box.scrollWidth - box.clientWidth;
  if (more > 1 && !box.hasAttribute("tabindex")) {
    box.tabIndex = 0;
    if (!box.hasAttribute("role")) {
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", LABEL);
    }
  }
  box.classList.toggle("goes-on", more > 1 && box.scrollLeft < more - 1);
}

const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    mark(target);
  }
});
for (const box of document.querySelectorAll("article *")) {
  if (["auto", "scroll"].includes(getComputedStyle(box).overflowX) && !box.closest(".course-view")) {
    sizes.observe(box);
    box.addEventListener("scroll", () => mark(box), { passive: true });
  }
}
