"""Claims of papers, put to tests on small models: one file a system, found by listing `systems`.

`lab` runs, keeps and shows what the systems find; `models` has what they run on beside the bundled pair.
"""
