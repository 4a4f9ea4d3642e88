// Has the switch of languages lead to the paragraph that is on the screen: anchors are the same in every language.

/** The id of the place that the address names, if it is seen, or else of the first place that is. Empty at the top. */
function here() {
  const top = Math.max(0, document.querySelector(".bd-header").getBoundingClientRect().bottom);
  const isSeen = (place) => {
    const box = place.getBoundingClientRect();
    const end = place.querySelector("[id]") ? box.top + 1 : box.bottom; // what holds other places counts where it begins
    return end > top && box.top < innerHeight;
  };
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (named && isSeen(named)) {
    return named.id;
  }
  const isShown = (place) => place.offsetHeight > 0 && (place.checkVisibility?.() ?? true); // and in no closed fold
  const places = [...document.querySelectorAll("article [id]")].filter(isShown);
  const last = places.findLast((place) => place.getBoundingClientRect().top < innerHeight); // in long code
  return scrollY > 0 ? ((places.find(isSeen) ?? last)?.id ?? "") : "";
}

for (const link of document.querySelectorAll("a.language-switch")) {
  for (const event of ["click", "auxclick", "contextmenu"]) {
    link.addEventListener(event, () => {
      link.hash = here();
    });
  }
}
