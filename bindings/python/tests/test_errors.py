"""Options and errors."""
import importlib.util
import os
import subprocess
import sys

import pytest
from conftest import free_port

import holdfast

SOON = {"connect_timeout": 0.2, "timeout": 0.2}


def test_an_unknown_option_names_the_nearest(server):
    with pytest.raises(holdfast.InvalidArgument,
                       match="^unknown option 'timeot'; did you mean 'timeout'[?]$"):
        holdfast.Client(server.url, timeot=3)


def test_each_option_of_a_url_can_be_given_by_name(make_client, server):
    client = make_client(client_name="nightly", db=1, timeout="2s", watchdog=2.5, tracking=True,
                         map=["10.0.0.1=127.0.0.1", "10.0.0.2=127.0.0.1"])
    lock = client.lock("a")
    with lock:
        assert 1 < lock.inspect().ttl <= 2.5
        assert "name=nightly" in server("CLIENT", "LIST")
        assert server("EXISTS", "a") == ":0"  # in database 0


def test_the_url_has_its_own_options(server):
    with holdfast.Client(server.url + "/3?timeout=1s") as client, client.lock("a"):
        assert client.address == f"127.0.0.1:{server.port}" and len(client.uuid) == 36


def test_an_absent_server_is_a_connection_error():
    port = free_port()
    with holdfast.Client(f"redis://127.0.0.1:{port}", **SOON) as client:
        with pytest.raises(holdfast.Unreachable, match=f"127.0.0.1:{port}.*refused") as caught:
            client.lock("a").acquire()
    assert isinstance(caught.value, ConnectionError) and caught.value.status_name == "HF_E_CONNECT"


def test_a_key_of_another_type_is_refused_with_the_servers_words(client, server):
    server("SADD", "a", "member")
    with pytest.raises(holdfast.ServerRefused, match="WRONGTYPE") as caught:
        client.lock("a").acquire()
    assert not caught.value.is_temporary
    assert server("TYPE", "a") == "+set"


@pytest.mark.parametrize("wrong", [{"kind": "nope"}, {"ttl": -1}, {"timeout": float("nan")}])
def test_what_the_binding_refuses_is_an_error_of_its_own(client, wrong):
    with pytest.raises(holdfast.InvalidArgument) as caught:
        client.lock("a", **wrong).acquire()
    assert isinstance(caught.value, ValueError) and caught.value.status_name == "HF_E_INVAL"


@pytest.mark.parametrize("name", [5, True, None, 3_000_000_000])
def test_a_name_that_is_not_a_text_is_refused(client, name):
    for new in client.lock, client.semaphore, client.latch:
        with pytest.raises(TypeError, match="a name is str or bytes, not"):
            new(name)


def test_a_refused_password_is_never_in_the_message(server):
    with holdfast.Client(server.url, user="nobody", password="s3cret", **SOON) as client:
        with pytest.raises(holdfast.ServerRefused) as caught:
            client.lock("a").acquire()
    assert "s3cret" not in str(caught.value) and caught.value.status_name == "HF_E_AUTH"


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_the_annotations_are_right():
    package = os.path.dirname(holdfast.__file__)
    assert os.path.exists(os.path.join(package, "py.typed"))
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", package],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
