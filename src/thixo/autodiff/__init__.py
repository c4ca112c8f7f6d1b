"""Reverse and forward mode as passes: from a graph to the graph that computes its gradients or tangents too."""

from thixo.autodiff.forward import tangent_graph
from thixo.autodiff.reverse import add_gradients, gradient_graph

__all__ = ["add_gradients", "gradient_graph", "tangent_graph"]
