"""The page of a report in a browser: it says what Python says, and can be used by everyone."""

import functools

import numpy as np
import pandas as pd
import pytest
import screenshots
from browser import SETTLED, Opened, browser, wait, why_missing
from reported_models import HOSTILE, MODELS, ROWS, head, model, options

from cotm import CoTMClassifier
from cotm.booleanize.descriptions import duration_text
from cotm.reporting.examples import as_data, take

pytestmark = pytest.mark.skipif(bool(why_missing()), reason=why_missing() or "there is one")


@pytest.fixture(scope="module")
def program():
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """The file of each model's report, written when it is first asked for."""

    @functools.cache
    def write(name):
        path = tmp_path_factory.mktemp("reports") / "report.html"
        fitted, X, y = model(name)
        fitted.report(path, X, y, n_background=12, **options(name))
        return path

    return write


@pytest.fixture(scope="module")
def tumours(tmp_path_factory):
    """A report on a table of 30 numbers, its model and its data."""
    path = tmp_path_factory.mktemp("tumours") / "report.html"
    few = {"n_clauses": 300, "epochs": 6, "preset": "paper"}
    return path, *screenshots.tumours(path, **few)


def rows_for_the_page(fitted, X):
    source = fitted._description().members[-2 if hasattr(fitted, "estimators_") else 0].input
    return as_data(X, source)


VOTES = """({zeros, rows}) => {
  const {model, explorer} = report;
  const width = explorer.reader.width;
  const dense = zeros
    ? rows.map(([places, values]) => {
        const row = new Array(width).fill(0);
        places.forEach((place, k) => (row[place] = values[k]));
        return row;
      })
    : rows;
  return dense.map((row) => {
    const outputs = model.outputs(row);
    const votes = model.votesOf(outputs);
    return [votes.map(String), [model.labelOf(votes)].flat(), model.probabilitiesOf(votes)];
  });
}"""


REASONS = """async () => {
  const {model, explorer} = report;
  const all = [];
  for (const row of explorer.rows.slice(0, 12)) {
    all.push(Array.from(await explorer.reasons.of(row, model.outputs(row))));
  }
  return all;
}"""


@pytest.mark.parametrize("name", MODELS)
def test_votes_labels_probabilities_and_reasons_are_pythons(name, program, reported):
    fitted, X, _ = model(name)
    with Opened(program, reported(name)) as page:
        found = page.evaluate(VOTES, rows_for_the_page(fitted, head(X, ROWS)))
        shown = page.evaluate("report.details.examples")
        reasons = page.evaluate(REASONS)
        weights = page.evaluate("report.table.rules.map((rule) => rule.weights)")
    assert weights == [[*rule.weights.values()] for rule in fitted.rules()]
    some = head(X, ROWS)
    assert len(found) == ROWS
    assert [[int(vote) for vote in votes] for votes, _, _ in found] == fitted.votes(some).tolist()
    expected = [
        row.nonzero()[0].tolist() if np.ndim(row) else [np.asarray(row).item()]
        for row in fitted.predict(some)
    ]
    assert [labels for _, labels, _ in found] == expected
    assert np.allclose([p for _, _, p in found], fitted.predict_proba(some), rtol=0, atol=1e-12)
    rows = np.array(shown["numbers"])
    others = take(X, rows[shown["background"]])
    why = fitted.explain(take(X, rows[:12]), background=others, rules=False)
    expected = why.contributions / why.unit
    assert expected.any()
    # Where votes are divided, Python shares what whole numbers lose: less than 2**-32 a member.
    assert np.allclose(np.reshape(reasons, expected.shape), expected, rtol=1e-9, atol=1e-8)


