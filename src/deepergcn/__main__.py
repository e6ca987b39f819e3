"""The program ``deepergcn``, also ``python -m deepergcn``; under torchrun, ``torchrun ... -m deepergcn train ...``."""

import sys

from deepergcn.extras import advice, missing


def main() -> None:
    """Run the program; if its extra is missing, print how to install it."""
    packages = missing()
    if packages:
        sys.stderr.write(f"error: {advice('the program deepergcn', packages)}\n")
        raise SystemExit(2)
    try:
        from deepergcn.cli.loading import own_process
        from deepergcn.cli.main import main as run

        own_process()
        run()
    except KeyboardInterrupt:  # before a command has begun, or after it has ended
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
