"""The audit of the published acceptance lengths that are shipped."""

from __future__ import annotations

from typer.testing import CliRunner

from specsim.claims.curves import audit_lines, audited_curves
from specsim.cli import app


def test_the_shipped_curves_are_audited() -> None:
    audits = {audit.name: audit for audit in audited_curves()}
    assert sum(len(audit.taus) for audit in audits.values()) == 112
    dspark = audits["dsv4-pro-0813-dspark, thinking on"]
    assert any(fault.startswith("tau falls from 3.73 at 7 drafts to 3.47 at 8") for fault in dspark.faults)
    assert not dspark.explained
    mtp = audits["dsv4_mtp, thinking off"]
    assert any(fault.startswith("tau falls from 3.16 at 6 drafts to 3 at 7") for fault in mtp.faults)
    assert mtp.explained
    assert audits["glm5.2_mtp, thinking on"].faults == ()
    assert list(dspark.nearest) == sorted(dspark.nearest)
    assert dspark.violations() == {"falls": 2, "adds more and more": 0, "leaves [1, gamma + 1]": 0}
    # Every sentence belongs to one law.
    assert all(sum(audit.violations().values()) == len(audit.faults) for audit in audits.values())


def test_validate_says_each_violation_in_a_sentence() -> None:
    said = CliRunner().invoke(app, ["validate"]).output
    assert "112 published acceptance lengths, 14 curves: 10 contradict a law of acceptance, 1 of them beyond" in said
    assert "curves by what they do: falls 5, adds more and more 8, leaves [1, gamma + 1] 0" in said
    assert audit_lines(audited_curves())[2].split(":")[0] in said
