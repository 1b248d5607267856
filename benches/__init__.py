"""Benchmarks of lettafast; `README.md` beside this file says how to run and read them."""
