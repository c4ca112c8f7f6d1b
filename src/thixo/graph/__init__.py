"""The Graph: one typed description of programs, with a text form, a verifier and an interpreter."""

from thixo.errors import GraphError
from thixo.graph.edit import Editor
from thixo.graph.interpret import Interpreter
from thixo.graph.ir import Graph, Node, Type, Value
from thixo.graph.parser import parse, parse_type
from thixo.graph.python import python_text
from thixo.graph.typing import infer_types
from thixo.graph.verify import verify

__all__ = [
    "Editor",
    "Graph",
    "GraphError",
    "Interpreter",
    "Node",
    "Type",
    "Value",
    "infer_types",
    "parse",
    "parse_type",
    "python_text",
    "verify",
]
