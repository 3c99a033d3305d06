from __future__ import annotations

from collections import Counter

import pytest

from tests.tasks.bench import Bench


@pytest.fixture
def bench(tmp_path):
    bench = Bench("task_11_web_extraction", tmp_path)
    bench.solve()
    return bench


NOTES = "extraction_notes.json"

# One record for each quirk, read by hand in the pages.
BY_HAND = [
    ("product_catalog", 0, "price", 1719.89),  # 1.719,89 in the text
    ("product_catalog", 1, "name", "Quiet rug"),  # markup and a line break inside
    ("product_catalog", 1, "price", 308.36),  # an attribute, a crossed-out price, another price
    ("product_catalog", 3, "name", "Round café table"),  # an entity and a non-breaking space
    ("product_catalog", 5, "in_stock", False),  # none here, though it says so
    ("product_catalog", 6, "rating", None),
    ("product_catalog", 6, "review_count", 0),
    ("job_listings", 1, "company", "BrightYard"),
    ("job_listings", 1, "location", "Malmö, Sweden"),
    ("job_listings", 4, "salary_max", 59250),  # 61.250 in the text
    ("job_listings", 5, "salary_min", None),
    ("news_articles", 1, "read_time_minutes", 39),
    ("news_articles", 2, "url", "https://news.example.com/special/rain-2d-2"),
    ("news_articles", 4, "url", "https://news.example.com/2025/spring/?id=tram-39-4"),
    ("event_schedule", 2, "speaker", None),
    ("event_schedule", 6, "speaker", "Kwame Mensah"),
    ("event_schedule", 3, "registration_fee", None),
    ("event_schedule", 4, "event_type", "excursion"),
    ("company_directory", 0, "name", "Aino Dreyer"),
    ("company_directory", 0, "reports_to", None),
    ("company_directory", 2, "email", "celia.nagy@example.com"),
    ("company_directory", 7, "department", "Works council"),
    ("company_directory", 12, "department", "Finance & Legal"),
]


@pytest.mark.parametrize(("page", "place", "key", "value"), BY_HAND, ids=lambda each: str(each))
def test_a_value_is_what_a_person_reads(bench, page, place, key, value):
    assert bench.read(f"{page}.json")[place][key] == value


def test_a_late_evening_in_new_york_is_the_next_day_in_utc(bench):
    first = bench.read("news_articles.json")[0]
    page = (bench.path / "assets/web_extraction/news_articles.html").read_text(encoding="utf-8")
    moment = page.split('datetime="')[1].split('"')[0]
    assert moment[11:13] == "22"
    assert moment.endswith("-05:00")
    assert int(first["published_date"][-2:]) == int(moment[8:10]) + 1


def test_each_page_has_records_of_all_four_kinds_that_do_not_count(bench):
    left = bench.read(NOTES)["left_out"]
    pages = Counter(each["page"] for each in left)
    kinds = {(each["page"], each["reason"]) for each in left}
    assert pages["product_catalog"] == 5
    assert len(kinds) == 20
    assert len({(each["page"], each["id"], each["reason"]) for each in left}) == len(left)


@pytest.mark.parametrize(
    ("name", "place", "key", "value"),
    [
        ("product_catalog", 1, "price", 309.86),
        ("product_catalog", 0, "in_stock", 1),
        ("job_listings", 5, "salary_min", 0),
        ("job_listings", 0, "salary_min", 38250.0),
        ("news_articles", 0, "tags", []),
        ("event_schedule", 3, "registration_fee", 0),
        ("company_directory", 1, "email", "Bram.Ilves@example.com"),
    ],
)
def test_a_wrong_value_fails_the_check_of_its_key_and_the_document(bench, name, place, key, value):
    bench.change(f"{name}.json", lambda records: records[place].update({key: value}))
    kinds = [failed.split("_", 2)[2] for failed in bench.failed()]
    assert kinds == [key, "document"]


def test_a_record_that_does_not_count_fails_its_whole_page(bench):
    bench.change("job_listings.json", lambda records: records.insert(3, records[0]))
    assert bench.grade().sub_problem_scores == {1: 1.0, 2: 0.0, 3: 1.0, 4: 1.0, 5: 1.0}


@pytest.mark.parametrize(
    ("change", "failed"),
    [
        (lambda notes: notes["left_out"].pop(), ["left out", "notes"]),
        (lambda notes: notes["left_out"][0].update(reason="hidden"), ["left out", "notes"]),
        (lambda notes: notes.update(report="Done."), ["notes"]),
        (lambda notes: notes.update(count=3), ["notes"]),
    ],
    ids=["one is missing", "wrong reason", "no report", "surplus key"],
)
def test_wrong_notes_fail_checks_of_no_sub_problem(bench, change, failed):
    bench.change(NOTES, change)
    assert bench.failed() == failed
