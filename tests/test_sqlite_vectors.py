"""The embedded vector index: equal to brute force, never fewer than asked, and right or `Damaged` whatever happens to its files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.settings import VectorSettings
from recollect.stores.sqlite import slots
from recollect.stores.sqlite.vectors import Damaged, Found, VectorIndex

DIM = 24
NONE = np.empty(0, np.int64)
POLICIES = ("exact", "binary", "hnsw")


class Truth:
    """What an index should hold, kept in plain arrays and searched by brute force."""

    def __init__(self, dim: int = DIM) -> None:
        self.seqs, self.ordinals = np.empty(0, np.int64), np.empty(0, np.int32)
        self.vectors = np.empty((0, dim), np.float16)

    def add(self, seqs: Any, ordinals: Any, vectors: Any, dead: Any) -> None:
        self.seqs, self.ordinals = np.concatenate([self.seqs, seqs]), np.concatenate([self.ordinals, ordinals])
        self.vectors = np.concatenate([self.vectors, vectors.astype(np.float16)])
        live = ~np.isin(self.seqs, dead)
        self.seqs, self.ordinals, self.vectors = self.seqs[live], self.ordinals[live], self.vectors[live]

    def cosines(self, query: Any) -> dict[int, dict[int, float]]:
        """By seq and ordinal."""
        cosines = self.vectors.astype(np.float64) @ (query / np.linalg.norm(query)).astype(np.float32)
        found: dict[int, dict[int, float]] = {}
        for seq, ordinal, cosine in zip(self.seqs.tolist(), self.ordinals.tolist(), cosines.tolist(), strict=True):
            found.setdefault(seq, {})[ordinal] = cosine
        return found

    def best(self, query: Any, k: int, allowed: Any = None) -> list[float]:
        found = self.cosines(query)
        return sorted((max(rows.values()) for seq, rows in found.items() if allowed is None or seq in allowed), reverse=True)[:k]


def bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def unit_vectors(n: int, dim: int = DIM, seed: int = 0) -> Any:
    vectors = np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def opened(folder: Path, policy: str = "auto", dim: int = DIM, **more: Any) -> VectorIndex:
    return VectorIndex.open(folder, dim=dim, settings=VectorSettings(policy=policy, **{"exact_below": 0, **more}))


def filled(folder: Path, n: int = 500, policy: str = "binary", per_item: int = 1, dim: int = DIM) -> tuple[VectorIndex, Any]:
    """An index of n rows with seqs from 1, in one change."""
    index, vectors = opened(folder, policy, dim), unit_vectors(n, dim)
    seqs = np.arange(n) // per_item + 1
    index.apply(seqs=seqs, ordinals=np.arange(n) % per_item, vectors=vectors, dead=NONE, applied=int(seqs[-1]))
    if policy == "hnsw":
        index.build_ann()
    return index, vectors


def check_right(found: Found, truth: Truth, query: Any, k: int, allowed: Any = None) -> None:
    """Distinct live allowed items, as many as there are up to k, with their exact cosines, in order."""
    known = truth.cosines(query)
    eligible = {seq for seq in known if allowed is None or seq in allowed}
    seqs, ordinals, cosines = (part.tolist() for part in found)
    assert len(seqs) == len(set(seqs)) == min(k, len(eligible))
    assert set(seqs) <= eligible
    for seq, ordinal, cosine in zip(seqs, ordinals, cosines, strict=True):
        assert cosine == pytest.approx(known[seq][ordinal], abs=1e-5)
    assert all((-a, s) < (-b, t) for (a, s), (b, t) in pairwise(zip(cosines, seqs, strict=True)))


# How many items of one row come first, so that a scan has something to scan; then the rows of each new item, and the share that dies.
changes = st.lists(
    st.tuples(st.sampled_from([0, 1_500]), st.lists(st.integers(1, 4), max_size=40), st.floats(0, 0.4)), min_size=1, max_size=4
)


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=15, deadline=None)
@given(changes=changes, k=st.integers(1, 60), share=st.none() | st.floats(0, 1), seed=st.integers(0, 1_000), dim=st.sampled_from([5, 24]))
def test_any_history_is_searched_rightly(
    policy: str, changes: list[tuple[int, list[int], float]], k: int, share: float | None, seed: int, dim: int
) -> None:
    rng = np.random.default_rng(seed)
    with TemporaryDirectory() as name:
        index, truth, last = opened(Path(name) / "index", policy, dim), Truth(dim), 0
        for step, (singles, several, dying) in enumerate(changes):
            lengths = [1] * singles + several
            seqs = np.repeat(np.arange(last + 1, last + 1 + len(lengths)), lengths)
            last += len(lengths)
            ordinals = np.concatenate([np.arange(length) - 1 for length in lengths]) if lengths else NONE
            vectors = unit_vectors(len(seqs), dim, seed + step)
            dead = np.flatnonzero(rng.random(last + 1) < dying)
            index.apply(seqs=seqs, ordinals=ordinals, vectors=vectors, dead=dead, applied=step + 1)
            truth.add(seqs, ordinals, vectors, dead)
            if policy == "hnsw" and step % 2 == 0:
                index.build_ann()
        query = unit_vectors(1, dim, seed + 99)[0] * 3
        allowed = None if share is None else np.flatnonzero(rng.random(last + 1) < share)
        for reader in (index, opened(index.folder, policy, dim)):
            found = reader.search(query, k=k, allowed=allowed)
            check_right(found, truth, query, k, allowed)
            if policy == "exact":
                assert found.cosines.tolist() == pytest.approx(truth.best(query, k, allowed), abs=1e-5)
            assert len(reader) == len(truth.seqs)
            assert (reader.applied, reader.verify()) == (len(changes), [])


@pytest.mark.parametrize("policy", ["binary", "hnsw"])
def test_approximate_search_finds_nearly_what_exact_search_does(tmp_path: Path, policy: str) -> None:
    """On vectors in clusters, as those of texts are."""
    mixed = unit_vectors(100, 128)[np.arange(4_000) % 100] + 0.7 * unit_vectors(4_000, 128, seed=1)
    vectors = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
    index, exact = opened(tmp_path, policy, 128), opened(tmp_path, "exact", 128)
    index.apply(seqs=np.arange(4_000), ordinals=np.zeros(4_000), vectors=vectors, dead=NONE, applied=1)
    if policy == "hnsw":
        index.build_ann()
    exact.refresh()
    queries = vectors[:20] + 0.5 * unit_vectors(20, 128, seed=5)
    same = [len(np.intersect1d(index.search(q, k=10).seqs, exact.search(q, k=10).seqs)) for q in queries]
    assert index.policy == policy
    assert sum(same) >= 190


@pytest.mark.parametrize("policy", POLICIES)
def test_k_items_come_back_although_one_item_holds_all_the_nearest_rows(tmp_path: Path, policy: str) -> None:
    query = unit_vectors(1)[0]
    near = query + 0.01 * unit_vectors(3_000, seed=1)
    vectors = np.concatenate([near / np.linalg.norm(near, axis=1, keepdims=True), unit_vectors(3_000, seed=2)])
    seqs = np.concatenate([np.full(3_000, 1), np.arange(2, 3_002)])
    index = opened(tmp_path, policy)
    index.apply(seqs=seqs, ordinals=np.arange(6_000), vectors=vectors, dead=NONE, applied=1)
    if policy == "hnsw":
        index.build_ann()
    found = index.search(query, k=20)
    assert len(found.seqs) == 20
    assert found.seqs[0] == 1


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
def test_a_filter_never_starves_a_search(tmp_path: Path, policy: str, share: float) -> None:
    index, vectors = filled(tmp_path, 3_000, policy)
    allowed = np.flatnonzero(np.random.default_rng(1).random(3_001) < share)
    found = index.search(vectors[7], k=25, allowed=allowed)
    assert len(found.seqs) == 25
    assert np.isin(found.seqs, allowed).all()
    twice = np.concatenate([allowed[::-1], allowed])
    assert index.search(vectors[7], k=25, allowed=twice).seqs.tolist() == found.seqs.tolist()
    assert len(index.search(vectors[7], k=25, allowed=NONE).seqs) == 0


@pytest.mark.parametrize("policy", POLICIES)
def test_the_dead_are_never_found(tmp_path: Path, policy: str) -> None:
    index, vectors = filled(tmp_path, 2_000, policy)
    index.apply(seqs=NONE, ordinals=NONE, vectors=vectors[:0], dead=np.arange(1, 300), applied=2_001)
    assert len(index) == 1_701
    assert index.search(vectors[0], k=2_000).seqs.min() == 300
    assert index.search(vectors[0], k=5, allowed=np.arange(290, 302)).seqs.tolist() != []
    assert set(index.search(vectors[0], k=5, allowed=np.arange(290, 302)).seqs.tolist()) == {300, 301}


@pytest.mark.parametrize("policy", POLICIES)
def test_equal_vectors_tie_and_the_lower_seq_comes_first(tmp_path: Path, policy: str) -> None:
    index = opened(tmp_path, policy)
    vectors = np.repeat(unit_vectors(1), 1_500, axis=0)
    index.apply(seqs=np.arange(1_500) // 2, ordinals=np.tile([3, 1], 750), vectors=vectors, dead=NONE, applied=1)
    found = index.search(vectors[0], k=5)
    assert found.seqs.tolist() == [0, 1, 2, 3, 4]
    assert found.ordinals.tolist() == [1] * 5
    assert len(set(found.cosines.tolist())) == 1
    assert found.cosines[0] <= 1.0


def test_no_cosine_is_above_one_although_rounded_vectors_may_be_longer(tmp_path: Path) -> None:
    index, vectors = filled(tmp_path, 300, "exact")
    assert (np.linalg.norm(vectors.astype(np.float16).astype(np.float32), axis=1) > 1.00001).any()
    best = [index.search(vector, k=1).cosines[0] for vector in vectors]
    assert max(best) == 1.0
    assert min(best) > 0.999


@pytest.mark.parametrize("policy", POLICIES)
def test_a_zero_query_is_equally_near_to_everything(tmp_path: Path, policy: str) -> None:
    index, _ = filled(tmp_path, 900, policy)
    found = index.search(np.zeros(DIM, np.float32), k=3, allowed=np.arange(40, 900))
    assert found.seqs.tolist() == [40, 41, 42]
    assert found.cosines.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("query", [np.full(DIM, np.nan), np.full(DIM, np.inf), np.ones(DIM + 1), np.ones((1, DIM))])
def test_a_query_that_is_no_vector_of_the_space_is_refused(tmp_path: Path, query: Any) -> None:
    index, _ = filled(tmp_path)
    with pytest.raises(InvalidInput, match="query vector"):
        index.search(query.astype(np.float32), k=3)


def test_rows_that_cannot_be_kept_are_refused_and_nothing_changes(tmp_path: Path) -> None:
    index, vectors = filled(tmp_path)
    bad = vectors[:2].copy()
    bad[1, 3] = np.nan
    one, two = np.array([601]), np.array([601, 602])
    for seqs, ordinals, rows in ((two, two, bad), (two[::-1], two, vectors[:2]), (two, one, vectors[:2]), (one, one, vectors[:1, :9])):
        with pytest.raises(InvalidInput):
            index.apply(seqs=seqs, ordinals=ordinals, vectors=rows, dead=NONE, applied=9_999)
    assert (len(index), index.applied, index.verify()) == (500, 500, [])


@pytest.mark.parametrize(
    ("wrong", "named"), [({"policy": "fast"}, "'fast'"), ({"oversample": 0}, "oversample"), ({"ef_search": -1}, "ef_search")]
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        VectorSettings(**wrong)


def test_an_empty_index_finds_nothing_and_writes_nothing(tmp_path: Path) -> None:
    index = opened(tmp_path / "new")
    assert (len(index), index.applied, index.verify(), bytes_in(tmp_path), index.refresh()) == (0, 0, [], 0, False)
    assert [len(part) for part in index.search(unit_vectors(1)[0], k=5)] == [0, 0, 0]
    assert not (tmp_path / "new").exists()


def test_a_change_without_rows_is_remembered(tmp_path: Path) -> None:
    index = opened(tmp_path / "new")
    index.apply(seqs=NONE, ordinals=NONE, vectors=unit_vectors(0), dead=np.array([4]), applied=12)
    again = opened(tmp_path / "new")
    assert (again.applied, len(again), again.verify()) == (12, 0, [])


def test_auto_goes_by_the_number_of_rows(tmp_path: Path) -> None:
    filled(tmp_path, 500, "hnsw")
    sizes = {"exact": {"exact_below": 500}, "binary": {"exact_below": 499}, "hnsw": {"exact_below": 9, "hnsw_above": 499}}
    assert {policy: opened(tmp_path, **size).policy for policy, size in sizes.items()} == {policy: policy for policy in POLICIES}


def test_applying_the_same_again_changes_nothing(tmp_path: Path) -> None:
    index, vectors = filled(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    index.apply(seqs=np.arange(1, 501), ordinals=np.zeros(500), vectors=vectors, dead=NONE, applied=500)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    overlapping = np.concatenate([vectors[490:], unit_vectors(5, seed=3)])
    index.apply(seqs=np.arange(491, 506), ordinals=np.zeros(15), vectors=overlapping, dead=np.array([3]), applied=505)
    index.apply(seqs=np.arange(491, 506), ordinals=np.zeros(15), vectors=overlapping, dead=np.array([3]), applied=505)
    assert (len(index), index.applied, index.verify()) == (504, 505, [])


def test_what_was_compacted_away_does_not_come_back(tmp_path: Path) -> None:
    index, vectors = filled(tmp_path)
    change = {"seqs": np.array([501]), "ordinals": np.array([0]), "vectors": vectors[:1], "applied": 501}
    index.apply(**change, dead=np.arange(300, 502))
    index.apply(**change, dead=NONE)
    assert index.search(vectors[0], k=1).seqs.tolist() == [1]
    assert len(index) == 299


def test_what_a_crash_left_behind_is_ignored_and_then_cut_off(tmp_path: Path) -> None:
    index, vectors = filled(tmp_path)
    before = index.search(vectors[3], k=20).seqs.tolist()
    for path in tmp_path.iterdir():
        if path.suffix != ".json":
            path.write_bytes(path.read_bytes() + os.urandom(777))
    (tmp_path / "vectors-0badc0de.f16").write_bytes(b"half a compaction")
    (tmp_path / "manifest.json.new").write_bytes(b"{half a manif")
    after = opened(tmp_path, "binary")
    assert after.search(vectors[3], k=20).seqs.tolist() == before
    after.apply(seqs=np.array([900]), ordinals=np.array([0]), vectors=vectors[3:4], dead=NONE, applied=900)
    assert after.search(vectors[3], k=2).seqs.tolist() == [4, 900]
    assert after.verify() == []
    assert len(list(tmp_path.iterdir())) == 4
    assert bytes_in(tmp_path) == 501 * (DIM * 2 + DIM // 8 + 12) + (tmp_path / "manifest.json").stat().st_size


def remove(path: Path) -> None:
    path.unlink()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def garble(path: Path) -> None:
    path.write_bytes(np.random.default_rng(4).bytes(path.stat().st_size))


def flip_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-9] ^= 4
    path.write_bytes(data)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index with a file of every kind."""
    folder = tmp_path_factory.mktemp("sound")
    index, vectors = filled(folder, 2_000, "hnsw")
    index.apply(seqs=NONE, ordinals=NONE, vectors=vectors[:0], dead=np.arange(1, 50), applied=2_001)
    return folder


