"""Static facts about a function: scopes and liveness."""
