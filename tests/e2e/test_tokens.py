"""`longreach certs token`: bearer tokens as their owners get them, and the list that the scheduler has of them."""
import os
import re

from harness import run_cli


def test_a_token_is_shown_once_and_kept_as_a_hash(home):
    tokens = home.path / "tokens"
    made = run_cli(home, "certs", "token", "--role", "reader", "--name", "bob", "--add", tokens)
    secret = made.out.strip()
    assert re.fullmatch(r"longreach_[0-9a-f]{64}", secret), made
    assert secret not in tokens.read_text() and os.stat(tokens).st_mode & 0o077 == 0
    again = run_cli(home, "certs", "token", "--role", "client", "--name", "bob", "--add", tokens)
    assert again.code == 2 and f"{tokens}:2: there is a token of 'bob' already" in again.err and "choose another --name" in again.err, again
    # Its own list in its place would lose the token.
    lost = run_cli(home, "certs", "token", "--role", "reader", "--name", "carol", "--add", tokens, "--out", home.path / "." / "tokens")
    assert lost.code == 2 and "is --add's file" in lost.err, lost
    assert len([line for line in tokens.read_text().splitlines() if not line.startswith("#")]) == 1
    new = run_cli(home, "certs", "token", "--role", "reader", "--name", "carol", "--add", home.path / "one", "--out", home.path / "one")
    assert new.code == 2 and not (home.path / "one").exists(), new