@pytest.mark.parametrize("harm", [remove, empty, truncate, garble, flip_a_bit])
@pytest.mark.parametrize("victim", ["manifest", "vectors", "codes", "rows", "dead", "graph"])
def test_damage_is_noticed_or_does_no_harm(sound: Path, tmp_path: Path, victim: str, harm: Callable[[Path], None]) -> None:
    shutil.copytree(sound, tmp_path, dirs_exist_ok=True)
    index, vectors = opened(tmp_path, "hnsw"), unit_vectors(2_000)
    before = index.search(vectors[100], k=10).seqs.tolist()
    harm(next(tmp_path.glob(f"{victim}*")))
    if (victim, harm) == ("manifest", remove):
        assert opened(tmp_path).applied == 0
        return
    assert index.verify() != []
    if victim == "graph":
        survivor = opened(tmp_path, "hnsw")
        assert (survivor.policy, survivor.ann_due) == ("binary", True)
        assert survivor.search(vectors[100], k=10).seqs.tolist() == before
        survivor.build_ann()
        assert (survivor.policy, survivor.verify()) == ("hnsw", [])
    elif (victim, harm) != ("vectors", flip_a_bit):  # the vectors are checked whole by `verify` alone
        with pytest.raises(Damaged):
            opened(tmp_path, "hnsw")


