"""Everything that touches Numba or LLVM. No other folder imports them; ``docs/numba.md`` says what each part buys."""
