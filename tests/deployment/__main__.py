"""Write deploy/kubernetes and deploy/systemd: ``python -m tests.deployment``."""

from __future__ import annotations

from tests.deployment import kubernetes, systemd

if __name__ == "__main__":
    for folder, rendered in ((kubernetes.FOLDER, kubernetes.files()), (systemd.FOLDER, systemd.files())):
        folder.mkdir(exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        for name, text in rendered.items():
            (folder / name).write_text(text, encoding="utf-8")
