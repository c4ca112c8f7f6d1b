"""The command `thixo`: what it says, where, and its exit codes."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import thixo as tx
from thixo import cli
from thixo.runtime.cache import Cache

KEYS = ["a" * 32, "b" * 32, "c" * 32]


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Three kernels in the folder of the environment, used a second apart."""
    kept = Cache(tmp_path / "kernels")
    for second, key in enumerate(KEYS):
        kept.put(key, bytes(10_000))
        used = 1_700_000_000 + second
        os.utime(Path(kept.folder, f"{key}.kernel"), (used, used))
    monkeypatch.setenv("THIXO_CACHE", kept.folder)
    return kept


def thixo(*words: str) -> subprocess.CompletedProcess:
    """Run the command as a process."""
    return subprocess.run(
        [sys.executable, "-m", "thixo", *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )


def rows(text: str) -> dict[str, str]:
    """The lines of a table: a name, two spaces or more, a value."""
    return dict(re.split(r"  +", line, maxsplit=1) for line in text.splitlines())


# ---- as a process


def test_show_and_clear(kept):
    shown = thixo("cache", "show")
    assert (shown.returncode, shown.stderr) == (0, "")
    table = rows(shown.stdout)
    assert table["folder"] == kept.folder
    assert table["chosen by"] == "THIXO_CACHE"
    assert table["kernels"] == "3"
    assert table["bytes"].startswith(f"{kept.usage().size:,} bytes")
    assert table["limit"] == "536,870,912 bytes (512 MiB)"
    assert table["oldest use"] < table["newest use"]
    cleared = thixo("cache", "clear")
    assert (cleared.returncode, cleared.stderr) == (0, "")
    assert cleared.stdout.startswith("removed 3 kernels, 30,168 bytes (29.46 KiB) from ")
    assert kept.usage().kernels == 0
    assert kept.get(KEYS[0]) is None


def test_move(kept, tmp_path):
    code = kept.get(KEYS[2])
    kept.limit = 10**6
    target = tmp_path / "other disk" / "kernels"
    moved = thixo("cache", "move", str(target))
    assert (moved.returncode, moved.stderr) == (0, "")
    assert (
        f"moved 3 kernels, 30,168 bytes (29.46 KiB) from {kept.folder} to {target}" in moved.stdout
    )
    assert f"export THIXO_CACHE='{target}'" in moved.stdout
    assert not os.path.exists(kept.folder)
    assert Cache(target).get(KEYS[2]) == code
    assert Cache(target).limit == 10**6
    assert target.stat().st_mode & 0o777 == 0o700


def test_what_cannot_be_done_has_exit_code_1_and_says_why(kept, tmp_path):
    (tmp_path / "file").write_text("")
    moved = thixo("cache", "move", str(tmp_path / "file"))
    assert (moved.returncode, moved.stdout) == (1, "")
    assert moved.stderr == f"thixo cache move: {tmp_path / 'file'}: Not a directory\n"
    assert kept.usage().kernels == 3


def test_wrong_words_have_exit_code_2():
    unknown = thixo("cache", "eat")
    assert unknown.returncode == 2
    assert "invalid choice: 'eat'" in unknown.stderr
    assert "Traceback" not in unknown.stderr


# ---- in this process


def said(capsys, *words: str) -> tuple[int, str, str]:
    """Exit code, what came out, what was complained of."""
    try:
        code = cli.main(words)
    except SystemExit as leaving:
        code = leaving.code
    return code, *capsys.readouterr()


def test_the_package_installs_the_command():
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
    assert project["project"]["scripts"]["thixo"] == "thixo.cli:main"


def test_help_names_every_command(capsys):
    code, text, _ = said(capsys, "--help")
    assert code == 0
    for name, (summary, _) in cli.COMMANDS.items():
        assert re.search(rf"^\s+{name}\s+{re.escape(summary)}", text, re.M)
        assert said(capsys, name, "--help")[0] == 0


@pytest.mark.parametrize("name", ["show", "clear", "move", "limit"])
def test_help_of_the_cache(capsys, name):
    assert f" {name} " in said(capsys, "cache", "--help")[1]
    code, text, _ = said(capsys, "cache", name, "--help")
    assert code == 0
    assert text.startswith(f"usage: thixo cache {name}")


def test_without_a_command_there_is_help(capsys):
    for words in ((), ("cache",)):
        code, out, err = said(capsys, *words)
        assert (code, out) == (2, "")
        assert err.startswith("usage: thixo")


def test_version(capsys):
    assert said(capsys, "--version")[:2] == (0, f"thixo {tx.__version__}\n")


def test_show_of_an_empty_cache_makes_no_folder(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("THIXO_CACHE", str(tmp_path / "new"))
    code, out, _ = said(capsys, "cache", "show")
    table = rows(out)
    assert code == 0
    assert (table["kernels"], table["bytes"], table["newest use"]) == ("0", "0 bytes", "never")
    assert said(capsys, "cache", "clear") == (
        0,
        f"removed 0 kernels, 0 bytes from {tmp_path / 'new'}\n",
        "",
    )
    assert not (tmp_path / "new").exists()


def test_show_says_why_a_folder_is_refused(capsys, kept):
    os.chmod(kept.folder, 0o777)
    code, out, err = said(capsys, "cache", "show")
    assert code == 1
    assert kept.folder in out
    assert f"cannot be kept in {kept.folder}: others may write to it (mode 777" in err


@pytest.mark.parametrize("words", [["clear"], ["limit", "1M"], ["move", "elsewhere"]])
def test_a_refused_folder_is_left_as_it_is(capsys, kept, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    os.chmod(kept.folder, 0o777)
    code, out, err = said(capsys, "cache", *words)
    assert (code, out) == (1, "")
    assert err.startswith(f"thixo cache {words[0]}: {kept.folder}: others may write to it")
    assert kept.usage().kernels == 3
    assert not (tmp_path / "elsewhere").exists()


def test_limit_is_kept_and_makes_room(capsys, kept):
    code, out, _ = said(capsys, "cache", "limit", "25K")
    assert code == 0
    assert f"at most 25,600 bytes (25 KiB) stay in {kept.folder}" in out
    assert "removed 1 kernel, 10,056 bytes (9.82 KiB), the least recently used" in out
    assert [kept.get(key) is not None for key in KEYS] == [False, True, True]
    assert rows(said(capsys, "cache", "show")[1])["limit"] == "25,600 bytes (25 KiB)"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("1000", 1000),
        ("100b", 100),
        ("3k", 3072),
        ("512M", 2**29),
        ("1.5 GB", 3 * 2**29),
        ("2GiB", 2**31),
        ("1T", 2**40),
    ],
)
def test_sizes(capsys, kept, text, size):
    assert said(capsys, "cache", "limit", text)[0] == 0
    assert kept.limit == size


@pytest.mark.parametrize("text", ["", "much", "-1", "M", "1X", "nan", "inf", "1e300", "5 M B"])
def test_what_is_no_size_is_refused(capsys, kept, text):
    code, out, err = said(capsys, "cache", "limit", text)
    assert (code, out) == (2, "")
    assert f"{text!r} is no size; 1000000, 512M and 2G are" in err
    assert kept.usage().kernels == 3


def test_move_joins_what_is_there(capsys, kept, tmp_path):
    target = Cache(tmp_path / "target")
    target.put("d" * 32, b"there before")
    assert said(capsys, "cache", "move", target.folder)[0] == 0
    assert target.usage().kernels == 4
    assert target.get("d" * 32) == b"there before"


def test_move_to_another_disk_copies(capsys, kept, tmp_path, monkeypatch):
    before = {kernel.name: kernel.used for kernel in kept.kernels()}

    def across(source, target):
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "rename", across)
    assert said(capsys, "cache", "move", str(tmp_path / "target"))[0] == 0
    assert not os.path.exists(kept.folder)
    target = Cache(tmp_path / "target")
    assert {kernel.name: kernel.used for kernel in target.kernels()} == before
    assert all(target.get(key) == bytes(10_000) for key in KEYS)


def test_move_to_itself_is_refused(capsys, kept, tmp_path):
    (tmp_path / "link").symlink_to(kept.folder)
    for folder in (kept.folder, str(tmp_path / "link")):
        code, out, err = said(capsys, "cache", "move", folder)
        assert (code, out) == (1, "")
        assert "already" in err
    assert kept.usage().kernels == 3


def test_a_folder_with_other_things_stays(capsys, kept, tmp_path):
    Path(kept.folder, "notes.txt").write_text("mine")
    assert said(capsys, "cache", "move", str(tmp_path / "target"))[0] == 0
    assert os.listdir(kept.folder) == ["notes.txt"]
