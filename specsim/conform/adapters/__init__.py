"""Public packages, one file each; see `specsim.conform.registry`.

A package's code is never here: an adapter says where the function is, and `subjects()` imports it
from whatever is installed on the machine. Beside what the registry asks for, it has

    ENTRY = "economize.decoding.verifiers.RejectionVerifier"  # what is called
    NEEDS = ("torch", "transformers")  # what else has to be installed for that, often less than the package asks for
    LICENCE = "Apache-2.0"             # as the package states it
"""
