"""Searches: loops left early from the middle, loops with else, backtracking, work lists, games."""

from typing import NamedTuple

import thixo as tx
from tests.capture.corpus.registry import case, t


def _grid(*rows):
    return tx.tensor([[int(c) for c in row] for row in rows])


@case(
    lambda d: (_grid("110", "010", "001"),),
    lambda d: (_grid("111", "111"),),
    lambda d: (_grid("1010", "0101", "1010"),),
    answers=[(2, 3), (1, 6), (6, 1)],
)
def islands(grid):
    """How many groups of ones, and the size of the largest."""
    height, width = grid.shape
    left = grid.clone()
    count = largest = 0
    for i in range(height):
        for j in range(width):
            if not left[i, j]:
                continue
            count += 1
            size, waiting = 0, [(i, j)]
            while waiting:
                y, x = waiting.pop()
                if not (0 <= y < height and 0 <= x < width) or left[y, x] == 0:
                    continue
                left[y, x] = 0
                size += 1
                waiting += [(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)]
            largest = max(largest, size)
    return count, largest


@case(lambda d: (4,), lambda d: (5,), lambda d: (3,), answers=[2, 10, 0])
def queens(n):
    """In how many ways n queens stand on a board without a threat."""
    board = tx.full((n,), -1)

    def place(row):
        if row == n:
            return 1
        ways = 0
        for column in range(n):
            for earlier in range(row):
                other = board[earlier]
                if other == column or (other - column).abs() == row - earlier:
                    break
            else:
                board[row] = column
                ways += place(row + 1)
                board[row] = -1
        return ways

    return place(0)


@case(
    lambda d: (_grid("120", "210", "001"),),
    lambda d: (_grid("112", "220", "100"),),
    lambda d: (_grid("121", "112", "212"),),
    answers=[1, 0, -1],
)
def winner(board):
    """1 or 2, 0 while the game goes on, -1 for a draw."""
    lines = [*board, *board.T, board.diagonal(), board.flip(1).diagonal()]
    for line in lines:
        first = line[0]
        if first and (line == first).all():
            return int(first)
    return 0 if (board == 0).any() else -1


@case(
    lambda d: (t([1.0, 3.0, 5.0]), t(4.0)),
    lambda d: (t([1.0, 3.0, 5.0]), t(9.0)),
    lambda d: (t([1.0, 3.0, 5.0]), t(8.0)),
    grad=(0,),
)
def two_that_sum_to(values, wanted):
    for i, a in enumerate(values):
        for b in values[i + 1 :]:
            if (a + b - wanted).abs() < 0.1:
                return a * b
    return values.sum()


