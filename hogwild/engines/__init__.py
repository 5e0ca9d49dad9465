"""Where workers run: in this process, or in processes of their own. An engine knows nothing of learning."""
