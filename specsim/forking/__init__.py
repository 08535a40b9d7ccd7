"""Exact laws of programs that draw random numbers: a program is run once for every path of its random decisions.

A run gets symbols instead of random numbers. Where the program asks a question that has several
answers, the run goes on with one of them, and later runs give the others. The law of the result is
the sum of the probabilities of the paths.

=================  ==========================================================  ==================================
file or folder     which program it runs                                       its law is
=================  ==========================================================  ==================================
`rational`         our own kernels, with uniforms as an argument, one text     exact, in `Fraction`
                   or many together
`forked_rules`     our chain and tree rules: their `verify`, by `rational`     exact, in `Fraction`
`rational_races`   our own coupled rules, with exponentials as an argument     exact, in `Fraction`
`programs`         anybody's program as it is: what it calls of NumPy,         exact up to the program's floats
                   Python, torch and JAX for random numbers is a stand-in
`paths`            the walk that races and programs share
=================  ==========================================================  ==================================

They are not one engine, for two reasons. Rows of a kernel that run together ask questions that
depend on their company, so a path of `rational` is a box of intervals, and not a list of answers.
And the stand-ins of `programs` have to be arrays of four libraries, and each path is run twice:
measured, a law takes ten times as long.
"""
