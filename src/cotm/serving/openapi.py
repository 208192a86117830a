"""What clients may ask, as OpenAPI describes it."""

from __future__ import annotations

import functools
from typing import Any

from .. import __version__
from .arrow import MEDIA_TYPE

_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["problem", "value", "remedy"],
            "properties": {
                "problem": {"type": "string", "description": "What is wrong."},
                "value": {"description": "With which value; null where that says nothing."},
                "remedy": {"type": "string", "description": "What to do about it."},
            },
        }
    },
}
_CELL = {"type": ["number", "string", "boolean", "null"]}
_NESTED: dict[str, Any] = {"type": "array", "items": {}, "minItems": 1}
_ROWS: dict[str, Any] = {
    "type": "array",
    "minItems": 1,
    "description": "Rows as lists of cells in the order of the model's columns, or as objects by "
    "their names; null is a missing value, dates are text as 2026-05-17, durations seconds. "
    "Images are nested lists of numbers.",
    "items": {
        "anyOf": [
            {"type": "object", "additionalProperties": _CELL},
            _NESTED,
        ]
    },
}
_TENSOR = {
    "type": "object",
    "required": ["dtype", "shape", "data"],
    "additionalProperties": False,
    "properties": {
        "dtype": {
            "enum": [
                *("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "int64"),
                *("float32", "float64"),
            ]
        },
        "shape": {
            "type": "array",
            "items": {"type": "integer", "minimum": 1},
            "minItems": 2,
            "maxItems": 4,
        },
        "data": {
            "type": "string",
            "contentEncoding": "base64",
            "description": "The bytes of the array, row by row, little end first.",
        },
    },
}
_X = {
    "rows": _ROWS,
    "columns": {
        "type": "object",
        "description": "Lists of cells by the names of columns.",
        "additionalProperties": {"type": "array", "items": _CELL, "minItems": 1},
    },
    "tensor": _TENSOR,
    "members": {
        "type": "object",
        "description": "Of composites whose members read different things: rows or a tensor for "
        "each, by its name.",
        "additionalProperties": {
            "type": "object",
            "properties": {"rows": _ROWS, "tensor": _TENSOR},
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": False,
        },
    },
}
_BACKGROUND = {
    "type": "object",
    "description": "Rows that columns take other values from in explanations, as in a body.",
    "properties": _X,
    "minProperties": 1,
    "maxProperties": 1,
    "additionalProperties": False,
}
_REQUEST = {
    "type": "object",
    "description": "Exactly one of rows, columns, tensor and members.",
    "properties": {**_X, "background": _BACKGROUND},
    "additionalProperties": False,
    "oneOf": [{"required": [name]} for name in _X],
}
_NUMBERS = {"type": "array", "items": {}}
_ANSWER = {
    "type": "object",
    "required": ["model", "version", "classes", "predictions"],
    "properties": {
        "model": {"type": "string"},
        "version": {"type": "string", "description": "The file that answered: a digest of it."},
        "classes": {"type": "array", "items": {}, "description": "The order of votes and proba."},
        "predictions": {
            "type": "array",
            "items": {},
            "description": "For each row a label, a quantity, of several labels 0 or 1 for each, "
            "or a label of each column.",
        },
        "votes": {**_NUMBERS, "description": "For each row the votes for each class."},
        "unit": {"type": "integer", "description": "What one vote counts: 1, or 2**32."},
        "proba": {**_NUMBERS, "description": "For each row the probability of each class."},
        "low": {**_NUMBERS, "description": "Lower bounds of quantities; null is unbounded."},
        "high": {**_NUMBERS, "description": "Upper bounds of quantities; null is unbounded."},
        "reasons": {
            "type": "array",
            "items": {"type": "object"},
            "description": "For each row the rules that spoke, and by label what columns "
            "contributed, where there is a background.",
        },
    },
}
_MODEL = {
    "type": "object",
    "required": ["name", "version", "class", "predicts", "classes", "reads"],
    "properties": {
        "name": {"type": "string"},
        "version": {"type": "string"},
        "class": {"type": "string"},
        "predicts": {
            "enum": ["one label", "several labels", "a label of each column", "quantities"]
        },
        "label_columns": {"type": ["array", "null"], "items": {"type": "string"}},
        "reads": {"enum": ["named columns", "columns", "images"]},
        "columns": {"type": ["array", "null"], "items": {"type": "object"}},
        "problem_with_new_file": {"type": ["string", "null"]},
    },
}


def _json(schema: Any, words: str) -> dict[str, Any]:
    return {"description": words, "content": {"application/json": {"schema": schema}}}


def _errors(*statuses: int) -> dict[str, Any]:
    words = {
        400: "The body is not JSON or no Arrow stream.",
        401: "The bearer token is missing or wrong.",
        403: "Not without a token.",
        404: "There is no model of this name.",
        405: "The path does not take this method.",
        408: "The request took too long to come in.",
        409: "The new file cannot be served; the old model goes on.",
        413: "The body has too many bytes or rows.",
        415: "The body is of another type, or compressed.",
        421: "The server is called by another name than its own.",
        422: "The rows are not what the model reads; problem, value and remedy say why.",
        429: "Too many requests; Retry-After says when.",
        431: "The headers are too long.",
        503: "Too much to do at the moment, or stopping.",
    }
    schema = {"$ref": "#/components/schemas/Error"}
    return {str(status): _json(schema, words[status]) for status in statuses}


def _parameter(name: str, schema: Any, words: str, place: str = "query") -> dict[str, Any]:
    found = {"name": name, "in": place, "schema": schema, "description": words}
    return {**found, "required": True} if place == "path" else found


def _predict(name: dict[str, Any], binary: dict[str, Any]) -> dict[str, Any]:
    return {
        "summary": "Predict rows.",
        "operationId": "predict",
        "parameters": [
            name,
            _parameter("votes", {"type": "boolean"}, "Add the votes for each class."),
            _parameter("proba", {"type": "boolean"}, "Add the probabilities of classes."),
            _parameter(
                "interval",
                {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                "Of quantities: add low and high, between which this share lies.",
            ),
            _parameter(
                "reasons",
                {"type": ["integer", "boolean"], "minimum": 0, "maximum": 9999},
                "Add so many reasons for each row.",
            ),
        ],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"$ref": "#/components/schemas/Request"},
                    "example": {"rows": [[5.1, 3.5, 1.4, 0.2]]},
                },
                **binary,
            },
        },
        "responses": {
            "200": {
                "description": "Predictions; an Arrow stream where Accept asks for it.",
                "content": {
                    "application/json": {"schema": {"$ref": "#/components/schemas/Answer"}},
                    **binary,
                },
            },
            **_errors(400, 401, 404, 408, 413, 415, 421, 422, 429, 431, 503),
        },
    }


