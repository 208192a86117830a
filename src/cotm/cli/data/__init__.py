"""Reading files of examples: tables and arrays."""
