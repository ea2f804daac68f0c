"""Tuning on a Ray cluster: `hone tune --engine ray`.

plan     which nodes may measure for one result, and how the kernels of a program are distributed
node     the work of one machine: runs `hone` and returns its database
tune     the whole run: kernels on all nodes at once, then the program on one of them; lost nodes
cluster  the only module that uses Ray
"""
