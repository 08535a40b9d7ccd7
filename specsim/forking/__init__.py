"""Exact laws of programs that draw random numbers: a program is run once for every path of its random decisions.

A run gets symbols instead of random numbers. Where the program asks a question that has several answers, the run goes
on with one of them, and later runs give the others. The law of the result is the sum of the probabilities of the paths.

=================  ==========================================================  ==================================
file or folder     which program it runs                                       the law is
=================  ==========================================================  ==================================
`rational`         our own kernels, with uniforms as an argument               exact, in `Fraction`
`rational_races`   our own coupled rules, with exponentials as an argument     exact, in `Fraction`
`programs`         anybody's program as it is: its calls of NumPy, Python,     exact up to the program's floats
                   torch and JAX for random numbers get stand-ins
`paths`            the walk through the paths, which all of them share
=================  ==========================================================  ==================================

The stand-ins of `programs` know the arrays of four libraries, and the rational symbols only comparisons of numbers: a
kernel of ours is some twenty times faster on these, and its law can be compared with another one by `==`.
"""
