"""Every lesson's page in a browser, off the network: its views are live, work by keyboard, and are accessible.

Prints each page's weight, and how soon its first view is drawn.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize

from tools.lab import CHROMIUM_FLAGS, chromium, page_of, press

ROOT = Path(__file__).parents[2]
LESSONS = sorted(path.stem for path in (ROOT / "lessons").glob("[0-9]*.py"))
AXE = (ROOT / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")
MOST = 1500  # kB of a page with all that it loads, as the files are
SLOWDOWN = 4
PHONE, LAPTOP = {"width": 360, "height": 800}, {"width": 1280, "height": 900}
# When the first view was drawn, in milliseconds from the start; the page goes to it as soon as it can.
FIRST = """addEventListener("att-drawn", () => { window.firstDrawn ??= performance.now(); }, true);
addEventListener("DOMContentLoaded", () => {
  const figure = document.querySelector("figure[data-view]");
  figure.closest("details")?.setAttribute("open", "");
  figure.scrollIntoView();
});"""
LOADED = """() => ["navigation", "resource"].flatMap(kind => performance.getEntriesByType(kind))
  .map(entry => new URL(entry.name).pathname)"""
# What of a view can't be seen without pushing it sideways, and headings that are cut.
CUT = """view => {
  const right = view.getBoundingClientRect().right + 1;
  const shown = [...view.querySelectorAll("*")].filter(one => !one.closest(".att-unseen, [hidden]"));
  const out = shown.filter(one => one.getBoundingClientRect().width && one.getBoundingClientRect().right > right);
  const pushed = shown.filter(one => getComputedStyle(one).overflowX === "auto" && one.scrollWidth > one.clientWidth);
  return [...out, ...pushed].map(one => one.className);
}"""
# What has to be pushed sideways, outside of views, which have a test of their own. What holds `spared` may.
PUSHED = """spared => [...document.querySelectorAll("article *")].filter(one =>
    one.clientWidth && one.scrollWidth > one.clientWidth + 1 && !one.closest(".course-view")
    && ["auto", "scroll"].includes(getComputedStyle(one).overflowX) && !one.querySelector(spared))
  .map(one => `${one.tagName} ${one.className}: ${one.textContent.trim().slice(0, 60)}`)"""
# How wide plots are shown, as a share of their own width.
SHARE_OF_WIDTH = """() => [...document.querySelectorAll("figure.plot img")].filter(img => img.clientWidth).map(
  img => img.clientWidth / Number(img.getAttribute("width")))"""
OPAQUE = "one => getComputedStyle(one).backgroundColor"
CUT_HEADINGS = """() => [...document.querySelectorAll("article :is(h1, h2, h3, h4)")].filter(
  one => one.scrollWidth > one.clientWidth + 1).map(one => one.innerText)"""
# The size of a drawing's letters in pixels. In a map of boxes: texts that lie on a mark or stand out of their box.
SMALLEST_LETTERS = """svg => Math.min(...[...svg.querySelectorAll("text")].map(text =>
  parseFloat(getComputedStyle(text).fontSize) * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width))"""
COVERED = """svg => [...svg.querySelectorAll("g")].filter(group => {
  const [text, mark] = group.querySelectorAll("text");
  group.classList.add("trace-now"); // as at its step, and judged
  mark.textContent = " ✓";
  const [word, sign, box] = [text, mark, group.querySelector("rect")].map(one => one.getBBox());
  const onMark = word.x + word.width > sign.x && sign.y + sign.height > word.y + 3; // 3: what no letter reaches
  return onMark || word.x < box.x || word.x + word.width > box.x + box.width;
}).map(group => group.textContent)"""
# Of the page, and of what its text stands in, which would be pushed sideways as a whole.
TOO_WIDE = """() => Math.max(...[document.documentElement, ...document.querySelectorAll(".bd-article-container")].map(
  one => one.scrollWidth - one.clientWidth))"""
LIVE = """figure => figure.dataset.live && new Promise(done => requestAnimationFrame(() => requestAnimationFrame(
  () => done(true))))"""

# What a view says, and what it has marked.
TEXTS = """view => view.innerText + [...view.querySelectorAll("details, [aria-pressed]")].map(
  element => [element.open, element.ariaPressed]).join()"""


def button(name: str, *keys: str) -> Callable[[Locator], None]:
    return lambda view: press(view.get_by_role("button", name=name, exact=True).first, *(keys or ("Enter",)))


def field(role: str, *keys: str) -> Callable[[Locator], None]:
    return lambda view: press(view.get_by_role(role).first, *keys)


# What a key does to each view: it answers in its texts.
KEYS: dict[str, Callable[[Locator], None]] = {
    "alignment_view": field("application", "ArrowDown"),
    "attention_explorer": button("Next"),
    "head_explorer": lambda view: press(view.locator("[aria-pressed][tabindex='0']").first, "ArrowRight"),
    "head_splitter": button("Next"),
    "mask_painter": field("application", "Space"),
    "norm_explorer": field("application", "8"),
    "online_softmax": button("Next"),
    "position_explorer": button("rotary"),
    "prediction": lambda view: _guess(view),
    "progress_table": lambda view: press(view.locator("summary").nth(5), "Enter"),
    "sampler": button("Draw one"),
    "scaling_explorer": field("slider", "ArrowRight"),
    "shape_tracer": button("Next"),
    "training_monitor": button("Show as table"),
}


def _guess(view: Locator) -> None:
    """Choose by keyboard, or type a number, and say so."""
    radios = view.get_by_role("radio")
    if radios.count():
        press(radios.first, "Space")
    else:
        box = view.get_by_role("textbox")
        box.focus()
        view.page.keyboard.type("1")
    button("This is my guess")(view)


def views_of(page: Page) -> list[Locator]:
    """All views of the page, live. Folds are opened."""
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    figures = page.locator("figure.course-view").all()
    for figure in figures:
        figure.scroll_into_view_if_needed()
        page.wait_for_function(LIVE, arg=figure.element_handle())
        assert figure.get_attribute("data-live") == "yes", figure.inner_text()
    return figures


def work(figure: Locator) -> None:
    """One key, and the view says or marks something else."""
    view = figure.locator(".att-view")
    before = view.evaluate(TEXTS)
    KEYS[str(figure.get_attribute("data-view"))](view)
    changed = f"([view, before]) => ({TEXTS})(view) !== before"
    figure.page.wait_for_function(changed, arg=[view.element_handle(), before])


def weight(site: Path, page: Page) -> int:
    """A page with all that it has loaded, in kB, as the files are."""
    files = {site / path.lstrip("/") for path in page.evaluate(LOADED)}
    files = {file for file in files if file.is_file()}  # the browser asks for an icon, too
    assert {"bootstrap.js", "host.js", "site.css"} <= {file.name for file in files}
    fonts = {file.name for file in files if file.suffix == ".woff2"}
    assert fonts <= {"stix-two-math.woff2"}  # icons.css has all icons
    return round(sum(file.stat().st_size for file in files) / 1000)


def faults(page: Page, where: str) -> list[str]:
    """What axe-core finds serious or critical, and headings out of order."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate("where => window.axe.run(where, { resultTypes: ['violations'] })", where)
    return [
        f"{violation['id']}: {node['html'][:200]}"
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical") or violation["id"] == "heading-order"
        for node in violation["nodes"]
    ]


