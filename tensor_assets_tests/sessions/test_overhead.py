from tensor_assets.sessions.overhead import measure


def test_the_timed_loop_costs_what_a_bare_loop_costs():
    # Interleaved medians on a machine that others use: a quarter is room for noise, not for another call in the loop.
    assert min(measure(100).ratio for _ in range(3)) < 1.25