@case(
    lambda d: (t([[1.0, 2.0], [3.0, 4.0]]), 2.5),
    lambda d: (t([[1.0, 2.0], [-3.0, 4.0]]), 9.0),
    lambda d: (t([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), 9.0),
    grad=(0,),
)
def else_of_both_loops(rows, limit):
    total = rows.new_zeros(())
    for row in rows:
        for v in row:
            if v > limit or v < 0:
                total = total - v
                break
            total = total + v
        else:
            total = total * 2
            continue
        if total < 0:
            break
    else:
        total = total + 100
    return total


class Move(NamedTuple):
    score: tx.Tensor
    column: int


@case(
    lambda d: (t([0.3, 0.8, -0.1, 0.4, 0.9, 0.2, -0.5, 0.6]), 3),
    lambda d: (t([0.9, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]), 3),
    lambda d: (t([0.3, 0.8, -0.1, 0.4]), 2),
    grad=(0,),
)
def minimax_with_pruning(leaves, depth):
    visited = 0

    def best(node, level, low, high):
        nonlocal visited
        visited += 1
        if level == depth:
            return Move(leaves[node], -1)
        mine = level % 2 == 0
        found = None
        for column in (0, 1):
            score = best(2 * node + column, level + 1, low, high).score
            if found is None or (score > found.score if mine else score < found.score):
                found = Move(score, column)
            if mine:
                low = max(low, score)
            else:
                high = min(high, score)
            if low >= high:
                break
        return found

    move = best(0, 0, tx.tensor(-tx.inf), tx.tensor(tx.inf))
    return move, visited


@case(
    lambda d: (tx.tensor([[0, 1], [1, 2], [3, 4]]), 5),
    lambda d: (tx.tensor([[0, 1], [2, 3], [1, 3], [0, 2]]), 4),
    lambda d: (tx.zeros((0, 2), dtype=tx.int64), 3),
    answers=[[0, 0, 0, 3, 3], [0, 0, 0, 0], [0, 1, 2]],
)
def union_find(edges, n):
    parent = list(range(n))

    def root(i):
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for a, b in edges:
        a, b = root(int(a)), root(int(b))
        if a != b:
            parent[max(a, b)] = min(a, b)
    return tx.tensor([root(i) for i in range(n)])


@case(
    lambda d: (t([5.0, 1.0, 4.0, 2.0]),),
    lambda d: (t([1.0, 2.0, 3.0]),),
    lambda d: (t([9.0, 8.0, 7.0, 6.0, 5.0]),),
    grad=(0,),
)
def insertion_sort(x):
    items = list(x)
    moves = 0
    for i in range(1, len(items)):
        current, j = items[i], i - 1
        while j >= 0 and items[j] > current:
            items[j + 1] = items[j]
            j -= 1
            moves += 1
        items[j + 1] = current
    return tx.stack(items), moves


@case(
    lambda d: (tx.tensor([1, 5, 10, 25]), 30),
    lambda d: (tx.tensor([5, 10]), 3),
    lambda d: (tx.tensor([1, 3, 4]), 6),
    answers=[2, -1, 2],
)
def fewest_coins(coins, amount):
    far = amount + 1
    best = tx.full((amount + 1,), far)
    best[0] = 0
    for total in range(1, amount + 1):
        for coin in coins:
            if coin <= total and best[total - coin] + 1 < best[total]:
                best[total] = best[total - coin] + 1
    return int(best[amount]) if best[amount] < far else -1


@case(
    lambda d: (t([[0.0, -1.0, 0.0], [0.0, -5.0, 1.0]]), 0.9),
    lambda d: (t([[2.0, -1.0]]), 0.1),
    lambda d: (t([[0.5, 2.0], [1.0, 0.0], [0.1, 1.0], [0.2, 3.0]]), 0.5),
    grad=(0,),
)
def value_iteration(rewards, discount):
    """On a grid: right or down from each cell until the values settle."""
    values = tx.zeros_like(rewards)
    sweeps = 0
    while True:
        padded = tx.nn.functional.pad(values, (0, 1, 0, 1))
        new = rewards + discount * tx.maximum(padded[:-1, 1:], padded[1:, :-1])
        sweeps += 1
        if (new - values).abs().max() == 0:
            return new, sweeps
        values = new


@case(
    lambda d: (d.normal(3, 2), [(0, 1, 1.0, 1), (1, 0, 0.5, 2)]),
    lambda d: (d.normal(3, 2), [(0, 1, 1.0, None)]),
    lambda d: (d.normal(3, 2), [(2, 0, 1.0, 0), (0, 0, 2.0, None), (1, 1, -1.0, 0)]),
    grad=(0,),
)
def learn_from_episodes(table, steps):
    """Updates of action values; a step without a next state ends its episode."""
    q = table * 1
    for state, action, reward, following in steps:
        if following is None:
            target = reward
        else:
            target = reward + 0.9 * q[following].clone().max()
        q[state, action] += 0.5 * (target - q[state, action])
    return q


@case(
    lambda d: ("aab", d.normal(3, 3)),
    lambda d: ("abba", d.normal(3, 3)),
    lambda d: ("", d.normal(3, 3)),
    grad=(1,),
)
def walk_through_states(word, weights):
    state, total = 0, weights.new_zeros(())
    for letter in word:
        match state, letter:
            case 0, "a":
                following = 1
            case 1, "a" | "b":
                following = 2
            case (2, _):
                following = 0
            case _:
                total = total - 1
                continue
        total = total + weights[state, following].exp()
        state = following
    return total, state