def test_the_explorer_shows_an_example_and_the_rules_that_speak(program, tumours):
    path, fitted, X, _ = tumours
    with Opened(program, path) as page:
        row = page.evaluate("report.details.examples.numbers[3]")
        page.select_option("#chosen", "3")
        wait(page, SETTLED)
        one = X.iloc[[row]]
        label = fitted.predict(one)[0]
        assert page.inner_text("#verdict b") == label
        cells = page.eval_on_selector_all(
            "#votes tbody td:nth-child(2)", "c => c.map(e => e.innerText)"
        )
        assert [int(c.replace("−", "-").replace(",", "")) for c in cells] == fitted.votes(one)[
            0
        ].tolist()
        firing = int(page.inner_text("#speaking-count").split(" of ")[0])
        assert firing == sum(len(rules) for rules in fitted.explain(one, background=X).rules)
        page.click("#all-rules")
        votes = page.eval_on_selector_all(
            "#speaking tbody td:nth-child(3)",
            "c => c.map(e => Number(e.innerText.replace('−', '-')))",
        )
        assert len(votes) == firing
        assert sum(votes) == fitted.votes(one)[0].max()
        assert np.all(np.diff(np.abs(votes)) <= 0)
        # The waterfall ends where the votes are.
        steps = page.evaluate("report.explorer.reason")
        assert np.isclose(steps["base"] + sum(steps["values"]), sum(votes))
        assert page.inner_text("#why tbody tr:last-child td") == f"+{sum(votes)}"
        page.select_option("#kind", "wrong")
        wrong = page.eval_on_selector_all("#chosen option", "o => o.map(e => e.innerText)")
        assert all("predicted" in text for text in wrong)


def test_sliders_change_votes_as_python_does(program, tumours):
    path, fitted, X, _ = tumours
    with Opened(program, path) as page:
        row = X.iloc[[page.evaluate("report.details.examples.numbers[0]")]].copy()
        page.focus("#field-20")
        before = fitted.votes(row).tolist()
        seen = []
        for _ in range(12):
            page.keyboard.press("PageDown")
            row.iloc[0, 20] = page.evaluate("report.explorer.row[20]")
            wait(page, "!report.explorer.waits")
            seen.append(page.evaluate("report.explorer.now.votes"))
            assert seen[-1] == fitted.votes(row)[0].tolist()
        assert seen[-1] != before[0]
        assert page.evaluate("document.activeElement.id") == "field-20"
        assert "The example was changed" in page.inner_text("#verdict")
        assert "began to speak" in page.inner_text("#speaking-count")
        assert page.locator("#votes th", has_text="Before").count() == 1
        page.check("#field-21-missing")
        row.iloc[0, 21] = np.nan
        wait(page, "!report.explorer.waits")
        assert page.evaluate("report.explorer.now.votes") == fitted.votes(row)[0].tolist()
        page.fill(".field:nth-child(1) input[type=number]", "17.25")
        page.keyboard.press("Tab")
        row.iloc[0, 0] = 17.25
        wait(page, "!report.explorer.waits")
        assert page.evaluate("report.explorer.now.votes") == fitted.votes(row)[0].tolist()
        page.click("#reset")
        wait(page, SETTLED)
        assert page.evaluate("report.explorer.now.votes") == before[0]
        page.fill("#field-search", "worst")
        assert page.locator(".field").count() == 10


def test_categories_bits_and_dates_can_be_changed(program, reported):
    fitted, X, _ = model("table")
    with Opened(program, reported("table")) as page:
        row = take(X, np.array([page.evaluate("report.details.examples.numbers[0]")])).copy()

        def agrees():
            wait(page, "!report.explorer.waits")
            votes = page.evaluate("report.explorer.now.votes")
            assert votes == fitted.votes(row)[0].tolist()

        agrees()
        names = page.eval_on_selector_all(".field .name", "all => all.map(e => e.textContent)")
        assert names == HOSTILE
        column = HOSTILE[1]
        for label in HOSTILE[:3]:
            page.select_option("#field-1", label=label)
            row[column] = label
            agrees()
        page.select_option("#field-1", label="another, not seen in training")
        row[column] = "something else"
        agrees()
        page.check("#field-1-missing")
        row[column] = None
        agrees()
        page.uncheck("#field-1-missing")
        page.set_checked("#field-3", not row[HOSTILE[3]].iloc[0])
        row[HOSTILE[3]] = ~row[HOSTILE[3]]
        row[column] = page.evaluate("report.explorer.row[1]")
        agrees()
        day = page.locator(".field input[type=date]")
        assert day.input_value() == str(row["when"].iloc[0].date())
        day.fill("2021-04-20")
        row["when"] = pd.Timestamp("2021-04-20")
        agrees()


