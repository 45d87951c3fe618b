"""Writes deploy/kubernetes/monitoring/prometheus-rule.yaml: the rules of deploy/prometheus/rules.yml, as they stand, in
the form that the Prometheus Operator takes. `make docs` runs it; a test holds the two together.
"""

from __future__ import annotations

from pathlib import Path

DEPLOY = Path(__file__).parents[1] / "deploy"
RULES = DEPLOY / "prometheus" / "rules.yml"
MADE = DEPLOY / "kubernetes" / "monitoring" / "prometheus-rule.yaml"
_HEAD = """\
# Made from deploy/prometheus/rules.yml: change those, and run `make docs`.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: palimpsest
  labels:
    app.kubernetes.io/name: palimpsest
spec:
"""


def made() -> str:
    """The manifest."""
    lines = RULES.read_text(encoding="utf-8").splitlines(keepends=True)
    groups = lines[lines.index("groups:\n") :]
    return _HEAD + "".join(line if line == "\n" else f"  {line}" for line in groups)


if __name__ == "__main__":
    MADE.write_text(made(), encoding="utf-8")
