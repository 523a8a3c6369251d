"""Review: what a person sees and says of one abstract's claims, and what comes of many reviews.

`abstracts` lays out an abstract with its claims, `editing` makes a claim of what a person wrote, `agreement` measures
reviewers against each other, `gold` and `methods` write what was reviewed, `gate` says whether all is. The rows and
what holds of them are `store.reviewing`, `store.reviewed` and `store.review_queues`.
"""
