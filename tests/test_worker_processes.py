"""The processes of long runs: every number is done once, also when a process dies."""

from tests.workers import run_parts


def test_a_number_that_ends_its_process_is_reported_and_the_others_are_done():
    died = []

    def failed(number, reason):
        died.append((number, reason))
        return []

    parts = [(0, 4), (4, 4), (8, 2)]
    found = list(run_parts(parts, 2, "tests.dying", {"dies_at": 5}, failed))
    assert sorted(n for part in found for n in part) == [0, 1, 2, 3, 4, 6, 7, 8, 9]
    assert died == [(5, "the process died (SIGKILL)")]