def test_durations_read_as_in_rules(program, tmp_path):
    spans = pd.to_timedelta(np.arange(60) * 7_000_001, unit="ms")
    X, y = pd.DataFrame({"wait": spans, "n": np.arange(60)}), np.arange(60) % 20 > 9
    path = tmp_path / "report.html"
    CoTMClassifier(10, epochs=2, random_state=0).fit(X, y).report(path, X, y)
    with Opened(program, path) as page:
        for seconds in (
            0,
            1.5,
            7.05,
            59.999999,
            3600,
            86_400,
            97_203,
            2 * 86_400,
            950_411.25,
            -5,
            -86_400,
        ):
            page.fill("#field-0 ~ input", str(seconds))
            page.keyboard.press("Tab")
            assert page.inner_text("#field-0 ~ output") == duration_text(seconds)
        wait(page, "!report.explorer.waits")
        assert "wait = -1 day" in page.inner_text("#why")


def test_words_are_found_and_switched(program, reported):
    fitted, X, _ = model("words")
    with Opened(program, reported("words")) as page:
        row = X[[page.evaluate("report.details.examples.numbers[0]")]].toarray()
        for name, column in (("word3", 3), (HOSTILE[0], 60)):
            if row[0, column]:
                page.locator("#bits-set button", has_text=name).first.click()
            else:
                page.fill("#bit-search", name)
                page.locator("#bits-found button", has_text=name).first.click()
            row[0, column] ^= 1
            wait(page, "!report.explorer.waits")
            assert page.evaluate("report.explorer.now.votes") == fitted.votes(row)[0].tolist()
        assert page.locator("#bits-set button").count() == row.sum()


def test_images_are_painted_on_and_have_a_heat_map(program, reported):
    fitted, X, _ = model("images")
    with Opened(program, reported("images")) as page:
        page.locator(".thumbnail").nth(2).click()
        wait(page, SETTLED)
        image = X[[page.evaluate("report.details.examples.numbers[2]")]].copy()
        brush = page.evaluate("report.explorer.fields.range[1]")
        box = page.locator(".images canvas").first.bounding_box()
        at = (box["x"] + box["width"] * 2.5 / 8, box["y"] + box["height"] * 5.5 / 8)
        page.mouse.click(*at)
        image[0, 5, 2] = brush
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Space")
        y, x = page.evaluate("report.explorer.fields.cursor")
        image[0, y, x] = brush
        wait(page, "!report.explorer.waits")
        wait(page, SETTLED)
        assert page.evaluate("report.explorer.now.votes") == fitted.votes(image)[0].tolist()
        found = page.evaluate("report.explorer.reason")
        label = [*fitted.classes_].index(fitted.predict(image)[0])
        assert found["label"] == label
        why = fitted.explain(image)
        assert np.allclose(found["values"], why.contributions[0, :, label])
        heat = page.locator(".images canvas").nth(1)
        drawn = heat.evaluate("c => c.toDataURL()")
        page.locator("#speaking .open").first.focus()  # its patches are framed
        framed = heat.evaluate("c => c.toDataURL()")
        page.locator("#brush").focus()
        assert drawn == heat.evaluate("c => c.toDataURL()") != framed
        assert "Votes for" in heat.get_attribute("aria-label")


