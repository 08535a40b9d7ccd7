"""Small models that are shipped: of images in `images`, of additions in `sums`.

`train` makes their weights again.
"""
