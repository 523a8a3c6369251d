"""The same extraction over many processes and machines, on Ray: who asks what, and what the workers share.

`engine` is the driver, `worker` what runs on the nodes, `ledger` and `sharing` the run's limits between them, `parts`
what the workers write. What is asked, and how, is the engine's of one process. Importing this package imports no Ray.
"""
