from __future__ import annotations

import pytest

from tests.tasks.bench import Bench

KEYS = ("id", "full_name", "email", "created_at", "country", "age")


@pytest.fixture
def bench(tmp_path):
    bench = Bench("task_01_batch_data_transform", tmp_path)
    bench.solve()
    return bench


# One record for each quirk, worked out by hand from fixture and prompt.
BY_HAND = [
    (1, 2, "AX-0034", "Rosalind Achebe", "rosalind@example.net", "2020-12-31", "Nigeria", None),
    (1, 6, "AX-0037", "Joaquim Sá", "joaquim.sa@example.com", "2021-10-05", None, 46),
    (1, 7, "AX-0032", "Théo Marchand", "theo.marchand@example.com", "2019-11-03", "Belgium", 42),
    (2, 3, "b/103", "Suharto", "suharto@example.com", "2018-07-02", "Indonesia", 48),
    (2, 6, "b/107", "Tarek", "tarek@example.org", "2019-03-31", None, 44),
    (3, 0, "C002", "Anaïs Delcourt", "anais@example.org", "2017-03-04", "Luxembourg", 26),
    (3, 2, "C005", "Ole <Bo> Strand", "ole.strand@example.net", "2018-01-09", None, 44),
    (3, 3, "C007", "Keoni Kahale", "keoni.kahale@example.com", "2018-10-09", "United States", None),
    (4, 1, "0072", "Chiara: Rossi", "chiara.rossi@example.org", "2016-03-01", "Italy", 36),
    (
        4,
        3,
        "0074",
        "Francisca Quispe Mamani",
        "francisca.q@example.org",
        "2017-06-15",
        "Bolivia",
        None,
    ),
    (5, 1, "000211", "Johannes Shikongo", "johannes@example.org", "2020-02-03", "NA", 32),
    (5, 4, "000214", '"Tess', "tess@example.net", "2021-01-12", "AU", 35),
    (6, 1, "u#7003", "Anne Marie Duquesne", "annemarie.d@example.net", "2021-06-30", "Belgium", 30),
    (6, 9, "u#7010", "Teuila", "teuila@example.com", "2023-10-10", "Samoa", 42),
]


@pytest.mark.parametrize("row", BY_HAND, ids=lambda row: row[2])
def test_a_record_is_what_a_person_makes_of_it(bench, row):
    number, index, key, name, email, day, country, age = row
    record = bench.read(f"users_{number:02}.json")[index]
    assert tuple(record) == KEYS
    assert list(record.values()) == [key, name, email, f"{day}T00:00:00Z", country, age]


@pytest.mark.parametrize("number", range(1, 7))
def test_each_file_has_twelve_users_after_the_repeated_ids(bench, number):
    assert len({user["id"] for user in bench.read(f"users_{number:02}.json")}) == 12


@pytest.mark.parametrize(
    ("key", "value"),
    [("email", "Niamh@Example.com"), ("created_at", "2019-02-11"), ("age", 34.0), ("age", "34")],
)
def test_a_wrong_value_fails_the_check_of_its_key_alone(bench, key, value):
    bench.change("users_01.json", lambda users: users[0].update({key: value}))
    assert bench.failed() == [f"sub_1_{key}"]
    assert bench.message(f"sub_1_{key}").startswith(f"outputs/users_01.json[0].{key}: found")


def test_a_surplus_key_fails_its_own_check_alone(bench):
    bench.change("users_03.json", lambda users: users[4].update(source="xml"))
    assert bench.failed() == ["sub_3_keys"]
    assert bench.message("sub_3_keys") == (
        "outputs/users_03.json[4]: found the keys age, country, created_at, email, full_name, id, "
        "source, expected age, country, created_at, email, full_name, id"
    )


def test_a_record_too_many_fails_the_whole_sub_problem(bench):
    bench.change("users_02.json", lambda users: users.append(users[0]))
    assert bench.grade().sub_problem_scores[2] == 0.0
    assert bench.message("sub_2_age") == "outputs/users_02.json: found 13 elements, expected 12"


def test_the_order_of_the_source_counts(bench):
    bench.change("users_06.json", lambda users: users.reverse())
    assert bench.grade().sub_problem_scores[6] < 0.2


def test_the_order_of_keys_does_not_count(bench):
    users = [dict(reversed(user.items())) for user in bench.read("users_04.json")]
    bench.write("users_04.json", users)
    assert bench.failed() == []


@pytest.mark.parametrize(
    ("slip", "number", "failed"),
    [
        (lambda user: user["created_at"][:5] + user["created_at"][8:10], 1, "created_at"),
        (lambda user: user["country"] or "", 5, "country"),
        (lambda user: int(user["id"]), 5, "id"),
    ],
    ids=["day and month", "empty text for null", "number for id"],
)
def test_a_systematic_slip_costs_one_kind_of_check(bench, slip, number, failed):
    name = f"users_{number:02}.json"
    bench.change(name, lambda users: [user.update({failed: slip(user)}) for user in users])
    wanted = [f"sub_{number}_{failed}"] + ([f"sub_{number}_keys"] if failed == "id" else [])
    assert bench.failed() == wanted
