"""What a class's results show: where points were lost, which mistakes are frequent, which submissions look alike."""
