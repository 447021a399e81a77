"""What an attention implementation must satisfy: profiles, properties, audit and verdicts."""
