"""Small models that are shipped: of images in `images`.

`train` makes their weights again.
"""
