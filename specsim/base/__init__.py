"""Tools that every folder uses: checks of input, arrays of any library, sparse rows, uniforms, files, intervals."""
