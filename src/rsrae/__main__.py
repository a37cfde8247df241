"""``python -m rsrae`` is the command."""

from rsrae.cli import main

if __name__ == "__main__":
    main()