def set_theme(page: Page, name: str) -> None:
    page.evaluate("name => { document.documentElement.dataset.theme = name; }", name)


@pytest.mark.parametrize("name", ["index", *(f"lessons/{lesson}" for lesson in LESSONS)])
def test_a_page_with_views_is_alive_light_and_for_everyone(page: Page, address: str, site: Path, name: str, capsys):
    page.add_init_script(FIRST)
    throttle = page.context.new_cdp_session(page)
    throttle.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
    page.goto(f"{address}/{name}.html")
    page.wait_for_function("window.firstDrawn")
    first = page.evaluate("window.firstDrawn")
    throttle.send("Emulation.setCPUThrottlingRate", {"rate": 1})

    figures = views_of(page)
    for figure in figures:
        work(figure)
    page.wait_for_function("window.bootstrap")  # the theme's scripts come last
    kilobytes = weight(site, page)
    with capsys.disabled():
        print(f"\n{name}: {len(figures)} views, {kilobytes} kB, the first drawn after {first:.0f} ms ", end="")
    assert kilobytes < MOST
    set_theme(page, "light")
    assert faults(page, "article") == []
    assert page.evaluate(TOO_WIDE) == 0
    page.set_viewport_size(PHONE)
    set_theme(page, "dark")
    assert faults(page, "figure.course-view") == []
    assert page.evaluate(TOO_WIDE) == 0
    assert page.evaluate(CUT_HEADINGS) == []
    assert page.refused == []
    assert page.wrong == []


