"""Results of reductions, bit for bit: by every schedule, in every thread, of every value."""
