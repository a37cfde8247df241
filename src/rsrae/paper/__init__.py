"""The paper, reproduced: its data sets, its protocol, every figure and table.

How a number comes about, one way::

    datasets  ->  protocol  ->  measure  ->  runner  ->  results  ->  tables, figures, reproduction
    (load)        (a trial)     (a cell)     (many)      (a file)     (what people read)

``experiments`` says which cells an experiment has, ``fetch`` and ``prepare`` get the public originals.
"""
