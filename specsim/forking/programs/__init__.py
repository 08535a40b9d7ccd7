"""Any program as it is: while it runs, random numbers of NumPy, Python, torch and JAX are stand-ins that fork."""
