"""Prometheus, Alertmanager and Grafana, as compose and Kubernetes are to run them: nothing is named that is not there,
and the real ones take it where they are installed."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
import yaml

from bot.app.main import ROLES
from scripts.prometheus_rule import MADE, made
from tests.deploy.files import DEPLOY, document, image_environment
from tests.deployed import DASHBOARD, RULES, rules
from tests.ports import free_port
from tests.servers.messages.server import MessagesServer
from tests.servers.prometheus import (
    ALERTMANAGER,
    AMTOOL,
    PROMTOOL,
    Prometheus,
    needs_alertmanager,
    needs_amtool,
    needs_prometheus,
    needs_promtool,
)
from tests.wire.program import KEY, Programs

COMPOSE = document(DEPLOY / "compose.yaml")["services"]
PROMETHEUS_YML = DEPLOY / "prometheus" / "prometheus.yml"
ALERTMANAGER_YML = DEPLOY / "alertmanager" / "alertmanager.yml"
PROVISIONING = DEPLOY / "grafana" / "provisioning"
MONITORING = [name for name, service in COMPOSE.items() if service.get("profiles") == ["monitoring"]]
PORTS = {"prometheus": 9090, "alertmanager": 9093, "grafana": 3000}
"""On which each listens by itself."""


def mounts(service: str) -> dict[Path, str]:
    """What of this folder a service sees, and where."""
    pairs = [volume.split(":") for volume in COMPOSE[service]["volumes"]]
    return {DEPLOY / source: target for source, target, *_ in pairs if source.startswith("./")}


def seen(service: str, path: str) -> Path:
    """The file of ours that a service sees there."""
    for source, target in mounts(service).items():
        if path == target:
            return source
        if path.startswith(f"{target}/"):
            return source / path.removeprefix(f"{target}/")
    raise AssertionError(f"{service} sees nothing of ours at {path}")


@pytest.mark.parametrize("service", MONITORING)
def test_what_is_mounted_is_there(service: str) -> None:
    assert mounts(service)
    for source in mounts(service):
        assert source.is_file() or any(source.iterdir()), f"{source} is nothing: Docker would make an empty folder"
    assert COMPOSE[service]["ports"] == [f"127.0.0.1:{PORTS[service]}:{PORTS[service]}"]


def test_each_reads_its_configuration_where_its_image_looks_for_it() -> None:
    assert seen("prometheus", "/etc/prometheus/prometheus.yml") == PROMETHEUS_YML
    assert seen("alertmanager", "/etc/alertmanager/alertmanager.yml") == ALERTMANAGER_YML
    for kind in ("datasources", "dashboards"):
        assert list(seen("grafana", f"/etc/grafana/provisioning/{kind}").glob("*.yaml"))


def test_prometheus_looks_at_every_role_where_it_listens_and_tells_the_alertmanager() -> None:
    told = document(PROMETHEUS_YML)
    (job,) = told["scrape_configs"]
    (names,) = job["dns_sd_configs"]
    assert job["job_name"] == "palimpsest"
    assert set(names["names"]) == set(ROLES) <= set(COMPOSE)
    assert names["port"] == int(image_environment()["HTTP_BIND"].rpartition(":")[2])
    assert [seen("prometheus", f"/etc/prometheus/{name}") for name in told["rule_files"]] == [RULES]
    (manager,) = told["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"]
    assert manager == f"alertmanager:{PORTS['alertmanager']}"


def test_grafana_has_a_data_source_that_is_there_and_reads_the_dashboard() -> None:
    sources = document(PROVISIONING / "datasources" / "palimpsest.yaml")
    assert sources["apiVersion"] == 1
    for source in sources["datasources"]:
        url = urlsplit(source["url"])
        assert (source["type"], url.port) == (url.hostname, PORTS[str(url.hostname)])
    assert [source["type"] for source in sources["datasources"] if source.get("isDefault")] == ["prometheus"]
    dashboards = document(PROVISIONING / "dashboards" / "palimpsest.yaml")
    assert dashboards["apiVersion"] == 1
    (provider,) = dashboards["providers"]
    assert provider["type"] == "file"
    assert seen("grafana", f"{provider['options']['path']}/{DASHBOARD.name}") == DASHBOARD
    dashboard = json.loads(DASHBOARD.read_text())
    (variable,) = dashboard["templating"]["list"]
    assert (variable["type"], variable["query"]) == ("datasource", "prometheus"), "it takes the default one"
    assert {panel["datasource"]["uid"] for panel in dashboard["panels"] if panel["type"] != "row"} == {"${datasource}"}


def test_the_alertmanager_works_as_it_is_and_hushes_alerts_that_there_are() -> None:
    told = document(ALERTMANAGER_YML)
    names = {receiver["name"] for receiver in told["receivers"]}
    assert {told["route"]["receiver"], *(route["receiver"] for route in told["route"]["routes"])} <= names
    known = {rule["alert"] for rule in rules() if "alert" in rule}
    for rule in told["inhibit_rules"]:
        for matcher in (*rule["source_matchers"], *rule["target_matchers"]):
            named = set(matcher.partition('"')[2].rstrip('"').split("|"))
            assert named <= known, named - known


@needs_promtool
def test_promtool_takes_the_configuration_with_its_rules() -> None:
    assert PROMTOOL
    said = subprocess.run(
        [PROMTOOL, "check", "config", str(PROMETHEUS_YML)], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stdout + said.stderr


@needs_amtool
def test_amtool_takes_the_configuration_also_with_what_stands_there_as_an_example(tmp_path: Path) -> None:
    assert AMTOOL
    lines = ALERTMANAGER_YML.read_text().splitlines()
    begin = lines.index("  # - name: telegram")
    filled = [line.replace("  # ", "  ", 1) if number >= begin else line for number, line in enumerate(lines)]
    example = tmp_path / "alertmanager.yml"
    example.write_text("\n".join(line for line in filled if line.strip() != "#"))
    for path in (ALERTMANAGER_YML, example):
        said = subprocess.run([AMTOOL, "check-config", str(path)], capture_output=True, text=True, check=False)
        assert said.returncode == 0, said.stdout + said.stderr
    assert "4 receivers" in said.stdout


@needs_prometheus
async def test_a_real_prometheus_takes_the_configuration_and_sees_every_role(
    tmp_path: Path, postgres_database: str, external_valkey: str
) -> None:
    book = {"DATABASE_URL": postgres_database, "REDIS_URL": external_valkey}
    async with MessagesServer(window=3_000, key=KEY) as model:
        programs = Programs(tmp_path, model, book=book)
        try:
            started = await asyncio.gather(*(programs.serve(role) for role in ROLES))
            targets = [json.loads(one.logged("http_listens")[0])["address"] for one in started]
            async with Prometheus(tmp_path / "prometheus", on_loopback(targets)) as prometheus:

                async def all_are_seen() -> bool:
                    return len(await prometheus.values("palimpsest_info and on (instance) up == 1")) == len(ROLES)

                await prometheus.until(all_are_seen, "it sees every role")
                groups = (await prometheus.ask("rules"))["groups"]
                assert [rule.get("lastError", "") for group in groups for rule in group["rules"]] == [""] * len(rules())
                shown = {labels["roles"] for labels, _ in await prometheus.values("palimpsest_info")}
                assert shown == set(ROLES)
        finally:
            await programs.close()


@needs_alertmanager
async def test_a_real_alertmanager_is_told_by_a_real_prometheus(tmp_path: Path) -> None:
    assert ALERTMANAGER
    told = on_loopback([f"127.0.0.1:{free_port()}"])  # nobody is there
    rule = next(one for one in rules() if one.get("alert") == "PalimpsestDown")
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "one", "rules": [{**rule, "for": "0s"}]}]}))
    told["rule_files"] = [str(tmp_path / "rules.yml")]
    async with aiohttp.ClientSession() as session:
        manager, port = await _alertmanager(tmp_path, session)
        told["alerting"] = {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}]}
        try:
            async with Prometheus(tmp_path / "prometheus", told) as prometheus:

                async def is_told() -> bool:
                    try:
                        async with session.get(f"http://127.0.0.1:{port}/api/v2/alerts") as answer:
                            alerts = await answer.json()
                    except aiohttp.ClientError:
                        return False
                    return [one["labels"]["alertname"] for one in alerts] == ["PalimpsestDown"]

                await prometheus.until(is_told, "the Alertmanager has the alert")
        finally:
            manager.terminate()
            await manager.wait()


async def _alertmanager(folder: Path, session: aiohttp.ClientSession) -> tuple[asyncio.subprocess.Process, int]:
    """One that is ready, and its port: where somebody else was quicker to take a free one, on the next."""
    for number in range(5):
        port = free_port()
        manager = await asyncio.create_subprocess_exec(
            str(ALERTMANAGER),
            f"--config.file={ALERTMANAGER_YML}",
            f"--storage.path={folder / f'alertmanager-{number}'}",
            "--cluster.listen-address=",
            f"--web.listen-address=127.0.0.1:{port}",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        while manager.returncode is None:
            try:
                async with session.get(f"http://127.0.0.1:{port}/-/ready") as answer:
                    if answer.ok:
                        return manager, port
            except aiohttp.ClientError:
                await asyncio.sleep(0.05)
    raise AssertionError("the Alertmanager does not begin")


def on_loopback(targets: list[str]) -> dict[str, Any]:
    """The configuration as it is, but for where the processes are, and how soon it looks."""
    told = document(PROMETHEUS_YML)
    told["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    told["rule_files"] = [str(PROMETHEUS_YML.parent / name) for name in told["rule_files"]]
    del told["alerting"]
    (job,) = told["scrape_configs"]
    del job["dns_sd_configs"]
    job["static_configs"] = [{"targets": targets}]
    return told


def test_the_rules_of_the_operator_are_those_of_prometheus() -> None:
    assert MADE.read_text() == made(), "`make docs` makes it anew"
    rule = document(MADE)
    assert (rule["apiVersion"], rule["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    assert rule["spec"] == document(RULES)


def test_the_pod_monitor_takes_the_pods_of_every_role_by_the_name_of_the_job() -> None:
    monitor = document(DEPLOY / "kubernetes" / "monitoring" / "pod-monitor.yaml")
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    wanted = monitor["spec"]["selector"]["matchLabels"]
    for role in ROLES:
        deployment = next(
            one
            for one in yaml.safe_load_all((DEPLOY / "kubernetes" / f"{role}.yaml").read_text())
            if one["kind"] == "Deployment"
        )
        template = deployment["spec"]["template"]
        labels = template["metadata"]["labels"]
        assert wanted.items() <= labels.items()
        assert labels[monitor["spec"]["jobLabel"]] == "palimpsest", "for which the rules ask"
        (container,) = template["spec"]["containers"]
        assert endpoint["port"] in {port["name"] for port in container["ports"]}


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")
def test_kubectl_puts_the_monitoring_in_where_it_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "kubernetes"
    shutil.copytree(DEPLOY / "kubernetes", folder)
    lines = (folder / "kustomization.yaml").read_text()
    assert "# components:\n#   - monitoring" in lines
    named = lines.replace("# components:\n#   - monitoring", "components:\n  - monitoring")
    (folder / "kustomization.yaml").write_text(named)
    built = subprocess.run(["kubectl", "kustomize", str(folder)], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    made_of = [one for one in yaml.safe_load_all(built.stdout) if one["apiVersion"].startswith("monitoring")]
    assert [one["kind"] for one in made_of] == ["PodMonitor", "PrometheusRule"]
    assert {one["metadata"]["namespace"] for one in made_of} == {"palimpsest"}
