"""Tables of what a study on many workers costs, from the record of `tests/bench/bench_cluster.py`."""

from __future__ import annotations

from typing import Any

from specsim.report.text import markdown

MILLION = 1_000_000


def table(record: dict[str, Any]) -> str:
    """Return three tables with a sentence each: workers, a worker that dies, and a million cells of each kind."""
    # Workers: the cells only wait, so that they share two cores.
    cells, cell = record["cells"], record["cell_s"]
    scaling = [["workers", "seconds", "without any loss", "efficiency", "bytes a cell"]]
    for row in record["scaling"]:
        count = row["workers"]
        scaling.append(
            [
                str(count),
                f"{row['seconds']:.1f}",
                f"{cells * cell / count:.1f}",
                f"{row['efficiency']:.0%}",
                f"{row['bytes'] / cells:,.0f}",
            ]
        )
    heading = (
        f"{cells:,} cells of {1000 * cell:g} ms each, on a scheduler and workers that are processes of one machine:"
    )

    # One of the workers dies.
    died = record["killed"]
    whole = next(row["seconds"] for row in record["scaling"] if row["workers"] == died["workers"])
    same = "the same file, byte for byte" if died["same_file"] else "**another file**"
    death = (
        f"With one of {died['workers']} workers killed half-way: {died['seconds']:.1f} s instead of {whole:.1f} s, "
        f"{died['rows']:,} rows, {same}."
    )

    # A million cells.
    million = record["million"]
    driver = (
        f"{million['cells']:,} cells of kind `plan` on two processes: {million['seconds']:.0f} s, "
        f"{million['memory'] / 1e9:.1f} GB of memory in the process that hands them out, a file of "
        f"{million['file'] / 1e6:.0f} MB."
    )
    costs = [["a cell of", "takes", "a million take"]]
    for words, seconds in record["cell"].items():
        costs.append([words, f"{1000 * seconds:.3g} ms", f"{MILLION * seconds / 3600:.2g} core-hours"])
    made = f"Measured on {record['machine']}, {record['cores']} cores: `python tests/bench/bench_cluster.py --record`."
    return "\n\n".join([heading, markdown(scaling), death, driver, markdown(costs), made])
