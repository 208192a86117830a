"""``python -m cotm.cli`` is ``cotm``."""

from . import main

if __name__ == "__main__":
    main()
