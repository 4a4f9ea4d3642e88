"""What both the tests and the benchmarks need and no user of the course does."""