def test_rules_are_searched_sorted_and_filtered(program, tumours):
    path, fitted, X, y = tumours
    rules = {rule.clause: rule for rule in fitted.rules(X, y)}
    first = "#rules tbody tr:not([aria-hidden])"

    def shown(page):
        return page.evaluate("report.table.shown.map((rule) => rule.number)")

    with Opened(program, path) as page:
        assert {*shown(page)} == {*rules} and len(rules) > 200
        strengths = [rules[number].strength for number in shown(page)]
        assert strengths == sorted(strengths, reverse=True)
        page.fill("#rule-search", "worst  AREA")
        wait(page, f"report.table.shown.length < {len(rules)}")
        expected = {k for k, rule in rules.items() if "worst" in f"{rule}" and "area" in f"{rule}"}
        assert {*shown(page)} == expected and expected
        assert page.inner_text("#rule-count") == f"{len(expected)} of {len(rules)} rules"
        page.fill("#rule-search", "no such words")
        wait(page, "report.table.shown.length === 0")
        page.fill("#rule-search", "")
        wait(page, f"report.table.shown.length === {len(rules)}")
        page.select_option("#rule-label", label="malignant")
        page.select_option("#rule-side", "1")
        speak = {k for k, rule in rules.items() if rule.weights["malignant"] > 0}
        assert {*shown(page)} == speak
        page.click("[data-column=length] button")
        lengths = [len(rules[number].conditions) for number in shown(page)]
        assert page.get_attribute("[data-column=length]", "aria-sort") == "ascending"
        page.click("[data-column=length] button")
        assert page.get_attribute("[data-column=length]", "aria-sort") == "descending"
        assert lengths and page.locator(first).count() < 60
        for column, measure in (("coverage", "coverage"), ("share", "share_of_votes")):
            page.click(f"[data-column={column}] button")
            values = [getattr(rules[number].evidence, measure) for number in shown(page)]
            assert values == sorted(values, reverse=True) and values[0] > values[-1]
        page.locator(f"{first} button").first.click()
        number = int(page.inner_text("#rule-title").removeprefix("Rule "))
        texts = page.eval_on_selector_all(".conditions li", "all => all.map(e => e.innerText)")
        assert number == shown(page)[0] and all(text in str(rules[number]) for text in texts)
        page.keyboard.press("Escape")
        assert not page.is_visible("#rule-title")


def test_the_keyboard_reaches_everything_and_rules_far_down(program, tumours):
    path, *_ = tumours
    with Opened(program, path) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        ids = set()
        for _ in range(140):
            page.keyboard.press("Tab")
            found = page.evaluate(
                "[document.activeElement.id || document.activeElement.className || "
                "document.activeElement.parentElement?.dataset?.column, "
                "getComputedStyle(document.activeElement).outlineStyle]"
            )
            ids.add(found[0])
            assert found[1] != "none", found
        assert {"theme", "kind", "chosen", "field-0", "all-rules", "rule-search", "scroller"} <= ids
        page.locator("#rules .open").first.focus()
        for _ in range(30):
            page.keyboard.press("ArrowDown")
        place = "Number(document.activeElement.dataset.row)"
        assert page.evaluate(place) == 30
        page.keyboard.press("End")
        last = page.evaluate("report.table.shown.length - 1")
        assert page.evaluate(place) == last
        frame, box = page.evaluate(
            "[report.table.scroller, document.activeElement].map("
            "(e) => e.getBoundingClientRect().toJSON())"
        )
        assert frame["top"] <= box["top"] and box["bottom"] <= frame["bottom"]
        row = page.evaluate("document.activeElement.closest('tr').ariaRowIndex")
        assert int(row) == last + 2
        page.keyboard.press("Home")
        assert page.evaluate(place) == 0


def test_its_policy_forbids_connections_and_other_scripts(program, tumours):
    opened = Opened(program, tumours[0])
    with opened as page:
        assert page.evaluate("fetch('data:,x').then(() => 'came', () => 'refused')") == "refused"
        page.evaluate(
            "document.body.append(Object.assign(document.createElement('script'), "
            "{textContent: 'window.foreign = 1'}))"
        )
        assert page.evaluate("window.foreign") is None
        assert len(opened.complaints) >= 2
        assert all("Content Security Policy" in text for text in opened.complaints)
        opened.complaints.clear()


