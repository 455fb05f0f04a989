"""``python -m videorestore``."""

from videorestore.cli.main import run

if __name__ == "__main__":
    run()
