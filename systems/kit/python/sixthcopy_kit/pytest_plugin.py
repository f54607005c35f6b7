"""One cell of the benchmark in a team's own unit tests:

    def test_a_lost_answer_makes_no_second_refund(sixthcopy_cell):
        sixthcopy_cell(system="systems/mine", workload="refund", boundary="committed-before-response")

The fixture runs the program `sixthcopy` (variable SIXTHCOPY, else from PATH) and fails with the story of a trial
that came out worse than it may.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Union

import pytest

VERDICTS = ("exact", "safe", "violation")  # from the best to the worst


class Cell(NamedTuple):
    """How a system came out: the worst verdict, and the rows of the report."""

    verdict: str
    rows: List[Dict[str, Any]]


class CellRunner:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._runs = 0

    def __call__(
        self, *, system: Union[str, Path], workload: str, boundary: str, variant: Optional[str] = None, worst: str = "safe"
    ) -> Cell:
        """Runs a system, the folder of its system.yaml, through a workload (a name, or a file) at a boundary; all
        variants that the system's manifest has, or one. It fails unless every trial is proof, and none came out
        worse than `worst`."""
        __tracebackhide__ = True
        if worst not in VERDICTS[:2]:
            raise ValueError(f"worst is {worst!r}, expected exact or safe")
        self._runs += 1
        run = self._folder / f"{self._runs}.db"
        home = Path(system).resolve()
        names = [f"{home.name}/{variant}"] if variant else _names(home)
        arguments = ["--systems", str(home.parent), "--workload", workload, "--boundary", boundary, "--out", str(run)]
        said = _program("run", *arguments, *(word for name in names for word in ("--system", name)))
        if not run.exists():
            pytest.fail(f"sixthcopy did not run:\n{said.stderr.strip()}", pytrace=False)
        report = json.loads(_program("report", str(run), "--format", "json").stdout)
        rows = [row for row in report["cells"] if row["system"] in names and row["boundary"] == boundary]
        if not rows:
            reasons = sorted({cell["reason"] for cell in report["not_applicable"] if cell["boundary"] == boundary})
            pytest.fail(f"{boundary} has no cell with {workload}: {'; '.join(reasons) or said.stderr.strip()}", pytrace=False)
        without_proof = [row for row in rows if row["invalid"] or row["unjudged"]]
        if without_proof:
            pytest.fail(_story("a trial that is no proof", without_proof[0], run), pytrace=False)
        verdict = max((v for row in rows for v in VERDICTS if row[v]), key=VERDICTS.index)
        bad = [row for row in rows if any(row[v] for v in VERDICTS[VERDICTS.index(worst) + 1:])]
        if bad:
            pytest.fail(_story(f"{verdict}, expected {worst} at worst", bad[0], run), pytrace=False)
        return Cell(verdict, rows)


@pytest.fixture
def sixthcopy_cell(tmp_path: Path) -> CellRunner:
    """Runs one cell: sixthcopy_cell(system=FOLDER, workload=NAME, boundary=NAME)."""
    return CellRunner(tmp_path)


def _program(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = os.environ.get("SIXTHCOPY") or shutil.which("sixthcopy")
    if program is None:
        pytest.fail("sixthcopy is not in PATH: put it there, or name it in the variable SIXTHCOPY", pytrace=False)
    return subprocess.run([program, *arguments], capture_output=True, text=True)


def _names(home: Path) -> List[str]:
    """The systems of a folder, as `list` tells them."""
    said = _program("list", "systems", "--systems", str(home.parent), "--format", "json")
    names = [s["name"] for s in json.loads(said.stdout or "[]") if s["name"].split("/")[0] == home.name]
    if not names:
        pytest.fail(f"{home} has no system: {said.stderr.strip() or 'it holds no system.yaml'}", pytrace=False)
    return names


def _story(what: str, row: Dict[str, Any], run: Path) -> str:
    trial = row["trial"]
    told = _program("show", trial, "--run", str(run)).stdout.strip()
    cell = f"{row['system']}, {row['workload']}, {row['boundary']} {row['variant']}"
    return f"{what}: {cell}\n\n{told}\n\nagain: sixthcopy show {trial} --run {run}"
