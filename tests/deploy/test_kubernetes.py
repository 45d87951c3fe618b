"""The Kubernetes manifests, held against the program: its paths, its port, its settings, its commands."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from bot.app.main import ROLES
from tests.deploy.files import DEPLOY, GRACE, document, documents, image_environment, is_setting, value_of

FOLDER = DEPLOY / "kubernetes"
Manifest = dict[str, Any]


def everything() -> Iterator[Manifest]:
    for path in sorted(FOLDER.rglob("*.yaml")):
        yield from documents(path)


def named(kind: str, name: str) -> Manifest:
    [found] = [one for one in everything() if one["kind"] == kind and one["metadata"]["name"] == name]
    return found


def pod(role: str) -> Manifest:
    spec: Manifest = named("Deployment", role)["spec"]["template"]["spec"]
    return spec


def container(role: str) -> Manifest:
    [found] = pod(role)["containers"]
    assert isinstance(found, dict)
    return found


def test_every_manifest_has_a_kind_a_version_and_a_name_of_its_own() -> None:
    found = [one for one in everything() if one["kind"] not in ("Kustomization", "Component")]
    assert all(one["apiVersion"] for one in found)
    names = [(one["kind"], one["metadata"]["name"]) for one in found]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "folder", [FOLDER, FOLDER / "example-stores", FOLDER / "monitoring"], ids=lambda folder: folder.name
)
def test_kustomize_is_told_files_that_are_there(folder: Any) -> None:
    for name in document(folder / "kustomization.yaml")["resources"]:
        assert (folder / name).exists()


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")
def test_kubectl_puts_them_together() -> None:
    built = subprocess.run(["kubectl", "kustomize", str(FOLDER)], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert built.stdout.count("kind: Deployment\n") == len(ROLES)


@pytest.mark.parametrize("role", ROLES)
def test_each_role_is_asked_where_it_answers(role: str) -> None:
    port = named("ConfigMap", "palimpsest")["data"]["HTTP_BIND"].rpartition(":")[2]
    assert container(role)["ports"] == [{"name": "http", "containerPort": int(port)}]
    paths = {name: container(role)[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness", "readiness")}
    assert paths == {"startup": "/healthz", "liveness": "/healthz", "readiness": "/readyz"}
    assert all(container(role)[f"{name}Probe"]["httpGet"]["port"] == "http" for name in paths)
    assert named("Service", "gateway")["spec"]["ports"][0]["targetPort"] == "http"


@pytest.mark.parametrize("role", ROLES)
def test_each_role_is_walled_in_and_has_time_to_end(role: str) -> None:
    spec, walls = pod(role), container(role)["securityContext"]
    assert container(role)["args"] == ["run", "--role", role]
    assert spec["terminationGracePeriodSeconds"] >= int(settings()["SHUTDOWN_SECONDS"]) + GRACE
    assert spec["securityContext"]["runAsNonRoot"]
    assert f"{spec['securityContext']['runAsUser']}:{spec['securityContext']['runAsGroup']}" == value_of("USER")
    assert walls == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    mounts = {one["mountPath"]: one["name"] for one in container(role)["volumeMounts"]}
    assert set(mounts) == {image_environment()["DATA_DIR"], "/tmp"}
    assert set(mounts.values()) == {one["name"] for one in spec["volumes"]}
    assert "memory" in container(role)["resources"]["limits"]


@pytest.mark.parametrize("role", ROLES)
def test_some_of_each_role_stay_when_nodes_are_emptied(role: str) -> None:
    deployment = named("Deployment", role)["spec"]
    labels = deployment["selector"]["matchLabels"]
    assert labels == deployment["template"]["metadata"]["labels"]
    budget = named("PodDisruptionBudget", role)["spec"]
    assert budget["selector"]["matchLabels"] == labels
    assert budget["maxUnavailable"] < deployment["replicas"]
    assert deployment["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    [spread] = deployment["template"]["spec"]["topologySpreadConstraints"]
    assert spread["labelSelector"]["matchLabels"] == labels


def settings() -> dict[str, str]:
    found: dict[str, str] = named("ConfigMap", "palimpsest")["data"]
    return found


def test_what_they_set_are_settings_and_only_the_gateway_gets_tokens() -> None:
    common = {**settings(), **named("Secret", "palimpsest")["stringData"]}
    platforms = named("Secret", "palimpsest-platforms")["stringData"]
    assert all(is_setting(name) for name in (*common, *platforms))
    assert not [name for name in common if name.endswith("_TOKEN")]
    for role in ROLES:
        sources = [one.get("secretRef", {}).get("name") for one in container(role)["envFrom"]]
        assert ("palimpsest-platforms" in sources) == (role == "gateway")


def test_the_files_of_conversations_are_on_a_volume_that_many_can_write() -> None:
    assert named("PersistentVolumeClaim", "data")["spec"]["accessModes"] == ["ReadWriteMany"]
    for role in ROLES:
        assert {"name": "data", "persistentVolumeClaim": {"claimName": "data"}} in pod(role)["volumes"]


@pytest.mark.parametrize(("store", "url"), [("postgres", "DATABASE_URL"), ("valkey", "REDIS_URL")])
def test_the_stores_of_the_example_are_where_the_example_of_the_secret_says(store: str, url: str) -> None:
    port = named("Service", store)["spec"]["ports"][0]["port"]
    assert f"{store}:{port}/" in named("Secret", "palimpsest")["stringData"][url]
    assert named("StatefulSet", store)["spec"]["serviceName"] == store