@functools.cache
def description() -> dict[str, Any]:
    """The whole description; it says nothing of the models of a server."""
    name = _parameter("name", {"type": "string"}, "A model, as GET /v1/models lists it.", "path")
    model = {"$ref": "#/components/schemas/Model"}
    models = {"type": "object", "properties": {"models": {"type": "array", "items": model}}}
    stream = {"schema": {"type": "string", "format": "binary"}}
    binary = {MEDIA_TYPE: stream}
    text = {"description": "Text.", "content": {"text/plain": {"schema": {"type": "string"}}}}
    page = {"description": "A page.", "content": {"text/html": {"schema": {"type": "string"}}}}
    status = {"type": "object", "properties": {"status": {"type": "string"}}}
    predict = _predict(name, binary)
    reload = {
        "summary": "Read the model's file anew.",
        "operationId": "reload",
        "parameters": [name],
        "responses": {"200": _json(model, "It was read."), **_errors(401, 403, 404, 409, 421, 429)},
    }

    def get(words: str, name_: str, answer: Any, *statuses: int, **more: Any) -> dict[str, Any]:
        responses = {"200": answer, **_errors(421, *statuses)}
        return {"get": {"summary": words, "operationId": name_, "responses": responses, **more}}

    return {
        "openapi": "3.1.0",
        "info": {
            "title": "cotm serve",
            "version": __version__,
            "description": "Predictions of Coalesced Tsetlin Machines. Errors are JSON with "
            "problem, value and remedy.",
        },
        "paths": {
            "/v1/models/{name}/predict": {"post": predict},
            "/v1/models": get("All models.", "models", _json(models, "The models."), 401, 429),
            "/v1/models/{name}": get(
                "A model: what it reads and says.",
                "model",
                _json(model, "The model."),
                *(401, 404, 429),
                parameters=[name],
            ),
            "/v1/models/{name}/reload": {"post": reload},
            "/health": get("Whether the process lives.", "health", _json(status, "It does.")),
            "/ready": get("Whether it takes requests.", "ready", _json(status, "It does."), 503),
            "/metrics": get("Counts, for Prometheus.", "metrics", text, 401, 429),
            "/openapi.json": get("This description.", "openapi", _json({"type": "object"}, "It.")),
            "/docs": get("This description, as a page.", "docs", page),
        },
        "components": {
            "schemas": {"Error": _ERROR, "Request": _REQUEST, "Answer": _ANSWER, "Model": _MODEL},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }
