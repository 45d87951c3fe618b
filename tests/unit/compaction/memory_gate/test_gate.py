"""The memory gate: which commands get a path from memory, how it is quoted there, and which stay as they are."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from bot.compaction.facts.fact import Fact, FactKind, Speaker
from bot.compaction.memory_gate.gate import GATE, Rewrite, gates_in, looks_for_a_folder, rewrite

WINDOWS = "C:\\Users\\Ada\\Desktop"
HOME = "/data/ada/Desktop"


def place(path: str, **more: object) -> Fact:
    return Fact(FactKind.PATH, path, (1,), speaker=Speaker.TOOL, **more)  # type: ignore[arg-type]


def gated(command: str, *facts: Fact, tool: str = "shell", asked: str = "What is on my desktop?") -> Rewrite | None:
    return rewrite(tool, {"command": command}, facts or (place(HOME),), asked)


def run_as(command: str, path: str, tool: str = "shell") -> str:
    found = gated(command, place(path), tool=tool)
    assert found is not None, command
    return found.rewritten


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ls ~/Desktop", f"ls {HOME}"),
        ("ls ~/Desktop/notes", f"ls {HOME}/notes"),
        ("cat ~/Desktop/*.txt | head", f"cat {HOME}/*.txt | head"),
        ("ls $HOME/Desktop", f"ls {HOME}"),
        ("ls ${HOME}/Desktop/", f"ls {HOME}/"),
        ('ls "$HOME/Desktop/my notes"', f'ls "{HOME}/my notes"'),
        ('ls "${HOME}/Desktop"', f'ls "{HOME}"'),
        ('ls "$HOME"/Desktop', f"ls {HOME}"),
        ('ls "~/Desktop"', f'ls "{HOME}"'),
        ("d=~/Desktop; ls $d", f"d={HOME}; ls $d"),
        ("bash -c 'ls ~/Desktop'", f"bash -c 'ls {HOME}'"),
        ('sh -lc "ls $HOME/Desktop"', f'sh -lc "ls {HOME}"'),
        ("ls ~/Desktop 2>/dev/null", f"ls {HOME} 2>/dev/null"),
        ("find ~/Desktop -name '*.md'", f"find {HOME} -name '*.md'"),
        ("grep -rn 'to do; rm it' ~/Desktop", f"grep -rn 'to do; rm it' {HOME}"),
        ("cat ~/Desktop/a.txt | sort | uniq -c | head -3", f"cat {HOME}/a.txt | sort | uniq -c | head -3"),
        ("head -n 5 ~/Desktop/a.txt 2>&1", f"head -n 5 {HOME}/a.txt 2>&1"),
        ("find ~/Desktop -name '*.md' | xargs -n 1 grep -l x", f"find {HOME} -name '*.md' | xargs -n 1 grep -l x"),
        ("find ~/Desktop -name '*.md' -print0 | xargs -0 wc", f"find {HOME} -name '*.md' -print0 | xargs -0 wc"),
        ("python3 ~/Desktop/report.py --brief", f"python3 {HOME}/report.py --brief"),
        ("python3 -u ~/Desktop/report.py | tail -1", f"python3 -u {HOME}/report.py | tail -1"),
        ("git -C ~/Desktop/site log --oneline -3", f"git -C {HOME}/site log --oneline -3"),
        ("git -C ~/Desktop/site status; ls ~/Desktop", f"git -C {HOME}/site status; ls {HOME}"),
        ("git --no-pager -C ~/Desktop/site branch -a", f"git --no-pager -C {HOME}/site branch -a"),
        ("sed -n '1,5p' ~/Desktop/a.txt", f"sed -n '1,5p' {HOME}/a.txt"),
        ("awk -F, '{print $2}' ~/Desktop/a.csv", f"awk -F, '{{print $2}}' {HOME}/a.csv"),
        ('for f in ~/Desktop/*; do wc -l "$f"; done', f'for f in {HOME}/*; do wc -l "$f"; done'),
        ("if [ -d ~/Desktop ]; then ls ~/Desktop; fi", f"if [ -d {HOME} ]; then ls {HOME}; fi"),
        ("wc -l < ~/Desktop/a.txt", f"wc -l < {HOME}/a.txt"),
        ("(cd ~/Desktop && ls)", f"(cd {HOME} && ls)"),
        ('bash -lc "grep -c x ~/Desktop/a"', f'bash -lc "grep -c x {HOME}/a"'),
        ("ls ~/Desktop; sleep 2", f"ls {HOME}; sleep 2"),
    ],
)
def test_probes_of_a_posix_shell_are_rewritten(command: str, expected: str) -> None:
    assert run_as(command, HOME) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("dir $env:USERPROFILE/Desktop", f"dir {WINDOWS}"),
        ("dir $env:USERPROFILE\\Desktop\\*.txt", f"dir {WINDOWS}\\*.txt"),
        ('Get-ChildItem "$env:USERPROFILE\\Desktop"', f'Get-ChildItem "{WINDOWS}"'),
        ("Get-ChildItem ${env:USERPROFILE}\\Desktop", f"Get-ChildItem {WINDOWS}"),
        ('Get-ChildItem "$($env:USERPROFILE)\\Desktop"', f'Get-ChildItem "{WINDOWS}"'),
        ("Get-ChildItem $env:HOME/Desktop", f"Get-ChildItem {WINDOWS}"),
        ("Get-ChildItem ~\\Desktop", f"Get-ChildItem {WINDOWS}"),
        ("Get-ChildItem '~/Desktop'", f"Get-ChildItem '{WINDOWS}'"),
        ("Get-ChildItem $HOME\\Desktop", f"Get-ChildItem {WINDOWS}"),
        ("[Environment]::GetFolderPath('Desktop')", f"'{WINDOWS}'"),
        ('$d = [System.Environment]::GetFolderPath("Desktop"); ls $d', f"$d = '{WINDOWS}'; ls $d"),
        ("[Environment]::GetFolderPath([Environment+SpecialFolder]::Desktop)", f"'{WINDOWS}'"),
        ("[environment]::getfolderpath('DesktopDirectory')", f"'{WINDOWS}'"),
        ("ls \"$([Environment]::GetFolderPath('Desktop'))\\a\"", f'ls "{WINDOWS}\\a"'),
        ("Get-ChildItem (Join-Path $env:USERPROFILE 'Desktop')", f"Get-ChildItem ('{WINDOWS}')"),
        ("Join-Path -Path $HOME -ChildPath Desktop | ls", f"'{WINDOWS}' | ls"),
        ('ls (Join-Path "$env:USERPROFILE" "Desktop\\a b")', f"ls ('{WINDOWS}\\a b')"),
        ('powershell -Command "dir $env:USERPROFILE\\Desktop"', f'powershell -Command "dir {WINDOWS}"'),
        ("powershell -c \"[Environment]::GetFolderPath('Desktop')\"", f"powershell -c \"'{WINDOWS}'\""),
        ("dir %USERPROFILE%\\Desktop", f"dir {WINDOWS}"),
        ("dir /b %userprofile%\\desktop", f"dir /b {WINDOWS}"),
        ('dir "%USERPROFILE%\\Desktop\\my notes"', f'dir "{WINDOWS}\\my notes"'),
        ('cmd /c "dir %USERPROFILE%\\Desktop"', f'cmd /c "dir {WINDOWS}"'),
        ("findstr /s todo %USERPROFILE%\\Desktop\\*.txt", f"findstr /s todo {WINDOWS}\\*.txt"),
        ("type %USERPROFILE%\\Desktop\\a.txt | more", f"type {WINDOWS}\\a.txt | more"),
        ("Select-String todo $HOME\\Desktop\\*.txt", f"Select-String todo {WINDOWS}\\*.txt"),
        ("Get-Content $HOME\\Desktop\\a.txt -TotalCount 5", f"Get-Content {WINDOWS}\\a.txt -TotalCount 5"),
        ("python $env:USERPROFILE\\Desktop\\a.py", f"python {WINDOWS}\\a.py"),
        ("git -C $env:USERPROFILE\\Desktop\\site status", f"git -C {WINDOWS}\\site status"),
    ],
)
def test_probes_of_windows_shells_are_rewritten(command: str, expected: str) -> None:
    assert run_as(command, WINDOWS) == expected


@pytest.mark.parametrize("folder", ["Desktop", "Documents", "Downloads"])
def test_it_is_the_same_for_each_of_the_three_folders(folder: str) -> None:
    for probe in (f"~/{folder}", f"$HOME/{folder}", f"$env:USERPROFILE/{folder}", f"%USERPROFILE%\\{folder}"):
        assert run_as(f"ls {probe}", f"/data/{folder}") == f"ls /data/{folder}"
    assert run_as(f"[Environment]::GetFolderPath('{folder}')", f"/data/{folder}") == f"'/data/{folder}'"


def test_windows_calls_the_documents_by_other_names_too() -> None:
    for name in ("MyDocuments", "Personal"):
        assert run_as(f"[Environment]::GetFolderPath('{name}')", "D:\\Documents") == "'D:\\Documents'"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("dir $env:USERPROFILE\\Desktop\\*.txt", "dir 'C:\\My Files\\Desktop\\*.txt'"),
        ("dir (Join-Path $HOME Desktop)", "dir ('C:\\My Files\\Desktop')"),
        ("dir %USERPROFILE%\\Desktop\\a.txt", 'dir "C:\\My Files\\Desktop\\a.txt"'),
        ('dir "%USERPROFILE%\\Desktop"', 'dir "C:\\My Files\\Desktop"'),
        ('pwsh -Command "dir $HOME/Desktop/a"', "pwsh -Command \"dir 'C:\\My Files\\Desktop/a'\""),
    ],
)
def test_a_windows_path_with_blanks_is_quoted_with_what_follows(command: str, expected: str) -> None:
    assert run_as(command, "C:\\My Files\\Desktop") == expected


def test_a_quote_in_a_path_is_doubled_in_powershell() -> None:
    path = "C:\\Ada's\\Desktop"
    assert run_as("dir $env:USERPROFILE\\Desktop", path) == "dir 'C:\\Ada''s\\Desktop'"
    assert run_as("[Environment]::GetFolderPath('Desktop')", path) == "'C:\\Ada''s\\Desktop'"


@pytest.mark.parametrize("name", ["plain", "with blank", "Ada's", "a & b (c)", "данные 桌面", "back\\slash"])
@pytest.mark.parametrize(
    "command",
    [
        "cat ~/Desktop/a.txt",
        'cat "$HOME/Desktop/a.txt"',
        "cat ${HOME}/Desktop/*.txt",
        'cat "$HOME"/Desktop/a.txt',
        "sh -c 'cat ~/Desktop/*.txt'",
        'sh -c "cat ~/Desktop/a.txt"',
        "cd ~/Desktop && cat a.txt",
    ],
)
def test_a_real_shell_finds_what_is_there_whatever_the_path_looks_like(command: str, name: str, tmp_path: Path) -> None:
    folder = tmp_path / name / "Desktop"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("found")
    ran = subprocess.run(["bash", "-c", run_as(command, str(folder))], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("found", "")


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "ls Desktop",
        "ls ~/Desktop-old ~/Desktop.bak ~/Desktops",
        "ls ~/Desktop\\ 2",
        "ls ~/Desktop*",
        "ls ~bo/Desktop",
        "ls backup~/Desktop",
        "ls $HOMEWORK/Desktop",
        "ls mnt$HOME/Desktop",
        "scp host:~/Desktop/a .",
        "grep '~/Desktop' notes.md",
        "echo '$HOME/Desktop'",
        'echo "I look at ~/Desktop"',
        "echo \\$HOME/Desktop",
        "ls ~/Pictures",
    ],
)
def test_what_is_no_probe_stays(command: str) -> None:
    assert gated(command) is None


@pytest.mark.parametrize(
    "command",
    [
        "ls /home/bo && ls ~/Desktop",
        "cp ~/Desktop/a /tmp/a",
        "ls --root=/srv ~/Desktop",
        "find / -path ~/Desktop",
        "copy $env:USERPROFILE\\Desktop\\a D:\\b",
        "copy %USERPROFILE%\\Desktop\\a \\\\server\\share",
    ],
)
def test_a_command_with_an_absolute_path_runs_as_it_is(command: str) -> None:
    assert gated(command) is None


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf ~/Desktop/tmp",
        "\\rm -r ~/Desktop/old",
        "`rm ~/Desktop/a`",
        "find ~/Desktop -delete",
        "find ~/Desktop -name '*.tmp' | xargs rm",
        "cd ~/Desktop && git clean -fdx",
        "truncate -s 0 ~/Desktop/a",
        "> ~/Desktop/a.txt",
        'echo "my-password" >> ~/Desktop/keys.txt',
        "mv ~/Desktop/a ~/Desktop/b",
        "cp a.txt ~/Desktop && ls ~/Desktop",
        "cat <<'EOF'\n~/Desktop\nEOF",
        'git commit -m "moved to $HOME/Desktop"',
        "Remove-Item $HOME/Desktop/a",
        "Get-ChildItem $env:USERPROFILE\\Desktop -Recurse | Remove-Item",
        "(Get-Item $HOME\\Desktop\\a.txt).Delete()",
        "Clear-Content $HOME\\Desktop\\a.txt",
        "for %f in (%USERPROFILE%\\Desktop\\*) do @del",
        "cat ~/Desktop/a | tee b",
        "grep x ~/Desktop/a > b",
        "grep x b >> ~/Desktop/a",
        "grep x ~/Desktop/a 2> errors",
        "python3 ~/Desktop/report.py > out.txt",
        "python3 convert.py ~/Desktop",
        "python3 ~/Desktop/convert.py ~/Desktop/out",
        "python3 -c 'import shutil' ~/Desktop",
        "python3 -m pip install ~/Desktop/site",
        "bash ~/Desktop/run.sh",
        ". ~/Desktop/env.sh",
        "~/Desktop/run.sh",
        "git -C ~/Desktop/site commit -am x",
        "git -C ~/Desktop/site log --output=x",
        "git -C ~/Desktop/site branch -D old",
        "git -C ~/Desktop/site stash",
        "git -c alias.status='!rm x' -C ~/Desktop status",
        "git clone ~/Desktop/site",
        "find ~/Desktop -name '*.tmp' -exec rm {} +",
        "ls ~/Desktop | xargs -I{} rm {}",
        "sed -i s/a/b/ ~/Desktop/a",
        "sed -n 'w x' ~/Desktop/a",
        "awk '{print > \"x\"}' ~/Desktop/a",
        "awk '{system(\"rm x\")}' ~/Desktop/a",
        "sort -o ~/Desktop/a ~/Desktop/a",
        "uniq ~/Desktop/a ~/Desktop/b",
        'for f in ~/Desktop/*; do rm "$f"; done',
        'while read f; do rm "$f"; done < ~/Desktop/list',
        'echo "$(rm x)" ~/Desktop',
        "echo `rm x` ~/Desktop",
        "ls ~/Desktop & rm x",
        "ls ~/Desktop\nrm x",
        "ls() { rm x; }; ls ~/Desktop",
        "diff <(rm x) ~/Desktop/a",
        "$CMD ~/Desktop",
        "bash -c 'rm ~/Desktop/a'",
        'ls "~/Desktop',
        "curl -T ~/Desktop/a example.org",
        "$env:USERPROFILE\\Desktop\\setup.exe",
        "dir $HOME\\Desktop | Out-File a.txt",
        "dir $HOME\\Desktop > a.txt",
        "dir $HOME\\Desktop | ForEach-Object { del $_ }",
        "dir $HOME\\Desktop; iex $x",
        "& $HOME\\Desktop\\a.ps1",
        'powershell -Command "Remove-Item $env:USERPROFILE\\Desktop\\a"',
        'cmd /c "del %USERPROFILE%\\Desktop\\a"',
        "sort %USERPROFILE%\\Desktop\\a /o b",
        "copy %USERPROFILE%\\Desktop\\a b",
        "fd -Hx rm . ~/Desktop",
        "sort -T ~/Desktop ~/Desktop/a",
        "ls ~/Desktop\rrm x",
        "sort -uo ~/Desktop/a ~/Desktop/a",
        "sort --out=~/Desktop/a ~/Desktop/b",
        "tree -ao x ~/Desktop",
        "less -o b ~/Desktop/a",
        "sort a | uniq - ~/Desktop/b",
        "grep x ~/Desktop/a > 1",
        "ls ~/Desktop > -",
        "echo a\\\\\nrm $HOME/Desktop/x",
        'ls ~/Desktop # 5" wide\nrm $HOME/Desktop/a # 6" wide',
        "ls ~/Desktop # what's there\nrm ~/Desktop/tmp # it's old\nls ~/Desktop",
        "echo $'\\''; rm ~/Desktop/x ; ls \\'; ls ~/Desktop",
        "$(echo rm $HOME/Desktop/x)",
        "ls ~/Desktop; if $(cat commands); then ls; fi",
        "cat$(echo x) ~/Desktop",
        "ls ~/Desktop | xargs -a cat rm",
        "echo -delete | xargs find ~/Desktop",
        "GIT_EXTERNAL_DIFF=./x git -C ~/Desktop diff",
        "export PATH=.; ls ~/Desktop",
        "git -C ~/Desktop/site diff --outpu=x",
        "date -us 2020-01-01; ls ~/Desktop",
        "dir %USERPROFILE%\\Desktop & echo it's & del %USERPROFILE%\\Desktop\\a & echo it's",
        '$x = "$HOME\\Desktop\\clean.ps1"; & $x',
        "$x = 'Remove-Item'; & $x dir $HOME\\Desktop",
        "dir $HOME\\Desktop # it's\nRemove-Item $HOME\\Desktop\\a # it's",
        'echo Foo-Bar \\" ; rm $HOME/Desktop/x ; echo \\"',
        'dir $HOME\\Desktop; echo \u2018"\u2018 ; del x ; echo \u2018"\u2018',
    ],
)
def test_what_does_more_than_look_runs_where_the_model_meant_it(command: str) -> None:
    assert gated(command) is None


@pytest.mark.parametrize(
    "command",
    [
        'grep -rn "~/Desktop" .',
        'grep -rn -A 3 "$HOME/Desktop" notes.md',
        'grep -r -e "~/Desktop" .',
        'rg "~/Desktop" .',
        'git grep "~/Desktop"',
        'git log --grep="~/Desktop"',
        'find . -path "$HOME/Desktop/*"',
        'awk "/$HOME/Desktop/" a',
        'echo x | tr "$HOME/Desktop" x',
        '[ "$PWD" = "$HOME/Desktop" ]',
    ],
)
def test_a_text_that_is_searched_for_or_compared_is_no_place(command: str) -> None:
    assert gated(command) is None


@pytest.mark.parametrize(
    "command",
    ["ls ~/Desktop\\&x", "ls ~/Desktop+old", "ls ~/Desktop,old", 'ls ~/Desktop" old"', 'ls "$HOME/Desktop"-old'],
)
def test_a_name_that_only_begins_like_the_folder_is_another_one(command: str) -> None:
    assert gated(command) is None


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ls \\\n  ~/Desktop", f"ls \\\n  {HOME}"),
        ("grep '#' ~/Desktop/a # it is there", f"grep '#' {HOME}/a # it is there"),
        ("cat $(find ~/Desktop -name a)", f"cat $(find {HOME} -name a)"),
        ("n=$(ls ~/Desktop | wc -l); echo $n", f"n=$(ls {HOME} | wc -l); echo $n"),
        ("[ $x = y ] && ls ~/Desktop", f"[ $x = y ] && ls {HOME}"),
        ("LC_ALL=C sort -rn ~/Desktop/a", f"LC_ALL=C sort -rn {HOME}/a"),
        ("grep -A 3 x ~/Desktop/a", f"grep -A 3 x {HOME}/a"),
        ("ls -la ~/Desktop 2>&1 >/dev/null", f"ls -la {HOME} 2>&1 >/dev/null"),
    ],
)
def test_what_only_looks_like_more_than_reading_is_served(command: str, expected: str) -> None:
    assert run_as(command, HOME) == expected


@pytest.mark.parametrize(
    "command",
    [
        "bash -c 'HOME=x; ls ~/Desktop'",
        "for HOME in a b; do ls ~/Desktop; done",
        "read HOME; ls ~/Desktop",
        "ssh host ls ~/Desktop",
        "docker exec c sh -c 'ls ~/Desktop'",
        "docker-compose exec web sh -c 'ls ~/Desktop'",
        "sudo -u bo ls ~/Desktop",
        "sudo --user=bob sh -c 'ls ~/Desktop'",
        "Enter-PSSession srv; dir $HOME\\Desktop",
        "HOME=x ls ~/Desktop",
    ],
)
def test_another_home_is_not_the_one_that_memory_knows(command: str) -> None:
    assert gated(command) is None


@pytest.mark.parametrize(
    "asked",
    [
        "Check again where my desktop is.",
        "Please re-check the path.",
        "recheck",
        "Verify it first.",
        "double-check that",
        "Look for my desktop again",
        "Перепроверь путь.",
        "Проверь ещё раз, где рабочий стол",
        "Посмотри снова",
        "重新检查一下桌面路径",
        "再确认一次",
        "请核实路径",
        "Prüf bitte nochmal, wo mein Desktop ist.",
        "Vérifie où est mon bureau",
        "Comprueba otra vez la ruta",
        "もう一度確認して",
        "바탕 화면이 어디인지 다시 확인해 줘",
    ],
)
def test_a_person_who_wants_it_checked_again_gets_it_checked(asked: str) -> None:
    assert gated("ls ~/Desktop", asked=asked) is None


@pytest.mark.parametrize(
    "asked", ["List my desktop", "Что на рабочем столе?", "桌面上有什么？", "", "Thanks, now the files"]
)
def test_other_wishes_do_not_stop_the_gate(asked: str) -> None:
    assert gated("ls ~/Desktop", asked=asked)


@pytest.mark.parametrize(
    "tool", ["shell", "bash", "run_shell", "PowerShell", "mcp__box__terminal", "executeBash", "exec"]
)
def test_a_tool_that_is_called_like_a_shell_is_one_whatever_its_argument(tool: str) -> None:
    found = rewrite(tool, {"line": "ls ~/Desktop", "seconds": 3}, [place(HOME)], "")
    assert found
    assert found.arguments == {"line": f"ls {HOME}", "seconds": 3}


@pytest.mark.parametrize("argument", ["command", "cmd", "script", "Command"])
def test_a_command_of_any_tool_goes_through_the_gate(argument: str) -> None:
    found = rewrite("mcp__box__do", {argument: "ls ~/Desktop", "why": "to see"}, [place(HOME)], "")
    assert found
    assert found.arguments[argument] == f"ls {HOME}"


@pytest.mark.parametrize(
    "arguments", [{"path": "~/Desktop"}, {"text": "ls ~/Desktop"}, {"command": ["ls", "~/Desktop"]}, {}]
)
def test_other_calls_are_no_commands(arguments: dict[str, object]) -> None:
    assert rewrite("write_file", arguments, [place(HOME)], "") is None
    assert not looks_for_a_folder("write_file", arguments)


def test_the_notice_for_machines_is_prefixed_json() -> None:
    found = gated("ls ~/Desktop", tool="bash")
    assert found
    (notice,) = found.notices
    assert notice.startswith(GATE)
    assert json.loads(notice.removeprefix(GATE)) == {
        "tool": "bash",
        "target": "Desktop",
        "path": HOME,
        "originalCommand": "ls ~/Desktop",
        "rewrittenCommand": f"ls {HOME}",
    }


def test_the_model_is_told_what_was_run_and_no_marker_of_machines() -> None:
    found = gated("ls ~/Desktop")
    assert found
    assert f"ls {HOME}" in found.note
    assert GATE not in found.note


def test_a_huge_or_odd_command_is_looked_at_quickly() -> None:
    assert gated("echo " + "~/" * 9_000) is None
    assert gated("ls ~/Desktop " + "x" * 30_000) is None
    assert gated("ls '" + '"' * 5_000 + " ~/Desktop") is None


def test_rewritten_words_are_still_one_word_to_a_shell() -> None:
    assert shlex.split(run_as("ls ~/Desktop/x y", "/a b/Desktop")) == ["ls", "/a b/Desktop/x", "y"]


def test_a_notice_for_machines_is_read_back_and_nothing_else_is_one() -> None:
    found = Rewrite("shell", {}, "ls ~/Desktop", "ls /data/ada/Desktop", (("Desktop", "/data/ada/Desktop"),))
    (one,) = gates_in("\n".join(found.notices))
    assert (one.target, one.path) == ("Desktop", "/data/ada/Desktop")
    assert (one.original, one.rewritten) == ("ls ~/Desktop", "ls /data/ada/Desktop")
    assert gates_in("") == gates_in(f"{GATE} []") == gates_in(f"{GATE} {{}}") == gates_in(f"{GATE} x") == ()
