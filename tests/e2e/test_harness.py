"""The harness itself: what it would hide if it were wrong."""
import os
import types

import pytest

import harness


def test_kills_what_a_test_leaves_behind(home):
    process = harness.Process(home, "sleeper", ["sleep", "1000"])
    home.close()
    assert not process.is_running()
    assert not home.path.exists()


def test_gives_exit_codes_and_both_outputs(home):
    ended = harness.run(home, "sh", "-c", "echo out; echo err >&2; exit 3")
    assert (ended.code, ended.out, ended.err) == (3, "out\n", "err\n")


def test_hides_the_users_settings(home, monkeypatch):
    monkeypatch.setenv("LONGREACH_SCHEDULER", "elsewhere:1")
    shown = harness.run(home, "env").out
    assert "LONGREACH_SCHEDULER" not in shown
    assert f"HOME={home.path}" in shown


def test_a_wait_in_vain_fails(monkeypatch):
    monkeypatch.setattr(harness, "PATIENCE_S", 0)
    with pytest.raises(AssertionError, match="until pigs fly"):
        harness.until(lambda: False, "pigs fly")


def test_who_has_stood_still_since_the_last_look_looks_once_more(monkeypatch):
    times, looks = iter([0, 0, 10 * harness.PATIENCE_S]), iter([None, "it has come meanwhile"])
    monkeypatch.setattr(harness, "time", types.SimpleNamespace(monotonic=lambda: next(times), sleep=lambda _: None))
    assert harness.until(lambda: next(looks), "it comes") == "it has come meanwhile"


def test_reports_what_a_process_logged(home):
    process = harness.Process(home, "talker", ["sh", "-c", "echo last words >&2; kill -9 $$"])
    assert process.wait() == -9
    assert "last words" in home.logs()


def test_socket_paths_are_short(home):
    assert len(os.fspath(home.path / "s100.sock")) < 100
