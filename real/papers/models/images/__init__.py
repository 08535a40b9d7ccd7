"""Digits of 8x8 pixels, and small models of them: one file each, found by listing this folder.

A file that trains something has `RECIPES` (name -> everything that decides the weights, as JSON
holds it), `train(name, show_stage)`, which returns the trained module, and `model(name)`, which
returns it with the shipped weights. It may have `held_out(name, module)`, a loss on the images held
out, in the unit that `UNIT` names.
"""
