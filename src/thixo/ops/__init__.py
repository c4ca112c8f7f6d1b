"""The operator table: one declaration for each operator, in files grouped by what they do.

`base.py` says what a declaration owes the system; `public.py` gives every operator by its name and
loads the file that declares it when it is first asked for.
"""
