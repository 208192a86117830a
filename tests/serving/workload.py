"""Models and requests for tests of load, with the answers that must come."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
from load import Expected, Request, request
from serving_models import Case, arrow_of, cases, rows_of

import cotm
from cotm.explaining.wording import plain, simple
from cotm.serving.arrow import MEDIA_TYPE


class Workload:
    """Files of models, two versions of each, and requests of all kinds about them."""

    names = ("numbers", "table", "images", "joined")

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.expected = Expected()
        self.files = {name: folder / f"{name}.cotm" for name in self.names}
        self.versions: dict[str, list[bytes]] = {}
        for name in self.names:
            case = cases()[name]
            models = [case.model, self._other(case)]
            self.versions[name] = [self._bytes(model) for model in models]
            for model, content in zip(models, self.versions[name], strict=True):
                self._expect(name, model, content)
            self.put(name, 0)

    def _other(self, case: Case) -> Any:
        """Another version of a model."""
        if hasattr(case.model, "estimators_"):
            return cotm.join([*reversed([*case.model.named_estimators_.items()])], case.X)
        y = case.model.predict(case.X)
        new = cotm.CoTMClassifier(25, epochs=1, random_state=9, patch_shape=case.model.patch_shape)
        return new.fit(case.X, y)

    def _bytes(self, model: Any) -> bytes:
        model.save(self.folder / "new.cotm")
        return (self.folder / "new.cotm").read_bytes()

    def put(self, name: str, version: int) -> None:
        """Replace a model's file, whole."""
        new = self.folder / f".{name}.new"
        new.write_bytes(self.versions[name][version])
        new.replace(self.files[name])

    def _slices(self, name: str) -> dict[str, slice]:
        singles = {f"{name} {k}": slice(k, k + 1) for k in range(0, 40, 3)}
        return {**singles, f"{name} many": slice(0, 100)}

    def _expect(self, name: str, model: Any, content: bytes) -> None:
        version = hashlib.sha256(content).hexdigest()[:16]
        for key, rows in self._slices(name).items():
            X = rows_of(cases()[name].X, rows)
            answer = {
                "predictions": [simple(plain(label)) for label in model.predict(X)],
                "votes": model.votes(X).tolist(),
                "proba": model.predict_proba(X).tolist(),
            }
            self.expected.add(key, version, **answer)

    def _check_stream(self, key: str) -> Any:
        check = self.expected.check(key)

        def complaint(body: bytes) -> str | None:
            table = pa.ipc.open_stream(body).read_all()
            facts = {k.decode(): v.decode() for k, v in table.schema.metadata.items()}
            classes = [n[2:] for n in table.column_names if n.startswith("p_")]
            found = {
                "version": facts["version"],
                "predictions": table["prediction"].to_pylist(),
                "votes": np.column_stack([table[f"votes_{c}"] for c in classes]).tolist(),
                "proba": np.column_stack([table[f"p_{c}"] for c in classes]).tolist(),
            }
            return check(orjson.dumps(found))

        return complaint

    def requests(self, *, single: bool = False) -> list[Request]:
        """Requests that ask for all there is."""
        found = []
        for name in self.names:
            path = f"/v1/models/{name}/predict?votes=true&proba=true"
            for key, rows in self._slices(name).items():
                kind = "many" if key.endswith("many") else "image" if name == "images" else "row"
                if single and kind != "row":
                    continue
                bodies = cases()[name].bodies(rows)
                for body in bodies[:2]:
                    content = orjson.dumps(body)
                    found.append(request(kind, path, content, self.expected.check(key)))
                if not single and name != "joined" and kind != "row":
                    stream = arrow_of(rows_of(cases()[name].X, rows))
                    asked = request("arrow", path, stream, self._check_stream(key), MEDIA_TYPE)
                    head = f"accept: {MEDIA_TYPE}\r\ncontent-type".encode()
                    asked.content = asked.content.replace(b"content-type", head, 1)
                    found.append(asked)
        return found
