"""The launcher of a file made ahead of time: host code that checks arrays, decides among the kernels and launches them.

``interface``: the parameters of its C functions.  ``kernels``: the launch of each kernel, from its launch rule.
``any_layout``: the decisions in a file for a class of layouts; ``shaped``: in a file for certain shapes.  ``text``: the
text of both, and the header.
"""
