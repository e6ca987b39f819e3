"""``python -m deepergcn``: the program; under torchrun, ``torchrun ... -m deepergcn train ...``."""

from deepergcn.cli.main import main

if __name__ == "__main__":
    main()
