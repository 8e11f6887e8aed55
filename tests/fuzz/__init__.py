"""Random programs for differential testing: what eager does and what imp2tf does have to be the same.

    python -m tests.fuzz --count 200 --seed 3 --shrink --out failures

A program is a module: a function, helpers, a class, globals, and a list of calls with changes of the surroundings
in between. `writing` makes the text from the rules in `rules`, `running` runs it in two worlds and compares,
`shrinking` makes a failing program small, and `workers` keeps it all in child processes that can be killed.
"""
