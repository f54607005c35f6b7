import pytest


def test_once_makes_no_second_refund(sixthcopy_cell):
    cell = sixthcopy_cell(system="mine", variant="once", workload="refund", boundary="response-at-tool-server")
    assert cell.verdict == "safe"
    assert sum(row["extra"] for row in cell.rows) == 0


def test_again_makes_one(sixthcopy_cell):
    sixthcopy_cell(system="mine", variant="again", workload="refund", boundary="response-at-tool-server")


def test_all_variants_are_run(sixthcopy_cell):
    cell = sixthcopy_cell(system="mine", workload="refund", boundary="received-before-commit")
    assert {row["system"] for row in cell.rows} == {"mine/once", "mine/again"}


@pytest.mark.parametrize("boundary", ["token-expired", "no-such"])
def test_a_cell_that_is_not_there(sixthcopy_cell, boundary):
    sixthcopy_cell(system="mine", variant="once", workload="append-line", boundary=boundary)


def test_a_system_that_is_not_there(sixthcopy_cell):
    sixthcopy_cell(system="nothing", workload="refund", boundary="crash-restart")