def test_every_part_has_its_name_for_those_who_hear_it(program, reported):
    with Opened(program, reported("images")) as page:
        for kind, named in (
            ("table", "e.caption?.textContent"),
            ("button", "e.textContent || e.ariaLabel"),
            ("input, select", "e.labels.length || e.ariaLabel"),
            ("canvas, svg", "e.getAttribute('aria-label') || e.ariaHidden"),
        ):
            found = page.eval_on_selector_all(kind, f"all => all.map((e) => Boolean({named}))")
            assert found and all(found), kind
        levels = page.eval_on_selector_all("h1, h2, h3", "all => all.map((e) => +e.tagName[1])")
        assert levels[0] == 1 and np.all(np.diff(levels) <= 1)
        assert page.evaluate("document.documentElement.lang") == "en"


@pytest.mark.parametrize("name", ["table", "images", "labels", "joined"])
def test_it_fits_on_a_phone(name, program, reported):
    phone = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
    with Opened(program, reported(name), **phone) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        page.evaluate("document.getElementById('rules').scrollIntoView()")
        assert page.locator("#rules tbody .open").first.is_visible()


def test_pictures_of_reports_are_taken(program, tumours, tmp_path):
    screenshots.picture(program, tumours[0], tmp_path / "p.png")
    header = (tmp_path / "p.png").read_bytes()[:24]
    width, height = (int.from_bytes(header[k : k + 4], "big") for k in (16, 20))
    assert header[1:4] == b"PNG" and 900 < width < 1120 and height > 500


def test_light_and_dark(program, tumours):
    def colour(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    with Opened(program, tumours[0], color_scheme="light") as page:
        light = colour(page)
        page.click("#theme")
        dark = colour(page)
    with Opened(program, tumours[0], color_scheme="dark") as page:
        assert colour(page) == dark != light
        assert page.inner_text("#theme") == "Light"
        page.click("#theme")
        assert colour(page) == light


def test_it_inflates_the_model_itself_where_browsers_cannot(program, tumours):
    path, fitted, X, _ = tumours
    lacking = "delete window.DecompressionStream"
    with Opened(program, path, before=lacking) as page:
        assert page.evaluate("typeof DecompressionStream") == "undefined"
        found = page.evaluate(VOTES, rows_for_the_page(fitted, X.iloc[:9]))
    assert [[int(vote) for vote in votes] for votes, _, _ in found] == fitted.votes(X[:9]).tolist()


def test_a_model_without_examples_can_be_tried_too(program, tmp_path):
    for name in ("table", "images", "words"):
        fitted, _, _ = model(name)
        fitted.report(tmp_path / "r.html")
        with Opened(program, tmp_path / "r.html") as page:
            assert page.locator("#scores").count() == 0
            assert page.locator("#verdict b").inner_text() in {*map(str, fitted.classes_)}


def test_ten_thousand_rules_are_few_elements_and_there_at_once(program, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    fitted = CoTMClassifier(10_000, epochs=1, preset="paper", random_state=0).fit(X, y)
    fitted.report(tmp_path / "r.html", X, y)
    assert (tmp_path / "r.html").stat().st_size < 10_000_000
    with Opened(program, tmp_path / "r.html") as page:
        (paint,) = page.evaluate(
            "performance.getEntriesByName('first-contentful-paint').map(e => e.startTime)"
        )
        assert paint < 2000
        assert page.evaluate("report.table.shown.length") > 8000
        assert page.locator("#rules tr").count() < 60
        page.evaluate("report.table.scroller.scrollTop = 200000")
        wait(page, "report.table.rows.has(Math.round(200000 / 54))")
        assert page.locator("#rules tr").count() < 60
        page.evaluate("report.table.scroller.scrollTop = 1e9")
        wait(page, "report.table.rows.has(report.table.shown.length - 1)")
