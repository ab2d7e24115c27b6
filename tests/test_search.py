"""The search index of each language, and the theme's worker that searches in it."""

import pytest

from scripts import search
from scripts.problems import Stop

WORKER = 'e.replace(x,s=>[...fe(s,this.index.invertedIndex)].join("* "))'


@pytest.fixture
def worker(tmp_path):
    path = tmp_path / "assets" / "javascripts" / "workers" / "search.0.min.js"
    path.parent.mkdir(parents=True)
    return path


def test_what_begins_at_each_chinese_character_is_in_the_index():
    words = search.inside("训\u200b练循环两次, a").split()
    assert {"训练循环", "练循环两", "循环两次", "两次"} <= set(words)
    assert all(len(word) <= search.LONGEST for word in words)


def test_the_parts_of_a_name_are_in_the_index_too():
    assert set(search.inside("call into_data or clip_grad_norm_ here").split()) == {"data", "grad", "norm"}


def test_the_worker_cuts_chinese_as_the_index_does(tmp_path, worker):
    worker.write_text(WORKER)
    search.mend(tmp_path)
    cut = 's.length<=4?s:[...s.match(/.{4}/g),s.slice(-4)].join("* ")'
    assert worker.read_text() == f"e.replace(x,s=>{cut})"


@pytest.mark.parametrize("text", ["", WORKER + WORKER])
def test_a_worker_that_is_not_known_is_an_error(tmp_path, worker, text):
    worker.write_text(text)
    with pytest.raises(Stop, match=r"search\.0\.min\.js: it cuts queries in [02] places.*scripts/search\.py"):
        search.mend(tmp_path)
    assert worker.read_text() == text