def test_vectors_of_another_width_are_damage(tmp_path: Path) -> None:
    filled(tmp_path)
    with pytest.raises(Damaged, match="24 wide, not 32"):
        opened(tmp_path, dim=32)


def test_a_manifest_of_another_format_is_damage(tmp_path: Path) -> None:
    filled(tmp_path)
    path = tmp_path / "manifest.json"
    path.write_text(path.read_text().replace('"format": 2', '"format": 9'))
    with pytest.raises(Damaged, match="format 9"):
        opened(tmp_path)


def test_a_file_that_goes_while_the_index_is_open_stops_the_next_change(tmp_path: Path) -> None:
    index, vectors = filled(tmp_path)
    next(tmp_path.glob("rows-*")).unlink()
    with pytest.raises(Damaged, match="rows-"):
        index.apply(seqs=np.array([900]), ordinals=np.array([0]), vectors=vectors[:1], dead=NONE, applied=900)


def test_a_reader_sees_what_the_writer_applied(tmp_path: Path) -> None:
    writer, _ = filled(tmp_path)
    reader = opened(tmp_path, "binary")
    assert not reader.refresh()
    new = unit_vectors(30, seed=8)
    writer.apply(seqs=np.arange(501, 531), ordinals=np.zeros(30), vectors=new, dead=np.array([2, 501]), applied=530)
    assert reader.search(new[4], k=1).seqs.tolist() != [505]
    assert reader.refresh()
    assert reader.search(new[4], k=1).seqs.tolist() == [505]
    assert (reader.applied, len(reader), reader.refresh()) == (530, 528, False)


