"""Who provides models: a table of endpoints, what each of them wants otherwise, and how large its models' windows are.

`table` and its data are pure, and read when a setting needs them: who only asks Anthropic never does. No SDK is known
here, and no request of a model is made.
"""
