"""What a fitted classifier is: how X becomes bits, what labels mean, the machine, its progress."""
