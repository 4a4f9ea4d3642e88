"""What a learner uses: `check`, the progress kept, the starter code, and a look at the set-up."""
