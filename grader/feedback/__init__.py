"""What a student is shown of a mark: pages, who gets a new one, zips for platforms. The sentences themselves are the
judge's (`grader.judge.words`).
"""
