"""Downloads, from a server on this machine: by name and hash, once, and with clear complaints."""

from __future__ import annotations

import hashlib
import re
import socket
import zipfile
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest

import dissensus as dx
from dissensus.studies.datasets import REGISTRY

REMOTE = [name for name, entry in REGISTRY.items() if entry.source is not None]

# In the columns of the sources' files, with invented rows.
CIFAR10H = """\
annotator_id,trial_index,is_attn_check,true_category,chosen_category,true_label,chosen_label,\
correct_guess,cifar10_test_test_idx,image_filename,subcategory,reaction_time,time_elapsed
0,0,0,ship,ship,8,8,1,31,a.png,a,1000,1000
0,1,1,cat,cat,3,3,1,-99999,b.png,b,1000,2000
0,2,0,deer,horse,4,7,0,12,c.png,c,1000,3000
1,0,0,deer,deer,4,4,1,12,c.png,c,1000,1000
"""
DICES = """\
id,rater_id,rater_gender,rater_race,rater_age,rater_education,item_id,context,safety_gold,\
Q2_harmful_content_overall,Q3_bias_overall,Q_overall
0,296708581782793,Man,White,gen z,Other,173,"one, two",No,No,No,No
1,296708603742541,Woman,White,gen z,Other,173,"one, two",No,Yes,No,Yes
2,296708581782793,Man,White,gen z,Other,190,three,Yes,No,Unsure,Unsure
"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        self.server.requests.append(self.path)


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server of files in ``tmp_path / "served"``, and an empty folder for downloads."""
    folder = tmp_path / "served"
    folder.mkdir()
    monkeypatch.setenv("DISSENSUS_DATA", str(tmp_path / "kept"))
    monkeypatch.setenv("NO_PROXY", "*")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    server.folder, server.requests = folder, []
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def serve(server, monkeypatch):
    """Put a file on the server, and point a data set at it."""

    def put(name, content, sha256=None):
        entry = REGISTRY[name]
        path = server.folder / entry.source.file
        if path.suffix == ".zip":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("cifar10h-raw.csv", content)
        else:
            path.write_text(content, encoding="utf-8")
        source = replace(
            entry.source,
            address=f"http://127.0.0.1:{server.server_port}/{path.name}",
            sha256=sha256 or hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        monkeypatch.setitem(REGISTRY, name, replace(entry, source=source))
        return source

    return put


@pytest.mark.parametrize("name", REMOTE)
def test_registered_sources_are_pinned(name):
    described = dx.datasets.describe(name)
    assert re.fullmatch(r"https://\S+", described.address)
    assert re.search(r"/[0-9a-f]{40}/", described.address), "pin the address to a commit"
    assert re.fullmatch(r"[0-9a-f]{64}", described.sha256)


def test_cifar10h(serve):
    serve("cifar10h", CIFAR10H)
    ann, predictions, truth = dx.datasets.load("cifar10h")
    dx.validate(ann)
    assert (ann.attrs["kind"], ann.sizes["label"], ann.sizes["annotation"]) == ("nominal", 10, 3)
    labels = ann["label"].to_numpy()[ann["label_code"]]
    np.testing.assert_array_equal(labels, ["ship", "horse", "deer"])  # no attention check
    assert predictions is None
    assert truth.sel(item=[12, 31]).values.tolist() == ["deer", "ship"]


def test_dices350(serve):
    serve("dices350", DICES)
    ann, _, truth = dx.datasets.load("dices350")
    labels = ann["label"].to_numpy()[ann["label_code"]]
    np.testing.assert_array_equal(labels, ["No", "Yes", "Unsure"])
    assert truth.sel(item=[190, 173]).values.tolist() == ["Yes", "No"]
    bias = dx.datasets.load("dices350", question="Q3_bias_overall", pool="rater_gender").annotations
    assert bias["pool"].values.tolist() == ["Man", "Woman"]
    np.testing.assert_array_equal(bias["label_code"], [0, 0, 1])
    with pytest.raises(dx.ArgumentError, match="question: expected 'Q_overall'"):
        dx.datasets.load("dices350", question="Q9")
    with pytest.raises(dx.ArgumentError, match="pool: expected None or 'rater_gender'"):
        dx.datasets.load("dices350", pool="gender")


def test_downloads_once(serve, server):
    source = serve("dices350", DICES)
    for _ in range(3):
        dx.datasets.load("dices350")
    assert server.requests == [f"/{source.file}"]


def test_a_wrong_hash_is_an_error_and_leaves_nothing_behind(serve, tmp_path):
    source = serve("dices350", DICES, sha256="0" * 64)
    with pytest.raises(dx.datasets.DownloadError) as error:
        dx.datasets.load("dices350")
    assert isinstance(error.value, dx.DissensusError)
    text = str(error.value)
    real = hashlib.sha256(DICES.encode()).hexdigest()
    assert source.address in text
    assert f"hash {'0' * 64}; found {real}" in text
    assert not [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]


def test_a_spoiled_file_is_downloaded_again(serve, tmp_path):
    source = serve("dices350", DICES)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / source.file).write_text("cut sho", encoding="utf-8")
    assert dx.datasets.load("dices350").annotations.sizes["annotation"] == 3


def test_a_missing_file_names_the_address(serve, server):
    source = serve("dices350", DICES)
    (server.folder / source.file).unlink()
    with pytest.raises(dx.datasets.DownloadError, match=f"{source.address}.*404"):
        dx.datasets.load("dices350")


def test_no_network_names_the_address_and_the_way_out(serve, server, tmp_path, monkeypatch):
    source = serve("dices350", DICES)
    with socket.socket() as free:  # a port where nobody listens
        free.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{free.getsockname()[1]}/{source.file}"
    entry = replace(REGISTRY["dices350"], source=replace(source, address=nowhere))
    monkeypatch.setitem(REGISTRY, "dices350", entry)
    with pytest.raises(dx.datasets.DownloadError) as error:
        dx.datasets.load("dices350")
    assert str(error.value).startswith(f"{nowhere}: expected a file to download (31.1 MB)")
    by_hand = tmp_path / "kept" / source.file
    assert str(by_hand) in str(error.value)
    by_hand.write_bytes((server.folder / source.file).read_bytes())
    assert dx.datasets.load("dices350").annotations.sizes["annotation"] == 3


def test_a_folder_that_cannot_be_made(serve, tmp_path, monkeypatch):
    serve("dices350", DICES)
    (tmp_path / "file").touch()
    monkeypatch.setenv("DISSENSUS_DATA", str(tmp_path / "file" / "below"))
    with pytest.raises(dx.datasets.DownloadError, match="environment variable DISSENSUS_DATA"):
        dx.datasets.load("dices350")
