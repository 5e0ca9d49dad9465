"""The engine `ray`: workers on many machines, a learner on one.

On every machine an `Outpost` runs workers in processes that share memory, as on one machine. What they hand over leaves
in one stream of parcels, and new weights come back with each request for the next. A `Station` on the learner's machine
asks one outpost, in a thread of its own, so that a machine that is lost holds up nobody. Only `cluster.py` knows Ray.
"""