@pytest.mark.parametrize("size", [PHONE, LAPTOP], ids=["phone", "laptop"])
def test_a_root_is_drawn(page: Page, address: str, size: ViewportSize):
    page.set_viewport_size(size)
    page.goto(f"{address}/lessons/{LESSONS[1]}.html")
    page.evaluate("document.fonts.ready.then(() => true)")
    set_theme(page, "light")
    # A browser may find such a font by itself; a phone has none.
    assert page.evaluate("[...document.fonts].find(font => font.family === 'STIX Two Math').status") == "loaded"
    root = page.locator("math msqrt").first
    # What is left of the element then is its sign: the hook before the first child, and the line above all of them.
    root.evaluate("root => { for (const child of root.children) child.style.visibility = 'hidden'; }")
    ink = plt.imread(io.BytesIO(root.screenshot()), format="png")[..., :3].min(axis=-1) < 0.5
    hook, line = ink.any(axis=0).mean(), ink.any(axis=1).mean()
    assert hook > 0.6, "no line above what the root is of"
    assert line > 0.6, "no hook before it"


def test_a_page_from_a_disk_is_alive_too(page: Page, site: Path):
    page.unroute_all()
    page.goto((site / "lessons" / f"{LESSONS[5]}.html").as_uri())
    for figure in views_of(page):
        work(figure)


def test_on_paper_there_is_the_stored_picture(page: Page, address: str):
    page.goto(f"{address}/lessons/{LESSONS[5]}.html")
    figure = next(one for one in views_of(page) if one.get_attribute("data-view") == "norm_explorer")
    assert not figure.locator("> img").is_visible()
    page.emulate_media(media="print")
    assert figure.locator("> img").is_visible()
    assert not figure.locator(".att-view").is_visible()


def test_a_view_that_cannot_run_leaves_its_picture_and_says_so(page: Page, address: str):
    page.route("**/norm_explorer.js", lambda route: route.abort())
    page.goto(f"{address}/lessons/{LESSONS[5]}.html")
    figure = page.locator("figure[data-view=norm_explorer]")
    figure.scroll_into_view_if_needed()
    page.wait_for_function("figure => figure.dataset.live === 'failed'", arg=figure.element_handle())
    assert figure.locator("> img").is_visible()
    assert (
        "This view doesn't run on this page (norm_explorer.js can't be read), but it does in the notebook."
        in figure.inner_text()
    )


@pytest.mark.parametrize(
    ("lesson", "view"),
    [
        ("00", "progress_table"),
        ("01", "attention_explorer"),
        ("05", "norm_explorer"),
        ("06", "position_explorer"),
        ("07", "shape_tracer"),
        ("09", "online_softmax"),
    ],
)
def test_a_view_fits_a_phone(page: Page, address: str, lesson: str, view: str):
    page.set_viewport_size(PHONE)
    page.goto(f"{address}/lessons/{next(name for name in LESSONS if name.startswith(lesson))}.html")
    figures = [figure for figure in views_of(page) if figure.get_attribute("data-view") == view]
    assert figures
    assert [figure.locator(".att-view").evaluate(CUT) for figure in figures] == [[]] * len(figures)


def test_the_maps_letters_can_be_read_on_a_phone_and_no_mark_lies_on_them(page: Page, address: str):
    page.set_viewport_size(PHONE)
    page.goto(f"{address}/lessons/{LESSONS[7]}.html")
    maps = [view.locator(".trace-picture svg") for view in views_of(page) if view.locator(".trace-picture").count()]
    assert maps
    for picture in maps:
        assert picture.evaluate(SMALLEST_LETTERS) >= 9
        assert picture.evaluate(COVERED) == []


def test_the_plots_letters_can_be_read_on_a_phone(page: Page, address: str):
    page.set_viewport_size(PHONE)
    page.goto(f"{address}/lessons/{LESSONS[6]}.html")
    views_of(page)
    plots = page.locator(".att-plot svg").all()
    assert plots
    assert all(plot.evaluate(SMALLEST_LETTERS) >= 9 for plot in plots)


