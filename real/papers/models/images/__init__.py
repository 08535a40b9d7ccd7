"""Digits of 8x8 pixels, and the small models that are trained on them: one file each, found by listing this folder.

A file that trains something has `RECIPES` (name -> everything that decides the weights, as JSON holds it),
`train(name, said)`, which gives the trained module, and `model(name)`, which gives it with the weights that are
shipped. It may have `held_out(name, module)`, a loss on the images held out, in the unit that `UNIT` names.
"""
