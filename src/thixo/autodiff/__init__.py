"""Reverse mode as a pass: from a graph to the graph that computes its gradients too."""

from thixo.autodiff.reverse import add_gradients, gradient_graph

__all__ = ["add_gradients", "gradient_graph"]