def test_an_answer_is_folded_until_there_is_a_guess_or_somebody_looks(page: Page, address: str):
    page.goto(f"{address}/lessons/{LESSONS[1]}.html")
    figures = page.locator("figure[data-view=prediction]")
    for at, name in enumerate(["This is my guess", "Show me without a guess"]):
        figure = figures.nth(at)
        figure.scroll_into_view_if_needed()
        figure.evaluate(LIVE)
        fold = figure.locator("xpath=following::details[contains(../@class, 'tag_hide-output')][1]")
        assert fold.get_attribute("open") is None
        figure.get_by_role("textbox").fill("1")
        press(figure.get_by_role("button", name=name), "Enter")
        assert fold.get_attribute("open") is not None
        assert figure.get_by_role("button", name="Guess again").is_hidden()


def test_code_that_only_draws_is_folded_below_its_picture(page: Page, address: str):
    page.goto(f"{address}/lessons/{LESSONS[1]}.html")
    code = page.locator(".tag_hide-input > details", has_text="draw_attention(panel")
    assert code.first.get_attribute("open") is None
    picture = code.first.locator("xpath=../preceding-sibling::*[1]").locator("img")
    assert picture.first.is_visible()


@pytest.mark.parametrize("lesson", LESSONS)
def test_no_block_is_cut_off(page: Page, address: str, lesson: str):
    page.goto(f"{address}/lessons/{lesson}.html")
    views_of(page)
    assert page.evaluate(PUSHED, "none") == []
    page.set_viewport_size(PHONE)
    assert page.evaluate(PUSHED, "table, img, math") == []
    assert page.evaluate(TOO_WIDE) == 0


@pytest.mark.parametrize("lesson", LESSONS)
@pytest.mark.parametrize(("size", "points"), [(PHONE, 8), (LAPTOP, 9)], ids=["phone", "laptop"])
def test_letters_in_plots_can_be_read(page: Page, address: str, lesson: str, size: ViewportSize, points: int):
    page.set_viewport_size(size)
    page.goto(f"{address}/lessons/{lesson}.html")
    views_of(page)
    shares = page.evaluate(SHARE_OF_WIDTH)
    assert all(share * points * 100 / 72 >= 8.95 for share in shares), (
        shares
    )  # a plot is stored with 100 pixels an inch


def test_a_step_is_told_with_a_pause_after_its_number(page: Page, address: str):
    page.goto(f"{address}/lessons/{LESSONS[1]}.html")
    figure = next(one for one in views_of(page) if one.get_attribute("data-view") == "attention_explorer")
    names = [step.get_attribute("aria-label") for step in figure.locator(".att-step").all()]
    assert names[0] == "1, Q"
    assert all(re.match(rf"{number}, \S", str(name)) for number, name in enumerate(names, 1))


@pytest.mark.parametrize("lesson", [LESSONS[1], LESSONS[4], LESSONS[6], LESSONS[10]])
def test_what_catches_keys_says_how_to_leave_and_lets_one_go(page: Page, address: str, lesson: str):
    page.goto(f"{address}/lessons/{lesson}.html")
    views_of(page)
    catchers = page.locator("[role=application]:visible").all()
    assert catchers
    for catcher in catchers:
        assert str(catcher.get_attribute("aria-label")).endswith("Tab leaves.")
        press(catcher, "ArrowRight", "Tab")
        assert not catcher.evaluate("one => one === document.activeElement")


def test_the_search_finds_how_to_install(page: Page, address: str):
    page.goto(f"{address}/search.html?q=install")
    first = page.locator("#search-results li a").first
    first.wait_for()
    assert str(first.get_attribute("href")).startswith("install.html")


