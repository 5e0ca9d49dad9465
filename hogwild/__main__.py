"""`python -m hogwild` is the command `hogwild`."""

from hogwild.cli.main import main

if __name__ == "__main__":
    main()
