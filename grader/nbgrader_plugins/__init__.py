"""What nbgrader's commands load by name, and the settings that plug it in. Nothing is worked out here: it calls what
the other folders hold.
"""
