"""DATA_DIR."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.app.doctor.folder import check_folder, file_system, network, readers, space
from tests.doctor.conftest import MakeCase, said, the_one

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/export /mnt/share nfs4 rw 0 0
ada@host:/home /mnt/my\\040disk fuse.sshfs rw 0 0
"""


async def test_a_folder_that_is_not_there_yet_is_no_finding_and_is_not_made(case: MakeCase, tmp_path: Path) -> None:
    (line,) = await said(check_folder, case())
    assert "made at the first start" in line
    assert not (tmp_path / "data").exists()


async def test_a_folder_of_ones_own_is_well(case: MakeCase, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    assert await said(check_folder, case()) == [f"ok: {tmp_path / 'data'} can be written."]
    assert list((tmp_path / "data").iterdir()) == []


async def test_a_file_in_its_place_is_a_problem(case: MakeCase, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    assert "it is not a folder" in (await the_one(check_folder, case(), "problem")).sentence


async def test_a_folder_that_cannot_be_written_is_a_problem(case: MakeCase) -> None:
    finding = await the_one(check_folder, case(data_dir=Path("/proc/palimpsest")), "problem")
    assert "cannot be written" in finding.sentence


async def test_a_folder_that_others_can_read_is_a_warning(case: MakeCase, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o755)
    (tmp_path / "data").chmod(0o755)
    assert (await the_one(check_folder, case(), "warning")).advice == f"chmod 700 {tmp_path / 'data'}"
    assert readers(tmp_path, 0o40700) == []


@pytest.mark.parametrize(
    ("free", "state"), [(99_999_999, "problem"), (100_000_000, "warning"), (999_999_999, "warning"), (10**9, None)]
)
def test_room_is_counted(free: int, state: str | None) -> None:
    assert [finding.state for finding in space(free)] == ([state] if state else [])


@pytest.mark.parametrize(
    ("folder", "kind", "state"),
    [
        ("/srv/data", "ext4", None),
        ("/mnt/share/data", "nfs4", "warning"),
        ("/mnt/my disk/data", "fuse.sshfs", "warning"),
        ("/mnt/shared", "ext4", None),
    ],
)
def test_a_network_disk_is_a_warning(folder: str, kind: str, state: str | None) -> None:
    assert file_system(Path(folder), MOUNTS) == kind
    assert [finding.state for finding in network(kind)] == ([state] if state else [])
