import random
import time

from extract.placing import OUT_OF_ORDER, Place, assign


def places(*starts: int, cost: float = 0.0) -> list[Place]:
    return [Place(start, start + 2, cost) for start in starts]


def test_equal_numbers_take_their_places_in_order() -> None:
    assert assign([places(0, 10, 20)] * 3) == [0, 1, 2]


def test_a_number_that_is_nowhere_takes_nothing_from_the_others() -> None:
    assert assign([places(0, 10), [], places(0, 10)]) == [0, None, 1]
    assert assign([]) == []
    assert assign([[], []]) == [None, None]


def test_the_nearer_place_wins_where_the_order_leaves_a_choice() -> None:
    assert assign([[Place(0, 2, 90.0), Place(50, 52, 5.0)], places(60)]) == [1, 0]


def test_order_holds_against_a_small_difference_and_yields_to_a_large_one() -> None:
    later = places(30)
    assert assign([later, [Place(0, 2, 0.0), Place(50, 52, OUT_OF_ORDER / 2)]]) == [0, 1]
    assert assign([later, [Place(0, 2, 0.0), Place(50, 52, OUT_OF_ORDER * 2)]]) == [0, 0]


def test_a_place_is_shared_only_when_there_are_no_more() -> None:
    assert assign([places(5), places(5)]) == [0, 0]
    assert sorted(str(i) for i in assign([places(5, 9), places(1), places(5, 9)])) == ["0", "0", "1"]
    chosen = assign([places(5, 9), places(1), places(5, 9)])
    assert chosen[0] != chosen[2]


def test_places_of_one_list_are_distinct_when_they_suffice() -> None:
    chance = random.Random(1)
    for _ in range(200):
        starts = sorted(chance.sample(range(0, 300, 3), 6))
        options = [[Place(start, start + 2, chance.uniform(0, 800)) for start in starts] for _ in range(6)]
        assert len(set(assign(options))) == 6


def test_many_places_take_linear_time() -> None:
    begun = time.process_time()
    assign([places(*range(0, 1500, 3)) for _ in range(100)])
    assert time.process_time() - begun < 2
