"""What tensor compilers do with a small program, every word tied to retained evidence."""
