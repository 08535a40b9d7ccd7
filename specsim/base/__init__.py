"""What every file is written in: checks of input, arrays of any library, sparse rows, uniforms, files, intervals."""