@pytest.mark.parametrize("width", [1280, 960])
def test_with_letters_twice_as_large_the_columns_become_one(browser: Browser, address: str, width: int):
    """The browser's own size of letters, as somebody sets it who sees badly."""
    flags = [*CHROMIUM_FLAGS, "--blink-settings=defaultFontSize=32"]
    large = browser.browser_type.launch(executable_path=chromium(), args=flags)
    try:
        page = page_of(large, width=width, height=900)
        page.goto(f"{address}/lessons/{LESSONS[1]}.html")
        assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == "32px"
        assert page.locator("article").evaluate("one => one.clientWidth") > 0.85 * width
        assert page.evaluate(TOO_WIDE) == 0
        title, links = (page.locator(name).bounding_box() for name in (".navbar-brand", ".bd-header .navbar-nav"))
        assert title
        assert links
        assert title["y"] + title["height"] <= links["y"] or title["x"] + title["width"] <= links["x"]
        assert page.locator(".bd-header").evaluate("one => getComputedStyle(one).position") == "static"
    finally:
        large.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_without_scripts_the_header_covers_the_text_and_all_can_be_read(browser: Browser, address: str, scheme: str):
    context = browser.new_context(viewport=LAPTOP, java_script_enabled=False, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{address}/lessons/{LESSONS[1]}.html")
    assert page.locator(".bd-header").evaluate(OPAQUE) == "rgb(255, 255, 255)"
    assert page.locator("article").evaluate("one => getComputedStyle(one).color") == "rgb(34, 40, 50)"
    assert page.locator(".navbar-brand .title").evaluate("one => getComputedStyle(one).color") == "rgb(34, 40, 50)"
    assert page.locator("html").evaluate("one => getComputedStyle(one).colorScheme") == "light"
    context.close()


def test_the_first_page_leads_three_ways(page: Page, address: str):
    """Each of its buttons is seen at once on a phone and leads to a first step; below them stands a report."""
    page.set_viewport_size(PHONE)
    ways = {"Read": "lessons/01_", "Learn": "install", "Teach": "docs/teaching"}
    for word, target in ways.items():
        page.goto(f"{address}/index.html")
        way = page.locator("article").get_by_role("link", name=re.compile(f"^{word}"))
        bottom = way.evaluate("one => one.getBoundingClientRect().bottom")
        assert bottom < PHONE["height"]
        way.click()
        page.wait_for_url(f"**/{target}*")
    page.goto(f"{address}/index.html")
    report = page.locator(".grader-report")
    assert "first_steps: not passed yet" in report.inner_text()
    assert "added-before-doubling" in report.inner_text()
    set_theme(page, "dark")
    assert faults(page, "article") == []


def test_the_page_of_the_first_hour_gives_the_package(page: Page, address: str):
    page.goto(f"{address}/index.html")
    page.locator("article").get_by_role("link", name="Install and start", exact=True).click()
    page.wait_for_url("**/install.html")
    set_theme(page, "light")
    assert faults(page, "article") == []
    with page.expect_download() as package:
        page.get_by_role("link", name=re.compile("^Download attention-course-.*-student.zip$")).click()
    assert package.value.suggested_filename.endswith("-student.zip")
    page.set_viewport_size(PHONE)
    assert page.evaluate(TOO_WIDE) == 0


KINDS = (
    "index",
    "install",
    "about",
    f"lessons/{LESSONS[4]}",
    "exercises/causal_mask",
    "docs/teaching",
    "glossary",
    "search",
)
SPACING = """* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important; }
p { margin-bottom: 2em !important; }"""
CUT_WORDS = """() => [...document.querySelectorAll("article :is(h1, h2, h3, h4), .att-view button, .bd-header a")]
  .filter(one => getComputedStyle(one).display !== "inline" && one.scrollWidth > one.clientWidth + 1)
  .map(one => one.innerText)"""
# Whether the focus is on something that is seen, and not below the header.
SEEN = """() => {
  const { top, bottom } = document.activeElement.getBoundingClientRect();
  const header = document.querySelector(".bd-header").getBoundingClientRect();
  return document.activeElement.closest(".bd-header") || (bottom > header.bottom && top < innerHeight);
}"""


@pytest.mark.parametrize("name", KINDS)
def test_a_page_fits_320_pixels_and_what_scrolls_in_its_box_can_be_reached(page: Page, address: str, name: str):
    page.set_viewport_size({"width": 320, "height": 700})
    page.goto(f"{address}/{name}.html")
    views_of(page)
    assert page.evaluate(TOO_WIDE) == 0
    page.evaluate(AXE)
    rule = {"type": "rule", "values": ["scrollable-region-focusable"]}
    result = page.evaluate("rule => window.axe.run(document, { runOnly: rule })", rule)
    assert [node["html"] for violation in result["violations"] for node in violation["nodes"]] == []


def test_no_page_is_wider_than_320_pixels(page: Page, address: str, site: Path):
    page.set_viewport_size({"width": 320, "height": 700})
    wide = {}
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site).as_posix()
        if not name.startswith("_static/"):
            page.goto(f"{address}/{name}")
            if by := page.evaluate(TOO_WIDE):
                wide[name] = by
    assert wide == {}