def test_a_reader_outlives_a_compaction_and_a_deleted_folder(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    writer, vectors = filled(folder)
    reader = opened(folder, "binary")
    names = {path.name for path in folder.iterdir()}
    writer.apply(seqs=NONE, ordinals=NONE, vectors=vectors[:0], dead=np.arange(1, 200), applied=501)
    assert not names & {path.name for path in folder.iterdir() if path.name != "manifest.json"}
    assert reader.search(vectors[0], k=1).seqs.tolist() == [1]
    assert reader.refresh()
    assert reader.search(vectors[0], k=500).seqs.min() == 200
    shutil.rmtree(folder)
    assert reader.search(vectors[0], k=500).seqs.min() == 200
    assert reader.refresh()
    assert (len(reader), reader.applied) == (0, 0)


def test_a_writer_that_has_not_seen_the_last_change_may_not_write(tmp_path: Path) -> None:
    writer, vectors = filled(tmp_path)
    late = opened(tmp_path, "binary")
    writer.apply(seqs=np.array([501]), ordinals=np.array([0]), vectors=vectors[:1], dead=NONE, applied=501)
    change = {"seqs": np.array([502]), "ordinals": np.array([0]), "vectors": vectors[1:2], "dead": NONE, "applied": 502}
    with pytest.raises(Damaged, match="changed since"):
        late.apply(**change)
    late.refresh()
    late.apply(**change)
    assert (len(late), late.verify()) == (502, [])


def test_readers_in_other_threads_always_see_one_whole_state(tmp_path: Path) -> None:
    """Item n has n's vector in every state, while rows come, die and are compacted away."""
    vectors = unit_vectors(3_000)
    writer, done, wrong = opened(tmp_path, "binary"), Event(), list[object]()

    def read(reader: VectorIndex) -> None:
        rng = np.random.default_rng(1)
        while not done.is_set():
            reader.refresh()
            applied, query = reader.applied, vectors[rng.integers(3_000)]
            found = reader.search(query, k=5)
            if applied and (len(found.seqs) < 5 or not np.allclose(found.cosines, vectors[found.seqs] @ query, atol=1e-3)):
                wrong.append(found)

    readers = [Thread(target=read, args=(index,)) for index in (writer, opened(tmp_path, "binary"))]
    for thread in readers:
        thread.start()
    try:
        for step in range(30):
            seqs = np.arange(step * 100, step * 100 + 100)
            dead = seqs[:60] - 100
            writer.apply(seqs=seqs, ordinals=np.zeros(100), vectors=vectors[seqs], dead=dead, applied=step + 1)
    finally:
        done.set()
        for thread in readers:
            thread.join()
    assert wrong == []
    assert writer.verify() == []
    assert len(writer) == 3_000 - 29 * 60


def test_compaction_keeps_what_lives(tmp_path: Path) -> None:
    index, vectors = filled(tmp_path, 3_000, per_item=3)
    size = bytes_in(tmp_path)
    index.apply(seqs=np.array([1_001]), ordinals=np.array([0]), vectors=vectors[:1], dead=np.arange(2, 900), applied=1_001)
    truth = Truth()
    truth.add(
        np.append(np.arange(3_000) // 3 + 1, 1_001), np.append(np.arange(3_000) % 3, 0), vectors[[*range(3_000), 0]], np.arange(2, 900)
    )
    assert bytes_in(tmp_path) < size / 5
    assert index.verify() == []
    for reader in (index, opened(tmp_path, "exact")):
        check_right(reader.search(vectors[5], k=200), truth, vectors[5], 200)


def test_everything_may_die(tmp_path: Path) -> None:
    index, vectors = filled(tmp_path)
    index.apply(seqs=NONE, ordinals=NONE, vectors=vectors[:0], dead=np.arange(1, 501), applied=501)
    assert (len(index), index.applied, index.verify()) == (0, 501, [])
    assert len(opened(tmp_path).search(vectors[0], k=3).seqs) == 0
    index.apply(seqs=np.array([502]), ordinals=np.array([0]), vectors=vectors[:1], dead=NONE, applied=502)
    assert opened(tmp_path).search(vectors[0], k=3).seqs.tolist() == [502]


def test_codes_are_taken_about_the_mean_once_there_are_enough_rows(tmp_path: Path) -> None:
    """Vectors that share a direction have nearly equal signs; about their mean they do not."""
    shifted = unit_vectors(4_000, seed=3) * 0.3 + 0.7 * unit_vectors(1, seed=9)
    vectors = shifted / np.linalg.norm(shifted, axis=1, keepdims=True)
    index = opened(tmp_path, "binary", oversample=4)
    for begin in range(0, 4_000, 800):
        seqs = np.arange(begin, begin + 800)
        index.apply(seqs=seqs, ordinals=seqs * 0, vectors=vectors[seqs], dead=NONE, applied=begin + 1)
    manifest = slots.Manifest.parse((tmp_path / "manifest.json").read_bytes())
    assert np.allclose(slots.centre_of(manifest), vectors[:1_600].mean(axis=0), atol=1e-3)
    assert index.verify() == []


def test_the_graph_is_due_when_many_rows_are_not_in_it_and_grows_by_them(tmp_path: Path) -> None:
    index, vectors = filled(tmp_path, 1_000, "hnsw")
    assert not index.ann_due
    new = unit_vectors(200, seed=2)
    index.apply(seqs=np.arange(1_001, 1_201), ordinals=np.zeros(200), vectors=new, dead=NONE, applied=1_200)
    assert (index.policy, index.ann_due) == ("hnsw", True)
    assert index.search(new[3], k=1).seqs.tolist() == [1_004]
    reader = opened(tmp_path, "hnsw")
    index.build_ann()
    assert reader.refresh()
    assert (reader.ann_due, reader.policy, reader.verify()) == (False, "hnsw", [])
    assert reader.search(new[3], k=1).seqs.tolist() == [1_004]
    assert reader.search(vectors[3], k=1).seqs.tolist() == [4]
    index.apply(seqs=NONE, ordinals=NONE, vectors=new[:0], dead=np.arange(1, 900), applied=1_201)
    assert (index.policy, index.ann_due) == ("binary", True)


class Rewriting:
    """A writer's lock, held only after another writer had its turn."""

    def __init__(self, change: Callable[[], None]) -> None:
        self._change = change

    def __enter__(self) -> None:
        self._change()

    def __exit__(self, *_: object) -> None:
        return None


@pytest.mark.parametrize(("dead", "policy"), [(3, "hnsw"), (600, "binary")])
def test_a_graph_is_put_in_place_unless_its_rows_were_rewritten_meanwhile(tmp_path: Path, dead: int, policy: str) -> None:
    filled(tmp_path, 1_000)
    index, other = opened(tmp_path, "hnsw"), opened(tmp_path, "hnsw")
    change = {"seqs": NONE, "ordinals": NONE, "vectors": unit_vectors(0), "dead": np.arange(1, dead + 1), "applied": 1_001}
    index.build_ann(lock=Rewriting(lambda: other.apply(**change)))
    assert (index.policy, index.applied, len(index), index.verify()) == (policy, 1_001, 1_000 - dead, [])


@given(st.lists(st.floats(width=16, allow_nan=False, allow_infinity=False), min_size=1))
def test_widening_is_exact(numbers: list[float]) -> None:
    halves = np.array(numbers, np.float16)
    assert slots.widen(halves).tobytes() == halves.astype(np.float32).tobytes()


@given(st.lists(st.integers(0, 30)), st.sets(st.integers(-3, 33)))
def test_rows_are_found_by_seq(seqs: list[int], wanted: set[int]) -> None:
    rising = np.array(sorted(seqs), np.int64)
    found = slots.rows_of(rising, np.array(sorted(wanted), np.int64))
    assert found.tolist() == [row for row, seq in enumerate(rising.tolist()) if seq in wanted]
