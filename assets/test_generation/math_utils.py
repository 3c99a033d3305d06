"""Small functions on whole numbers."""

from __future__ import annotations


def fibonacci(n: int) -> int:
    """Return the n-th Fibonacci number, from 0: 0, 1, 1, 2, 3, 5.

    ValueError if ``n`` is negative.
    """
    if n < 0:
        raise ValueError("n is negative")
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def is_prime(n: int) -> bool:
    """Return whether ``n`` is prime; numbers below 2 are not."""
    if n < 2:
        return False
    divisor = 2
    while divisor * divisor <= n:
        if n % divisor == 0:
            return False
        divisor += 1
    return True


def gcd(a: int, b: int) -> int:
    """Return the greatest common divisor, never negative; of 0 and 0 it is 0."""
    while b:
        a, b = b, a % b
    return abs(a)