def test_a_box_that_goes_on_to_the_right_shows_it_until_its_end_is_seen(page: Page, address: str):
    page.set_viewport_size(PHONE)
    page.goto(f"{address}/lessons/05_normalization.html")
    box = page.locator("article .goes-on").first
    box.evaluate("one => { window.seen = one; one.focus(); one.scrollLeft = one.scrollWidth; }")
    page.wait_for_function("() => !window.seen.classList.contains('goes-on')")
    assert page.evaluate("() => document.activeElement === window.seen")


def test_no_formula_of_lesson_05_is_cut_on_a_phone(page: Page, address: str):
    page.set_viewport_size(PHONE)
    page.goto(f"{address}/lessons/05_normalization.html")
    widths = page.locator(".formula").evaluate_all("all => all.map(one => [one.scrollWidth, one.clientWidth])")
    assert len(widths) > 2
    assert [inside for inside, outside in widths if inside > outside + 1] == []


@pytest.mark.parametrize("name", KINDS)
def test_wider_spacing_cuts_nothing(page: Page, address: str, name: str):
    page.goto(f"{address}/{name}.html")
    views_of(page)
    page.add_style_tag(content=SPACING)
    assert page.evaluate(TOO_WIDE) == 0
    assert page.evaluate(CUT_WORDS) == []


@pytest.mark.parametrize("lesson", LESSONS)
def test_controls_are_large_enough_and_named_as_they_are_seen(page: Page, address: str, lesson: str):
    page.goto(f"{address}/lessons/{lesson}.html")
    views_of(page)
    page.evaluate(AXE)
    rules = {"type": "rule", "values": ["target-size", "label-content-name-mismatch"]}
    result = page.evaluate("rules => window.axe.run('article', { runOnly: rules })", rules)
    assert [node["html"] for violation in result["violations"] for node in violation["nodes"]] == []
    assert result["passes"]


@pytest.mark.parametrize("lesson", [LESSONS[1], LESSONS[8], LESSONS[11]])
def test_nothing_moves_by_itself(page: Page, address: str, lesson: str):
    page.goto(f"{address}/lessons/{lesson}.html")
    figures = views_of(page)
    assert page.evaluate("document.getAnimations().length") == 0
    page.wait_for_timeout(1500)  # what the views write when they are first drawn
    before = [figure.inner_text() for figure in figures]
    page.wait_for_timeout(1500)
    assert [figure.inner_text() for figure in figures] == before


def test_the_first_stop_skips_to_the_content_and_no_stop_is_hidden_by_the_header(page: Page, address: str):
    page.goto(f"{address}/lessons/{LESSONS[1]}.html")
    views_of(page)
    page.evaluate("scrollTo(0, 0)")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Skip to main content"
    page.keyboard.press("Enter")
    texts = [figure.inner_text() for figure in page.locator("figure.course-view").all()]
    stops = []
    for _ in range(80):
        page.keyboard.press("Tab")
        assert page.evaluate(SEEN), page.evaluate("document.activeElement.outerHTML")[:200]
        stops.append(page.evaluate("document.activeElement.getBoundingClientRect().top + scrollY"))
    assert page.evaluate("document.activeElement.closest('article') !== null")
    assert stops[-1] > stops[0]
    shown = [figure.inner_text() for figure in page.locator("figure.course-view").all()]
    assert len(shown) == len(texts)
    assert page.url.partition("#")[0].endswith(f"{LESSONS[1]}.html")  # to focus something leads nowhere


@pytest.mark.parametrize(
    ("lesson", "view", "words"),
    [
        (4, "mask_painter", "finger"),
        (5, "norm_explorer", "taps"),
        (6, "position_explorer", "taps"),
        (9, "online_softmax", "taps"),
        (10, "head_explorer", "taps"),
    ],
)
def test_views_say_what_fingers_do(page: Page, address: str, lesson: int, view: str, words: str):
    page.goto(f"{address}/lessons/{LESSONS[lesson]}.html")
    figure = next(one for one in views_of(page) if one.get_attribute("data-view") == view)
    assert words in figure.locator(".att-story").first.inner_text()
