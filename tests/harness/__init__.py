"""The parts of the differential harness: running one world, describing what happened, judging two worlds."""
