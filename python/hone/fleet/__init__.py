"""Tuning on a Ray cluster: `hone tune --engine ray`.

plan     which nodes may measure for one result, and how the kernels of a program are shared out
node     what one machine does: runs `hone` and hands its database back
tune     the run as a whole: kernels on all nodes at once, then the program on one of them; lost nodes
cluster  the only module that knows Ray
"""
