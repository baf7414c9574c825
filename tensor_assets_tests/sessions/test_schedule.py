from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis.strategies import dictionaries, floats, integers, lists

from tensor_assets.sessions.method import CPU, GPU, method_for, opening, pace
from tensor_assets.sessions.schedule import balanced_rounds, interleave, spread, williams


@given(members=integers(1, 24), rounds=integers(1, 40), seed=integers(0, 2**32 - 1))
def test_each_round_holds_everyone_once_and_positions_are_balanced(members, rounds, seed):
    orders = balanced_rounds(range(members), rounds, seed)
    assert len(orders) == rounds
    assert all(sorted(order) == list(range(members)) for order in orders)
    for member in range(members):
        places = Counter(order.index(member) for order in orders)
        assert max(places.values()) - min(places.get(place, 0) for place in range(members)) <= 1


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 8, 9, 21])
def test_a_whole_design_gives_everyone_every_predecessor_equally_often(n):
    rows = [row for square in williams(n) for row in square]
    follows = Counter(pair for row in rows for pair in pairwise(row))
    assert set(follows.values()) == {len(rows) // n}
    assert len(follows) == n * (n - 1)


@given(blocks=dictionaries(integers(0, 30), integers(1, 15), min_size=1, max_size=12), seed=integers(0, 2**32 - 1))
def test_every_process_gets_its_own_number_of_blocks(blocks, seed):
    orders = interleave(blocks, seed)
    assert Counter(process for order in orders for process in order) == blocks
    assert all(len(set(order)) == len(order) for order in orders)


def test_order_is_random_and_reproducible():
    blocks = dict.fromkeys(range(6), 15)
    assert interleave(blocks, 1) == interleave(blocks, 1)
    assert interleave(blocks, 1) != interleave(blocks, 2)
    assert len({order[0] for order in interleave(blocks, 1)}) == 6


@given(count=integers(1, 15), rounds=integers(1, 15))
def test_spread_is_distinct_in_range_and_centred(count, rounds):
    if count > rounds:
        return
    chosen = spread(count, rounds)
    assert len(set(chosen)) == count
    assert all(0 <= index < rounds for index in chosen)
    assert abs(sum(chosen) / count - (rounds - 1) / 2) <= 0.5


def test_nothing_to_time_is_no_rounds():
    assert interleave({}, 0) == ()


def test_documents_protocol_on_a_device():
    assert opening(GPU, 50e-6) == (9, 3)
    assert pace(GPU, [50e-6, 51e-6, 900e-6]).invocations == 196
    assert pace(GPU, [1e-6] * 3)[:3] == (200, 5, 15)
    assert pace(GPU, [0.004] * 3).invocations == 2
    assert pace(GPU, [0.3] * 3)[:3] == (1, 5, 15)


@given(seconds=floats(1e-5, 2.0))
def test_cpu_budget_is_kept_and_never_below_five_blocks(seconds):
    warmups, pilots = opening(CPU, seconds)
    spent = seconds * (1 + warmups + pilots)
    assert spent <= 2.0 + 1e-9
    chosen = pace(CPU, [seconds], spent)
    assert 5 <= chosen.blocks <= 15
    if chosen.blocks > 5:
        assert spent + chosen.blocks * (chosen.invocations + chosen.switch_warmups) * seconds <= 15.0 + 1e-6


def test_an_invocation_of_seven_seconds_still_gets_five_blocks():
    assert opening(CPU, 6.8) == (0, 0)
    assert pace(CPU, [6.8], 6.8)[:3] == (1, 0, 5)


@given(pilots=lists(floats(1e-7, 1.0), min_size=1, max_size=3))
def test_blocks_never_exceed_two_hundred_invocations(pilots):
    assert 1 <= pace(GPU, pilots).invocations <= 200


def test_the_method_hash_follows_its_numbers():
    assert method_for("cpu") is CPU
    assert method_for("NVIDIA H200") is GPU
    assert CPU.hash != GPU.hash
    assert CPU.described()["hash"] == CPU.hash
    assert "opening_seconds" not in GPU.described()
